/**
 * One line of a log after its header: what makes it a bad row, which may be a torn tail, and what is refused wherever it
 * stands (SPEC F8).
 */
import { SessionError } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import { isSafeNonNegativeInteger } from '../core/ids.ts'
import { snapshotJson } from '../core/json.ts'
import { isPayload } from '../core/shapes.ts'
import { checkSurfaceFields } from '../core/surface.ts'
import { isSurfaceEventType } from '../core/vocabulary.ts'
import { formatRefusal, shown } from './errors.ts'
import type { SourceSeqs } from './source-seqs.ts'
import type { StoredEvent } from './stored.ts'

export type Row = Record<string, unknown>

const minusZero = /-0(?!\d)/
const largeExponent = /[eE][+-]?\d\d\d/
/** Fewer digits do not leave the numbers with an exponent of two. */
const LONG = 200

/** Characters of what a check of the session says; it may name keys of the row. */
const LONGEST = 400

/**
 * Whether a line may hold a number that JSON text can say and JSON values cannot: −0, or one beyond the largest. Mostly
 * not, so it is looked for in a way that costs next to nothing beside parsing.
 */
function mayHoldOddNumber(line: string): boolean {
  if (line.includes('-0') && minusZero.test(line)) return true
  if (largeExponent.test(line)) return true
  // So many digits in a row stand on one of these places, wherever they begin.
  for (let at = LONG - 1; at < line.length; at += LONG) {
    const code = line.charCodeAt(at)
    if (code >= 48 && code <= 57 && /\d{100}/.test(line.slice(at + 1 - LONG, at + LONG))) return true
  }
  return false
}

/** The object a line holds; a text that says what is wrong when it holds none. */
export function parseRow(line: string): Row | string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return 'is not JSON'
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'is not an object'
  if (mayHoldOddNumber(line)) {
    try {
      snapshotJson(value)
    } catch (error) {
      if (!(error instanceof SessionError)) throw error
      return `holds a number that is none of JSON. ${shown(error.message, LONGEST)}`
    }
  }
  return value as Row
}

const ENVELOPE: ReadonlySet<string> = new Set([
  'type',
  'seq',
  'time',
  'data',
  'ignorable',
  'surfaceOp',
  'sourceEventSeqs',
])

/** What is wrong with the envelope of a row; null when nothing is. Its seq is checked apart. */
export function envelopeProblem(row: Row): string | null {
  for (const key of Object.keys(row)) if (!ENVELOPE.has(key)) return `may not have the key ${shown(key)}`
  if (typeof row['type'] !== 'string') return 'has no type'
  if (!Number.isSafeInteger(row['time'])) return 'has a time that is not a safe integer'
  if (row['data'] === undefined) return 'has no data'
  return row['ignorable'] === undefined || row['ignorable'] === true ? null : 'has ignorable that is not true'
}

/** What is wrong with the seq of a row; null when it is the next one. */
export function seqProblem({ seq }: Row, expected: number): string | null {
  if (!isSafeNonNegativeInteger(seq)) return `has no seq where ${expected} should be`
  return seq === expected ? null : `has seq ${seq} where ${expected} should be`
}

/** The row with its source list written out; a text when the list is none. Very mostly the same row. */
export function withSources(row: Row, sources: SourceSeqs, seq: number): Row | string {
  const stored = row['sourceEventSeqs']
  if (stored === undefined) return row
  const list = sources.expand(stored, seq)
  if (typeof list === 'string') return `has sourceEventSeqs that ${list}`
  return list === stored ? row : { ...row, sourceEventSeqs: list }
}

/** What makes an event of the current version a bad row: fields a writer of it always has right. */
export function canonicalProblem(event: StoredEvent): string | null {
  const { type, data, surfaceOp } = event
  if (surfaceOp !== undefined && isSurfaceEventType(type)) {
    try {
      checkSurfaceFields(event as unknown as SessionEvent)
    } catch (error) {
      if (!(error instanceof SessionError)) throw error
      return shown(error.message.replace(`${type} at seq ${event.seq} `, ''), LONGEST)
    }
  }
  if (typeof data !== 'object' || data === null) return null
  if (type === 'request/header') return headerProblem((data as Row)['header'])
  if (type === 'tool/result') return resultProblem(data as Row)
  return null
}

function headerProblem(header: unknown): string | null {
  if (typeof header !== 'object' || header === null) return null
  const { tools, adapterDefaults } = header as Row
  if (Array.isArray(tools) && tools.length === 0) return 'has empty tools; they are left out instead'
  const isEmpty =
    typeof adapterDefaults === 'object' && adapterDefaults !== null && Object.keys(adapterDefaults).length === 0
  return isEmpty ? 'has empty adapterDefaults; they are left out instead' : null
}

function resultProblem({ error, message }: Row): string | null {
  const { content } = (message ?? {}) as Row
  const [block] = (Array.isArray(content) ? content : []) as readonly (Row | null)[]
  return error !== undefined && block?.['isError'] !== true
    ? 'carries an error but does not say isError in its block'
    : null
}

/**
 * Refuses what the current version withdrew or always had, however torn the log may be.
 *
 * @throws {FormatError} `payload`, `withdrawn-type`.
 */
export function checkStructure({ type, seq, data, ignorable }: Row): void {
  // Anything may stand there, also what has no text.
  const event = { type: typeof type === 'string' ? type : 'event', seq: typeof seq === 'number' ? seq : NaN }
  if (type === 'request/header') {
    const header = typeof data === 'object' && data !== null ? (data as Row)['header'] : null
    if (typeof header === 'object' && header !== null && Object.hasOwn(header, 'system')) {
      const facts = { path: '$.header.system' }
      throw formatRefusal('payload', event, 'has header.system: the prompt is a system/message', facts)
    }
  }
  if (ignorable !== true && (type === 'tool/code-dispatch' || type === 'tool/code-dispatch-start')) {
    throw formatRefusal('withdrawn-type', event, 'is of a type that version 3 renamed to tool/ptc-dispatch')
  }
  if (type === 'system/message' && !isPayload(type, data)) {
    throw formatRefusal('payload', event, 'should have turn, step and message of a system message, and no more', {
      path: '$',
    })
  }
}
