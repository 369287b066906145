/**
 * Writes a log as the text of the current version: a line for its header, then a line for each event (SPEC F11). The
 * text is canonical: read and written again it is the same, byte for byte.
 */
import type { SessionEvent, SessionHeader } from '../core/events.ts'
import { jsonText } from '../core/json.ts'
import { FormatError, formatRefusal } from './errors.ts'
import { type Redactor, redactEvent, redactHeader } from './redact.ts'
import { SourceSeqs } from './source-seqs.ts'

/** The first line, newline included. Members a header does not have in this version are left out. */
export function headerLine(header: SessionHeader): string {
  const { version, id, createdAt, cwd, parentSession, isSeeded, origin, delegationDepth = 0, agentPreset } = header
  const line = {
    type: 'session',
    version,
    id,
    createdAt,
    cwd,
    parentSession,
    isSeeded,
    origin,
    delegationDepth,
    agentPreset,
  }
  return `${JSON.stringify(line)}\n`
}

/**
 * The line of one event that a session admitted, newline included. Payloads of any depth are written; `__proto__` is a
 * member like any other, and half of a surrogate pair stays what it is.
 *
 * @throws {FormatError} `reference` when an event of an unknown type has sources that no line can hold: every reader
 * takes them for a list of earlier seqs.
 */
export function eventLine(event: SessionEvent): string {
  const { type, seq, time, data, ignorable, surfaceOp, sourceEventSeqs } = event as Partial<Record<string, unknown>>
  const line: Record<string, unknown> = { type, seq, time, data }
  if (ignorable !== undefined) line['ignorable'] = ignorable
  if (surfaceOp !== undefined) line['surfaceOp'] = surfaceOp
  if (sourceEventSeqs !== undefined) {
    // A list with runs in it would be read as another one.
    const list = new SourceSeqs().expand(sourceEventSeqs, event.seq)
    if (list !== sourceEventSeqs) {
      const what = `has sources that cannot be stored: a line holds a list of earlier seqs, each once, or none`
      throw formatRefusal('reference', event, what, { path: '$.sourceEventSeqs' })
    }
    line['sourceEventSeqs'] = list
  }
  return `${jsonText(line)}\n`
}

export type WriteOptions = {
  /** Takes out what the text may not say; the log reads and opens as before. */
  readonly redact?: Redactor
}

/**
 * The lines of a whole log, one after another as they are asked for.
 *
 * @throws {FormatError} `order` when the events are not all of them from seq 0 on; as `eventLine` and `redactEvent` do.
 */
export function* logLines(
  { header, events }: { readonly header: SessionHeader; readonly events: Iterable<SessionEvent> },
  { redact }: WriteOptions = {},
): Generator<string> {
  yield headerLine(redact === undefined ? header : redactHeader(header, redact))
  let expected = 0
  for (const event of events) {
    const { seq, type: eventType } = event
    if (seq !== expected) {
      const what = `Expected the event of seq ${expected}, for a log is written whole; found ${eventType} at seq ${seq}`
      throw new FormatError('order', what, { seq, eventType, expected, actual: seq, sessionId: header.id })
    }
    expected += 1
    yield eventLine(redact === undefined ? event : redactEvent(event, redact))
  }
}
