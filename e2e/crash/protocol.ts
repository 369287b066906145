/** What goes between the page and Node: the plan of a run in the page's address, and reports over loopback HTTP. */
import type { Message, SessionEvent, SessionHeader, TurnEndReason } from 'palimpsest/core'

/** What the page does until it is killed. */
export type Workload =
  /** Prompts, queued and steered and stopped ones too. `flushEveryMs`: asks for a flush that often, and says so. */
  | { readonly kind: 'turns'; readonly wantsLong: boolean; readonly wantsTools: boolean; readonly flushEveryMs: number }
  /** One append after the other, each flushed. `heavyAt`: that one is many large ones, which take longer to store. */
  | { readonly kind: 'appends'; readonly heavyAt: number }
  /** Many appends at once and one flush, then rest. `bursts` times. */
  | { readonly kind: 'flood'; readonly bursts: number; readonly events: number }
  /** Appends that are flushed one by one, then appends that are not; each step is marked. */
  | { readonly kind: 'syncs'; readonly strict: number; readonly relaxed: number }

export type Plan = {
  /** Number of the run: names of messages begin with it. */
  readonly run: number
  readonly seed: string
  /** Sessions that are opened, told, carried on and told again. */
  readonly checks: readonly string[]
  /** What happens then, or null: then the run is over. */
  readonly workload: (Workload & { readonly session: string }) | null
}

/** A session as the library tells it. */
export type State = {
  readonly session: string
  readonly header: SessionHeader
  /** As `readEvents` gives them. */
  readonly events: readonly SessionEvent[]
  /** As `export` gives them. */
  readonly exported: readonly SessionEvent[]
  readonly length: number
  readonly nodes: readonly number[]
  readonly messages: readonly Message[]
  readonly waiting: number
}

/** Text of an answer that is on the page. */
export type Shown = {
  readonly turn: number
  readonly step: number
  readonly messageId: string
  readonly reasoning: string
  readonly text: string
}

export type Report =
  /** An opened session, before anything is asked of it. */
  | { readonly kind: 'opened'; readonly state: State }
  /** The same after one more prompt and a flush. */
  | { readonly kind: 'continued'; readonly state: State; readonly reason: TurnEndReason }
  /** What `verify` of a session says that is open in another worker: null, or a difference. */
  | { readonly kind: 'verified'; readonly session: string; readonly difference: unknown }
  /** All checks are done. */
  | { readonly kind: 'checked' }
  /** The workload begins. */
  | { readonly kind: 'begun' }
  /** Events the page was told of. */
  | { readonly kind: 'committed'; readonly events: readonly SessionEvent[] }
  /** Events before the seq `upTo` are said to be stored: by a flush, or by the status. */
  | { readonly kind: 'stored'; readonly upTo: number; readonly by: 'flush' | 'status' }
  | { readonly kind: 'shown'; readonly shown: Shown }
  /** A delta the model gives. */
  | { readonly kind: 'delta'; readonly index: number }
  /** The body of a tool has begun. */
  | { readonly kind: 'tool'; readonly session: string; readonly callId: string; readonly name: string }
  /** What strict providers say against a request. */
  | { readonly kind: 'request'; readonly findings: readonly string[] }
  /** A burst is stored; the page rests. */
  | { readonly kind: 'rest' }
  /** A step of `syncs`. */
  | { readonly kind: 'mark'; readonly name: string }
  /** Something failed that should not. */
  | { readonly kind: 'trouble'; readonly text: string }
