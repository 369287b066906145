/**
 * Feed items of one session, coalesced: commits and frames in order, then the status as it is by then. Commits and the
 * status leave with the microtask, frames with them or by themselves at most once in an animation frame.
 */
import type { AssistantStreamFrame } from '../core/live.ts'
import type { SurfaceChange } from '../core/fold.ts'
import type { SessionStatus } from '../views/source.ts'
import { frameText } from './frame-text.ts'
import type { FeedItem } from './protocol.ts'

type OpenItem =
  | { readonly kind: 'batch'; readonly firstSeq: number; readonly texts: string[]; readonly changes: SurfaceChange[] }
  | { readonly kind: 'frames'; readonly frames: AssistantStreamFrame[] }

/** How long frames wait for more of them, ms: a little more than an animation frame of 60 Hz takes. */
const FRAME_MS = 17

export class Outbox {
  readonly #post: (items: readonly FeedItem[]) => void
  readonly #status: () => SessionStatus
  #items: OpenItem[] = []
  #hasStatus = false
  #soon = false
  #timer: ReturnType<typeof setTimeout> | null = null
  /** When the first chunk came of those that wait, epoch ms. */
  #since: number | null = null

  constructor(post: (items: readonly FeedItem[]) => void, status: () => SessionStatus) {
    this.#post = post
    this.#status = status
  }

  commit(seq: number, text: string, change: SurfaceChange): void {
    const last = this.#items.at(-1)
    if (last?.kind === 'batch') {
      last.texts.push(text)
      last.changes.push(change)
    } else {
      this.#items.push({ kind: 'batch', firstSeq: seq, texts: [text], changes: [change] })
    }
    this.#flushSoon()
  }

  frame(frame: AssistantStreamFrame): void {
    const last = this.#items.at(-1)
    if (last?.kind === 'frames') last.frames.push(frame)
    else this.#items.push({ kind: 'frames', frames: [frame] })
    this.#timer ??= setTimeout(() => this.flush(), FRAME_MS)
    if (frame.kind !== 'chunk') return
    this.#since ??= frame.time
    // While chunks come one after the other in one job, the timer does not.
    if (frame.time - this.#since > FRAME_MS) this.flush()
  }

  statusChanged(): void {
    this.#hasStatus = true
    this.#flushSoon()
  }

  /** Posts what is waiting, now. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#since = null
    this.#soon = false
    const items: FeedItem[] = this.#items.map(closeItem)
    if (this.#hasStatus) items.push({ kind: 'status', status: this.#status() })
    this.#items = []
    this.#hasStatus = false
    if (items.length > 0) this.#post(items)
  }

  #flushSoon(): void {
    if (this.#soon) return
    this.#soon = true
    queueMicrotask(() => this.flush())
  }
}

function closeItem(item: OpenItem): FeedItem {
  if (item.kind === 'frames') return { kind: 'frames', frames: frameText(item.frames) }
  return { kind: 'batch', firstSeq: item.firstSeq, events: `[${item.texts.join(',')}]`, changes: item.changes }
}
