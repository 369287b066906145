/** Feed items of one session, in order, coalesced: commits leave with the microtask, frames with the animation frame. */
import type { AssistantStreamFrame } from '../core/live.ts'
import type { SurfaceChange } from '../core/fold.ts'
import { jsonText } from '../core/json.ts'
import type { SessionStatus } from '../views/source.ts'
import type { FeedItem } from './protocol.ts'

type OpenItem =
  | { readonly kind: 'batch'; readonly firstSeq: number; readonly texts: string[]; readonly changes: SurfaceChange[] }
  | { readonly kind: 'frames'; readonly frames: AssistantStreamFrame[] }
  | { readonly kind: 'status'; status: SessionStatus }

/** Time between two posts of frames, ms. */
const FRAME_MS = 16

export class Outbox {
  readonly #post: (items: readonly FeedItem[]) => void
  #items: OpenItem[] = []
  #soon = false
  #timer: ReturnType<typeof setTimeout> | null = null

  constructor(post: (items: readonly FeedItem[]) => void) {
    this.#post = post
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
  }

  status(status: SessionStatus): void {
    const last = this.#items.at(-1)
    if (last?.kind === 'status') last.status = status
    else this.#items.push({ kind: 'status', status })
    this.#flushSoon()
  }

  /** Posts what is waiting, now. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#soon = false
    if (this.#items.length === 0) return
    const items = this.#items
    this.#items = []
    this.#post(items.map(closeItem))
  }

  #flushSoon(): void {
    if (this.#soon) return
    this.#soon = true
    queueMicrotask(() => this.flush())
  }
}

function closeItem(item: OpenItem): FeedItem {
  if (item.kind === 'status') return item
  if (item.kind === 'frames') return { kind: 'frames', frames: jsonText(item.frames) }
  return { kind: 'batch', firstSeq: item.firstSeq, events: `[${item.texts.join(',')}]`, changes: item.changes }
}
