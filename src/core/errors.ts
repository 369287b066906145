/** Facts an error may carry besides its text; all plain JSON, so that they survive a worker boundary. */
export type ErrorFacts = {
  readonly seq?: number | undefined
  readonly index?: number | undefined
  readonly line?: number | undefined
  readonly sessionId?: string | undefined
  readonly eventType?: string | undefined
  readonly path?: string | undefined
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
  readonly expected?: string | number | undefined
  readonly actual?: string | number | undefined
}

/**
 * Base of every error this library throws on purpose. Each layer has one subclass; callers switch on `code`. The facts
 * are fields of the error (`error.seq`, `error.path` …) and absent when they do not apply.
 */
export abstract class PalimpsestError<Code extends string = string> extends Error {
  readonly code: Code
  declare readonly seq?: number
  declare readonly index?: number
  declare readonly line?: number
  declare readonly sessionId?: string
  declare readonly eventType?: string
  /** Path of the offending value inside the payload, such as `$.message.content[0]`. */
  declare readonly path?: string
  /** HTTP status, where there was one. */
  declare readonly status?: number
  /** How long the other side asked us to wait, in ms. */
  declare readonly retryAfterMs?: number
  declare readonly expected?: string | number
  declare readonly actual?: string | number

  constructor(code: Code, message: string, facts: ErrorFacts = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    for (const [fact, value] of Object.entries(facts)) {
      if (value !== undefined) Object.defineProperty(this, fact, { value, enumerable: true })
    }
  }
}

export type SessionErrorCode =
  /** The payload or intent holds something JSON cannot carry exactly; `path` says where (SPEC L3). */
  | 'not-json'
  /** The third argument of `append` is not an intent for this type (SPEC L5). */
  | 'intent'
  /** The type is not in the vocabulary and the event does not say it may be ignored (SPEC L6). */
  | 'unknown-type'
  /** Only the session's constructor writes this type (SPEC L7). */
  | 'reserved-type'
  /** A stored event's envelope is wrong: keys, type, time, `ignorable` (SPEC L8). */
  | 'envelope'
  /** The payload does not have the shape its type demands (SPEC L9). */
  | 'payload'
  /** `seq` is not the next one (SPEC L1). */
  | 'seq'
  /** `surfaceOp` is missing, malformed or not allowed on this type (SPEC S1, S2). */
  | 'surface-op'
  /** `sourceEventSeqs` is malformed or not allowed on this type (SPEC S3). */
  | 'surface-sources'
  /** A replaced range is not a range of the surface (SPEC S5). */
  | 'surface-range'
  /** A shadowed node is not cited in `sourceEventSeqs` (SPEC S6). */
  | 'surface-coverage'
  /** A replacing tool result changes more than content (SPEC S7). */
  | 'tool-result-rewrite'
  /** The protected system head would be swallowed (SPEC S8). */
  | 'system-head'
  /** `append` was called while the same session was committing: from a listener, interpreter or invariant (SPEC L10). */
  | 'reentrant'
  /** A fold the session was given threw (SPEC L17). */
  | 'fold'
  /** The session only follows its log; whoever writes it is elsewhere (SPEC O4). */
  | 'read-only'
  /** Two things of one name, or one that may not be registered (SPEC L18). */
  | 'registration'
  /** The type changes messages and nothing here interprets it: load the plugin it belongs to (SPEC M2). */
  | 'interpreter-missing'
  /** An interpreter this session has used was removed: open the session again with it (SPEC M3). */
  | 'interpreter-withdrawn'
  /** An interpreter refused the event, or answered with what may not stand for a message (SPEC M4). */
  | 'projection'
  /** A registered invariant was broken (SPEC I1). */
  | 'invariant'
  /** The keyframe cannot be used: fold the whole log instead (SPEC K3). */
  | 'keyframe'
  /** There is no session of that id to fork. */
  | 'session-not-found'
  /** The session to fork is not the live one of its id. */
  | 'session-not-live'
  /** The id for a fork is taken. */
  | 'session-already-exists'
  /** The seq to fork at, or to let go of events before, is not one of the log. */
  | 'invalid-boundary'
  /** The seq to fork at is inside a turn. */
  | 'open-turn'
  /** The header of a session is malformed (SPEC L11). */
  | 'header'
  /** An operation needs events that are not resident (SPEC L12). */
  | 'not-resident'
  /** A stream cannot be assembled into blocks (SPEC L14). */
  | 'stream'

/** A rule of the log or the surface was broken. Nothing was changed. */
export class SessionError extends PalimpsestError<SessionErrorCode> {
  override readonly name = 'SessionError'
}

/** The refusal of one event: who it is, what is wrong with it, and where. */
export function refusal(
  code: SessionErrorCode,
  { type, seq }: { readonly type: string; readonly seq: number },
  what: string,
  path?: string,
  options?: ErrorOptions,
): SessionError {
  return new SessionError(code, `${type} at seq ${seq} ${what}`, { seq, eventType: type, path }, options)
}
