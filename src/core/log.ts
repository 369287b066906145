/**
 * Admission: one set of rules decides whether an event may enter a log, whether it is appended live, seeded or restored
 * (SPEC L1–L9).
 */
import { SessionError } from './errors.ts'
import type { SessionEvent, SessionHeader, SurfaceOp } from './events.ts'
import { SESSION_FORMAT_VERSION } from './events.ts'
import type { EventLookup, SurfaceChange } from './fold.ts'
import { isSafeNonNegativeInteger, type SessionSeq } from './ids.ts'
import { snapshotJson } from './json.ts'
import { checkPayload } from './shapes.ts'
import { checkSurfaceFields, planSurfaceChange } from './surface.ts'
import { isKnownEventType, isSurfaceEventType } from './vocabulary.ts'

/** Third argument of `append` for a surface type. */
export type SurfaceIntent = { readonly surfaceOp: SurfaceOp; readonly sourceEventSeqs?: readonly SessionSeq[] }

/** What an intent adds to the envelope, snapshotted. */
export type Placement = {
  readonly surfaceOp?: SurfaceOp
  readonly sourceEventSeqs?: readonly SessionSeq[]
}

const NO_PLACEMENT: Placement = Object.freeze({})
const APPEND_PLACEMENT: Placement = Object.freeze({ surfaceOp: 'append' })

/**
 * Checks the type and the intent of a live append and snapshots what the intent adds (SPEC L5–L7).
 *
 * @throws {SessionError} `unknown-type`, `reserved-type`, `intent`, `not-json`.
 */
export function admitIntent(type: unknown, intent: unknown, seq: SessionSeq): Placement {
  if (typeof type !== 'string' || !isKnownEventType(type)) {
    throw new SessionError('unknown-type', `Expected a known event type; found ${String(type)}`, {
      seq,
      eventType: String(type),
    })
  }
  if (type === 'session/end-seed') {
    throw new SessionError('reserved-type', 'session/end-seed is written by the session itself only', {
      seq,
      eventType: type,
    })
  }
  if (intent === undefined) return NO_PLACEMENT
  return readIntent(type, intent, seq)
}

/**
 * `snapshotJson` for what is appended: a refusal says of which event and which part.
 *
 * @throws {SessionError} `not-json`.
 */
export function snapshotOf<Value>(value: Value, type: string, seq: number, part: 'data' | 'intent'): Value {
  try {
    return snapshotJson(value)
  } catch (error) {
    if (!(error instanceof SessionError)) throw error
    const facts = { seq, eventType: type, ...(error.path === undefined ? {} : { path: error.path }) }
    throw new SessionError('not-json', `${part} of ${type}: ${error.message}`, facts, { cause: error })
  }
}

function readIntent(type: string, intent: unknown, seq: SessionSeq): Placement {
  const fail = (what: string): never => {
    throw new SessionError('intent', `${type} at seq ${seq}: ${what}`, { seq, eventType: type })
  }
  if (typeof intent !== 'object' || intent === null) return fail('expected an intent object')
  const prototype: unknown = Object.getPrototypeOf(intent)
  if (prototype !== Object.prototype && prototype !== null) return fail('expected a plain intent object')
  const surface = isSurfaceEventType(type)
  let surfaceOp: unknown
  let sourceEventSeqs: unknown
  for (const key of Reflect.ownKeys(intent)) {
    if (!surface || (key !== 'surfaceOp' && key !== 'sourceEventSeqs')) {
      return fail(`unexpected key ${String(key)} in the intent`)
    }
    if (!Object.prototype.propertyIsEnumerable.call(intent, key)) return fail(`hidden key ${key} in the intent`)
    // Read once: a getter cannot show two values.
    const value = (intent as Record<string, unknown>)[key]
    if (key === 'surfaceOp') surfaceOp = value
    else sourceEventSeqs = value
  }
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
 * @throws {SessionError} `payload`, `surface-*`, `tool-result-rewrite`, `system-head`.
 */
export function planAdmission(
  event: SessionEvent,
  surface: Readonly<{ nodes: readonly SessionSeq[] }>,
  eventAt: EventLookup,
): SurfaceChange {
  checkPayload(event)
  checkSurfaceFields(event)
  return planSurfaceChange(surface, event, eventAt)
}

const ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  'type',
  'seq',
  'time',
  'data',
  'ignorable',
  'surfaceOp',
  'sourceEventSeqs',
])

/**
 * Checks the envelope of an event that comes from outside: seed, storage, import (SPEC L1, L6, L8).
 *
 * @throws {SessionError} `envelope`, `unknown-type`, `seq`.
 */
export function checkEnvelope(value: unknown, expectedSeq: number): asserts value is SessionEvent {
  const fail = (what: string): never => {
    throw new SessionError('envelope', `Event at seq ${expectedSeq}: ${what}`, { seq: expectedSeq })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail('expected an object')
  for (const key of Object.keys(value)) if (!ENVELOPE_KEYS.has(key)) return fail(`unexpected key ${key}`)
  const { type, seq, time, data, ignorable } = value as Record<string, unknown>
  if (typeof type !== 'string') return fail('expected a string as type')
  if (!isSafeNonNegativeInteger(seq)) return fail('expected a seq')
  if (!Number.isSafeInteger(time)) return fail('expected a safe integer as time')
  if (data === undefined) return fail('expected data')
  if (ignorable !== undefined && ignorable !== true) return fail('expected ignorable to be true or absent')
  if (ignorable !== true && !isKnownEventType(type)) {
    throw new SessionError(
      'unknown-type',
      `Event type ${type} at seq ${seq} is unknown to this build and may not be ignored`,
      { seq, eventType: type },
    )
  }
  if (seq !== expectedSeq) {
    throw new SessionError('seq', `Expected seq ${expectedSeq}; found ${seq} (${type})`, {
      seq,
      eventType: type,
      expected: expectedSeq,
      actual: seq,
    })
  }
}

type HeaderCheck = readonly [key: keyof SessionHeader, expected: string, valid: (value: unknown) => boolean]

const optional =
  (valid: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || valid(value)
const isString = (value: unknown): boolean => typeof value === 'string'

const HEADER_CHECKS: readonly HeaderCheck[] = [
  ['version', String(SESSION_FORMAT_VERSION), value => value === SESSION_FORMAT_VERSION],
  ['id', 'a non-empty string', value => isString(value) && value !== ''],
  ['createdAt', 'epoch ms', isSafeNonNegativeInteger],
  ['isSeeded', 'a boolean', value => typeof value === 'boolean'],
  ['cwd', 'a string', optional(isString)],
  ['parentSession', 'a string', optional(isString)],
  ['origin', "'subagent'", optional(value => value === 'subagent')],
  ['delegationDepth', 'a safe integer of at least 0', optional(isSafeNonNegativeInteger)],
  ['agentPreset', 'a string', optional(isString)],
]

/** Checks a session header. @throws {SessionError} `header` (SPEC L11). */
export function checkHeader(value: unknown): asserts value is SessionHeader {
  const fail = (what: string): never => {
    throw new SessionError('header', `Session header: ${what}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail('expected an object')
  if (Object.hasOwn(value, 'seedLength')) return fail('seedLength belongs to older formats')
  for (const [key, expected, valid] of HEADER_CHECKS) {
    if (!valid((value as Record<string, unknown>)[key])) return fail(`expected ${expected} as ${key}`)
  }
}
