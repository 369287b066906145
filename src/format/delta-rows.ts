/** Rows of old files that stand for several `assistant/chunk` events: runs of deltas in columns (SPEC F7). Read only. */
import { SessionError } from '../core/errors.ts'
import type { StreamRecord } from '../core/events.ts'
import { isSafeNonNegativeInteger } from '../core/ids.ts'
import { expandStream } from '../core/stream-records.ts'
import { shown } from './errors.ts'
import type { StoredEvent } from './stored.ts'

type Row = Record<string, unknown>

const kinds: ReadonlySet<unknown> = new Set(['text-chunks', 'reasoning-chunks', 'tool-call-chunks'])

/** Whether a row of version 0 or 1 is one of these, well-formed or not. */
export const isDeltaRow = ({ type }: Row): boolean => kinds.has(type)

const ROW_KEYS: readonly string[] = ['type', 'seq0', 'time0', 'data']

/**
 * The events a row stands for, all of them; a text that says what is wrong when it is malformed. The first must have the
 * seq `expected`.
 */
export function expandDeltaRow(row: Row, expected: number): readonly StoredEvent[] | string {
  const { type, seq0, time0, data } = row
  for (const key of Object.keys(row)) if (!ROW_KEYS.includes(key)) return `may not have the key ${shown(key)}`
  if (!isSafeNonNegativeInteger(seq0)) return 'has no seq0'
  if (seq0 !== expected) return `starts at seq ${seq0} where seq ${expected} should be`
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return 'has data that is not an object'
  const { turn, step, ...run } = data as Row
  if (!isSafeNonNegativeInteger(turn) || !isSafeNonNegativeInteger(step)) return 'has no turn or no step'
  try {
    const record = { type, time0, ...run } as unknown as StreamRecord
    // What `data` says of these would be read as if the row said so.
    if (Object.hasOwn(run, 'type') || Object.hasOwn(run, 'time0')) return 'has type or time0 in its data'
    return expandStream([record]).map(({ time, chunk }, member) => ({
      type: 'assistant/chunk',
      seq: seq0 + member,
      time,
      data: { turn, step, chunk },
    }))
  } catch (error) {
    if (!(error instanceof SessionError)) throw error
    return `is malformed. ${error.message}`
  }
}
