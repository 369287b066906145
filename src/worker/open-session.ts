/** A session that is open in the worker: its agent, and the pages that watch it. */
import { Agent, type AgentOptions } from '../agent/agent.ts'
import type { ApprovalAnswer } from '../agent/approval.ts'
import type { Prompt } from '../agent/messages.ts'
import type { InboxTarget } from '../core/inbox.ts'
import type { AssistantStreamFrame } from '../core/live.ts'
import { jsonText } from '../core/json.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import type { WriteBehindStatus } from '../storage/write-behind.ts'
import { WorkerError } from './errors.ts'
import { frameText } from './frame-text.ts'
import { Outbox } from './outbox.ts'
import type { SessionSource, SessionStatus } from '../views/source.ts'
import { surfaceNodes } from '../views/surface-nodes.ts'
import { usageFold } from '../views/usage.ts'
import type { Attachment, FeedItem, SendAnswer, WireError } from './protocol.ts'

/** A page that gets the feed of sessions. */
export interface Watcher {
  post(sessionId: string, items: readonly FeedItem[]): void
  /** The session is gone; nothing more comes. */
  end(sessionId: string, error: WireError): void
}

export type OpenSessionOptions = Omit<AgentOptions, 'onFrame' | 'onStatus' | 'canAsk'> & {
  readonly storageKind: string
}

export class OpenSession {
  readonly live: LiveSession
  readonly agent: Agent
  readonly watchers: Set<Watcher> = new Set()
  readonly #storageKind: string
  readonly #outbox: Outbox
  readonly #removeListener: () => void
  /** Frames of the model call that is running, for pages that attach in the middle of it. */
  #frames: AssistantStreamFrame[] = []

  constructor({ storageKind, ...options }: OpenSessionOptions) {
    const { live } = options
    this.live = live
    this.#storageKind = storageKind
    this.#outbox = new Outbox(
      items => {
        for (const watcher of this.watchers) watcher.post(live.session.id, items)
      },
      () => this.status,
    )
    this.#removeListener = live.onCommit(({ event, text, surfaceChange }) => {
      this.#outbox.commit(event.seq, text, surfaceChange)
    })
    this.agent = new Agent({
      ...options,
      canAsk: () => this.watchers.size > 0,
      onFrame: frame => this.#onFrame(frame),
      onStatus: () => this.statusChanged(),
    })
  }

  get status(): SessionStatus {
    return { agent: this.agent.status, storage: storageStatus(this.#storageKind, this.live.storageStatus) }
  }

  statusChanged(): void {
    this.#outbox.statusChanged()
  }

  /** Adds a page; what it gets from now on continues the attachment. */
  attach(watcher: Watcher): Attachment {
    // What is on its way belongs to the pages that were here before.
    this.#outbox.flush()
    this.watchers.add(watcher)
    const { session } = this.live
    const { nodes, replaceGeneration, contentGeneration } = session.surface
    return {
      id: session.id,
      nextSeq: session.length,
      surface: { nodes, replaceGeneration, contentGeneration },
      status: this.status,
      frames: frameText(this.#frames),
      usage: jsonText(session.fold(usageFold)),
      inbox: jsonText(this.agent.inbox),
    }
  }

  send(target: InboxTarget, prompt: Prompt): SendAnswer {
    const { messageId, turn } = target === 'next-turn' ? this.agent.send(prompt) : this.agent.steer(prompt)
    return { messageId, turn, seq: this.#lastSeq }
  }

  replaceQueued(messageId: string, prompt: Prompt | null): number | null {
    const { agent } = this
    const isDone = prompt === null ? agent.removeQueued(messageId) : agent.editQueued(messageId, prompt)
    return isDone ? this.#lastSeq : null
  }

  clearQueued(): { readonly seq: number; readonly count: number } {
    const count = this.agent.clearQueued()
    return { seq: this.#lastSeq, count }
  }

  approve(callId: string, answer: ApprovalAnswer): number | null {
    // What a page may answer is decided here, whatever its types said.
    if ((answer as string) !== 'allowed-once' && (answer as string) !== 'rejected') {
      throw new WorkerError('argument', `Expected allowed-once or rejected; found ${String(answer).slice(0, 80)}`)
    }
    return this.agent.approve(callId, answer) ? this.#lastSeq : null
  }

  cancel(messageId: string | null): void {
    if (messageId === null) this.agent.cancel()
    else this.agent.withdraw(messageId)
  }

  readSurface(): Awaited<ReturnType<SessionSource['readSurface']>> {
    const { session } = this.live
    return { length: session.length, nodes: surfaceNodes(session) }
  }

  /** Tells the pages what is left to tell, and nothing more. The agent must have been disposed of. */
  dispose(): void {
    this.#removeListener()
    this.#outbox.flush()
    this.watchers.clear()
  }

  get #lastSeq(): number {
    return this.live.session.length - 1
  }

  #onFrame(frame: AssistantStreamFrame): void {
    if (frame.kind === 'start') this.#frames = []
    if (frame.kind === 'end') this.#frames = []
    else this.#frames.push(frame)
    this.#outbox.frame(frame)
    // What settles a long answer takes its time: the end of the answer does not wait for it.
    if (frame.kind === 'chunk' && frame.chunk.type === 'finish') this.#outbox.flush()
  }
}

function storageStatus(kind: string, { state, unsaved, lastError }: WriteBehindStatus): SessionStatus['storage'] {
  const error = lastError === null ? null : { code: lastError.code, message: lastError.message }
  return { kind, state, unsaved, lastError: error }
}
