/**
 * Admission: one set of rules decides whether an event may enter a log, whether it is appended live, seeded or restored
 * (SPEC L1–L9).
 */
import { refusal, SessionError } from './errors.ts'
import type { SessionEvent, SurfaceOp } from './events.ts'
import type { Extensions } from './extensions.ts'
import type { EventLookup, SurfaceChange } from './fold.ts'
import { isSafeNonNegativeInteger, type SessionSeq } from './ids.ts'
import { plainKeys, snapshotJson } from './json.ts'
import type { ProjectedSurface } from './message-projection.ts'
import { checkPayload } from './shapes.ts'
import { checkSurfaceFields, planSurfaceChange } from './surface.ts'
import { isKnownEventType, isSurfaceEventType } from './vocabulary.ts'

/** Third argument of `append` for a surface type. */
export type SurfaceIntent = { readonly surfaceOp: SurfaceOp; readonly sourceEventSeqs?: readonly SessionSeq[] }

/** What an intent adds to the envelope, snapshotted. */
export type Placement = {
  readonly surfaceOp?: SurfaceOp
  readonly sourceEventSeqs?: readonly SessionSeq[]
  readonly ignorable?: true
}

const NO_PLACEMENT: Placement = Object.freeze({})
const APPEND_PLACEMENT: Placement = Object.freeze({ surfaceOp: 'append' })
const IGNORABLE_PLACEMENT: Placement = Object.freeze({ ignorable: true })

/**
 * Checks the type and the intent of a live append and snapshots what the intent adds (SPEC L5–L7).
 *
 * @throws {SessionError} `unknown-type`, `reserved-type`, `intent`, `not-json`.
 */
export function admitIntent(type: string, intent: unknown, seq: SessionSeq, extensions: Extensions): Placement {
  if (!extensions.knows(type)) throw refusal('unknown-type', { type: String(type), seq }, 'is not a known event type')
  if (type === 'session/end-seed')
    throw refusal('reserved-type', { type, seq }, 'is written by the session itself only')
  const definition = extensions.definition(type)
  const placement = intent === undefined ? NO_PLACEMENT : readIntent(type, seq, intent, definition !== undefined)
  return definition?.ignorable === true ? IGNORABLE_PLACEMENT : placement
}

/**
 * `snapshotJson` for what is appended: a refusal says of which event and which part.
 *
 * @throws {SessionError} `not-json`.
 */
export function snapshotOf<Value>(value: Value, type: string, seq: SessionSeq, part: 'data' | 'intent'): Value {
  try {
    return snapshotJson(value)
  } catch (error) {
    if (!(error instanceof SessionError)) throw error
    const what = `has ${part} that does not fit. ${error.message}`
    throw refusal('not-json', { type, seq }, what, error.path, { cause: error })
  }
}

function readIntent(type: string, seq: SessionSeq, intent: unknown, isDefined: boolean): Placement {
  const fail = (what: string): never => {
    throw refusal('intent', { type, seq }, `has an intent that ${what}`)
  }
  if (typeof intent !== 'object' || intent === null) return fail('is not an object')
  const prototype: unknown = Object.getPrototypeOf(intent)
  if (prototype !== Object.prototype && prototype !== null) return fail('is not a plain object')
  const surface = isSurfaceEventType(type)
  let surfaceOp: unknown
  let sourceEventSeqs: unknown
  let ignorable = false
  for (const key of plainKeys(intent) ?? fail('has a hidden key')) {
    // Read once: a getter cannot show two values.
    const value = (intent as Record<string, unknown>)[key]
    if (surface && key === 'surfaceOp') surfaceOp = value
    else if (surface && key === 'sourceEventSeqs') sourceEventSeqs = value
    else if (isDefined && key === 'ignorable' && (value === true || value === undefined)) ignorable = value === true
    else fail(`may not have the key ${key}`)
  }
  if (ignorable) return IGNORABLE_PLACEMENT
  if (surfaceOp === 'append' && sourceEventSeqs === undefined) return APPEND_PLACEMENT
  const placement = {
    ...(surfaceOp === undefined ? {} : { surfaceOp: surfaceOp as SurfaceOp }),
    ...(sourceEventSeqs === undefined ? {} : { sourceEventSeqs: sourceEventSeqs as SessionSeq[] }),
  }
  return snapshotOf(placement, type, seq, 'intent')
}

/**
 * Decides whether `event` may be the next one and what it does to the surface. Changes nothing.
 *
 * @throws {SessionError} `payload`, `surface-*`, `tool-result-rewrite`, `system-head`, `interpreter-missing`, `projection`.
 */
export function planAdmission(
  event: SessionEvent,
  surface: ProjectedSurface,
  eventAt: EventLookup,
  extensions: Extensions,
): SurfaceChange {
  checkPayload(event)
  extensions.checkPayload(event)
  checkSurfaceFields(event, extensions.knows)
  return planSurfaceChange(surface, event, eventAt, extensions)
}

const ENVELOPE_KEYS: readonly string[] = ['type', 'seq', 'time', 'data', 'ignorable', 'surfaceOp', 'sourceEventSeqs']

/**
 * Checks the envelope of an event that comes from outside: seed, storage, import (SPEC L1, L6, L8).
 *
 * @throws {SessionError} `envelope`, `unknown-type`, `seq`.
 */
export function checkEnvelope(
  value: unknown,
  expectedSeq: number,
  knows: (type: string) => boolean = isKnownEventType,
): asserts value is SessionEvent {
  const fail = (what: string): never => {
    throw refusal('envelope', { type: 'event', seq: expectedSeq }, what)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail('is not an object')
  for (const key of Object.keys(value)) if (!ENVELOPE_KEYS.includes(key)) return fail(`may not have the key ${key}`)
  const { type, seq, time, data, ignorable } = value as Record<string, unknown>
  if (typeof type !== 'string') return fail('has no type')
  if (!isSafeNonNegativeInteger(seq)) return fail('has no seq')
  if (!Number.isSafeInteger(time)) return fail('has a time that is not a safe integer')
  if (data === undefined) return fail('has no data')
  if (ignorable !== undefined && ignorable !== true) return fail('has ignorable that is not true')
  if (ignorable !== true && !knows(type)) {
    throw refusal('unknown-type', { type, seq }, 'is unknown to this build and may not be ignored')
  }
  if (seq !== expectedSeq) {
    const facts = { seq, eventType: type, expected: expectedSeq, actual: seq }
    throw new SessionError('seq', `${type} at seq ${seq} stands where seq ${expectedSeq} should be`, facts)
  }
}

/** A new event, frozen; `data` and `placement` are snapshots already. */
export function newEvent(
  type: string,
  seq: SessionSeq,
  time: number,
  data: unknown,
  placement: Placement,
): SessionEvent {
  return Object.freeze({ type, seq, time, data, ...placement }) as unknown as SessionEvent
}

/** Runs `admit` for the event at `index`; a refusal says which one it was. */
export function atIndex<Result>(index: number, admit: () => Result): Result {
  try {
    return admit()
  } catch (error) {
    if (!(error instanceof SessionError)) throw error
    const { code, seq = index, eventType, path, expected, actual, sessionId } = error
    const facts = { index, seq, eventType, path, expected, actual, sessionId }
    throw new SessionError(code, `Invalid event at index ${index}: ${error.message}`, facts, { cause: error })
  }
}
