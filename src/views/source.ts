/**
 * What a view needs of a session: its events so far, and each change as it happens. A `ClientSession` is one; so is a
 * `Session` of the core, by `localSource`.
 */
import type { Message, SessionEvent } from '../core/events.ts'
import type { PalimpsestError } from '../core/errors.ts'
import type { Committed } from '../core/fold.ts'
import type { SessionSeq } from '../core/ids.ts'
import type { AgentStatus, AssistantStreamFrame } from '../core/live.ts'
import type { UsageState } from './usage.ts'

export type { AgentStatus }

/** How a session is doing. */
export type SessionStatus = {
  readonly agent: AgentStatus
  readonly storage: {
    /** `memory` does not survive the page. */
    readonly kind: string
    readonly state: 'idle' | 'writing' | 'paused' | 'lost'
    /** Events that are not stored yet. */
    readonly unsaved: number
    /** Why the last write failed; null when it did not. */
    readonly lastError: { readonly code: string; readonly message: string } | null
  }
}

/** What changed, in the order it happened. */
export type SessionUpdate =
  | { readonly kind: 'committed'; readonly entries: readonly Committed[] }
  | { readonly kind: 'frames'; readonly frames: readonly AssistantStreamFrame[] }
  | { readonly kind: 'status'; readonly status: SessionStatus }
  /** The session is closed, deleted, or its worker is gone: it does not change any more. */
  | { readonly kind: 'ended'; readonly error: PalimpsestError }

/** A node of the surface: the event that stands there, and what it contributes. */
export type SurfaceNode = {
  readonly seq: SessionSeq
  readonly message: Message | null
  /** Earlier events it was made from, when it stands for others; null for what was appended. */
  readonly replaces: readonly SessionSeq[] | null
  /** True when the message is not the event's own, but a projection of it. */
  readonly projected: boolean
}

export type SessionSource = {
  readonly id: string
  /** Number of events committed so far. */
  readonly length: number
  /** Frames so far of the model call that is running. */
  readonly frames: readonly AssistantStreamFrame[]
  readonly status: SessionStatus
  /** Token counts as of `length`; the same object until they change. */
  readonly usage: UsageState
  /** Events `from` (inclusive) to `to` (exclusive), in order. */
  readEvents(range: { readonly from: number; readonly to: number }): AsyncIterable<SessionEvent>
  /** The surface as of some length at least as late as the call; `length` says which. */
  readSurface(): Promise<{ readonly length: number; readonly nodes: readonly SurfaceNode[] }>
  /** Calls `listener` with each change from now on, after `length`, `frames` and `status` have it; returns its remover. */
  subscribe(listener: (update: SessionUpdate) => void): () => void
}
