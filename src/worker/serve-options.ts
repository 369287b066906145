/** What `serve()` takes. */
import type { AgentSetup } from '../agent/agent.ts'
import type { ResumePolicy } from '../agent/open-step.ts'
import type { Invariant } from '../core/invariant.ts'
import type { SessionOptions } from '../core/session-options.ts'
import type { Redactor } from '../format/redact.ts'
import type { Lease } from '../sessions/lease.ts'
import type { SessionStorage } from '../storage/storage.ts'

export type AgentFactory<Config = unknown> = (context: {
  /**
   * What the page passed to `connect()` or `configure()`, null when it passed nothing. It is not checked against
   * `Config`: page and worker are one application. Keys in it never leave memory.
   */
  readonly config: Config
  readonly sessionId: string
}) => AgentSetup

/** What the sessions of a worker know and keep besides the format. */
export type SessionExtensions = Pick<SessionOptions, 'eventTypes' | 'projections'> & {
  /** Asked for events appended from now on. Default: `sessionInvariant`. */
  readonly liveInvariants?: readonly Invariant[]
}

export type ServeOptions<Config = unknown> = SessionExtensions & {
  /** Makes what an agent works with; called at the start of each turn. What it throws refuses the prompt. */
  readonly agent: AgentFactory<Config>
  /** Default: IndexedDB, database `palimpsest`. */
  readonly storage?: SessionStorage
  /** Default: Web Locks where there are any. */
  readonly lease?: Lease
  /**
   * What becomes of a turn that was cut off, once its session is open again: `never`, `ask` (default: the page offers it
   * and calls `resume`), or `auto`.
   */
  readonly resume?: ResumePolicy
  /** How long a session that was deleted can be brought back, ms; default 7 days. */
  readonly keepDeletedMs?: number
  /** Clock, epoch ms. */
  readonly now?: () => number
  /** A fresh unique id on each call. */
  readonly newId?: () => string
  /** Sees every text of an export that a page wants redacted, and answers what is written instead. */
  readonly redact?: Redactor
  /** Told about failures that belong to no caller. Default: rethrown as an uncaught error of the worker. */
  readonly onError?: (error: unknown) => void
}
