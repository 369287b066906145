/** Errors across the worker boundary: class, code and facts survive (SPEC B1, B2). */
import { AgentError } from '../agent/errors.ts'
import { type ErrorFacts, PalimpsestError, SessionError } from '../core/errors.ts'
import { FormatError } from '../format/errors.ts'
import { StorageError } from '../storage/storage.ts'
import type { Reply, WireError } from './protocol.ts'

export type WorkerErrorCode =
  /** The worker's script could not be loaded or threw while it started. */
  | 'start-failed'
  /** The worker did not say it is ready in time. */
  | 'start-timeout'
  /** The worker is gone: terminated, crashed or replaced. */
  | 'lost'
  /** The worker does not answer. */
  | 'unresponsive'
  /** The connection or the session was closed. */
  | 'closed'
  /** An argument cannot be sent to a worker, or it has no use for it. */
  | 'argument'
  /** The caller gave up; nothing was changed. */
  | 'cancelled'
  /** Something unexpected failed in the worker; the message is its own. */
  | 'internal'

/** The worker, or the way to it, failed. What was acknowledged before is stored. */
export class WorkerError extends PalimpsestError<WorkerErrorCode> {
  override readonly name = 'WorkerError'
}

const classes = { SessionError, FormatError, StorageError, AgentError, WorkerError } as Readonly<
  Record<string, new (code: never, message: string, facts: ErrorFacts, options?: ErrorOptions) => PalimpsestError>
>

const FACTS = [
  'seq',
  'index',
  'line',
  'sessionId',
  'eventType',
  'path',
  'status',
  'retryAfterMs',
  'expected',
  'actual',
] as const
const MAX_TEXT = 4_000
const MAX_CAUSES = 4

/** Anything that was thrown, as plain data of bounded size. Never throws itself. */
export function encodeError(error: unknown, depth = 0): WireError {
  if (typeof error !== 'object' || error === null) {
    return { name: 'Error', code: null, message: clip(safeString(error)), stack: null, facts: {}, cause: null }
  }
  const facts: Record<string, string | number> = {}
  for (const fact of FACTS) {
    const value = member(error, fact)
    if (typeof value === 'string' || typeof value === 'number') facts[fact] = value
  }
  const [name, code, message, stack, cause] = ['name', 'code', 'message', 'stack', 'cause'].map(key =>
    member(error, key),
  )
  return {
    name: typeof name === 'string' ? name : 'Error',
    code: typeof code === 'string' ? code : null,
    message: clip(typeof message === 'string' ? message : safeString(error)),
    stack: typeof stack === 'string' ? clip(stack) : null,
    facts,
    cause: cause === undefined || cause === null || depth >= MAX_CAUSES ? null : encodeError(cause, depth + 1),
  }
}

/** The error again, as its own class. Errors that are not this library's become `WorkerError` `internal`. */
export function decodeError({ name, code, message, stack, facts, cause }: WireError): PalimpsestError {
  const options = cause === null ? undefined : { cause: decodeError(cause) }
  const Class = Object.hasOwn(classes, name) ? classes[name] : undefined
  const error =
    Class === undefined || code === null
      ? new WorkerError('internal', name === 'Error' ? message : `${name}: ${message}`, facts, options)
      : new Class(code as never, message, facts, options)
  if (stack !== null) error.stack = stack
  return error
}

/** Runs `work` and makes data of its result or its error. */
export async function reply<Value>(work: () => Value | Promise<Value>): Promise<Reply<Value>> {
  try {
    return { ok: true, value: await work() }
  } catch (error) {
    return { ok: false, error: encodeError(error) }
  }
}

/** The value of a reply. @throws the error it carries. */
export function unwrap<Value>(answer: Reply<Value>): Value {
  if (!answer.ok) throw decodeError(answer.error)
  return answer.value
}

/** A member of an object that may be hostile: a throwing getter counts as absent. */
function member(value: object, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

function safeString(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'a value without text'
  }
}

const clip = (text: string): string => (text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`)
