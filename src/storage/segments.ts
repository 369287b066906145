/**
 * From which logs a range of a session is read, and whether what was found there fits. Pure; used by every storage.
 */
import { type LogId, SessionSeq, type SessionId, isSafeNonNegativeInteger } from '../core/ids.ts'
import { jsonText } from '../core/json.ts'
import { type Segment, type SessionRecord, StorageError } from './storage.ts'
import { endOfInherited } from './stored-session.ts'

/** One stretch of a read: events `from` to `to` of one log, of which the session owns or inherits `start` to `end`. */
export type ReadPart = {
  readonly logId: LogId
  readonly from: SessionSeq
  readonly to: SessionSeq
  readonly start: SessionSeq
  readonly end: SessionSeq
  readonly inherited: boolean
}

/**
 * The stretches that hold events `from` to `to` of a session, in order; none for an empty range.
 *
 * @throws {StorageError} `not-found` when the range is not one of stored events.
 */
export function planRead(
  record: SessionRecord,
  from: SessionSeq = SessionSeq(0),
  to: SessionSeq = record.nextSeq,
): readonly ReadPart[] {
  if (!isSafeNonNegativeInteger(from) || !isSafeNonNegativeInteger(to) || from > to || to > record.nextSeq) {
    const facts = { sessionId: record.header.id, expected: record.nextSeq, actual: to }
    const message = `Session ${record.header.id} has events 0 to ${record.nextSeq}; asked for ${from} to ${to}`
    throw new StorageError('not-found', message, facts)
  }
  const owned = { logId: record.logId, from: endOfInherited(record.inherited), to: record.nextSeq }
  const parts: ReadPart[] = []
  for (const range of [...record.inherited, owned]) {
    const first = SessionSeq(Math.max(from, range.from))
    const last = SessionSeq(Math.min(to, range.to))
    if (first >= last) continue
    const { logId, from: start, to: end } = range
    parts.push({ logId, from: first, to: last, start, end, inherited: range !== owned })
  }
  return parts
}

/** Where to look for keyframes of a session, one after the other: those above `from`, up to `to`. */
export type KeyframePart = { readonly logId: LogId; readonly from: SessionSeq; readonly to: SessionSeq }

/** The logs whose keyframes stand for the beginning of a session, the nearest to `atMost` first. */
export function planKeyframe(record: SessionRecord, atMost: SessionSeq = record.nextSeq): readonly KeyframePart[] {
  const own = { logId: record.logId, from: endOfInherited(record.inherited), to: record.nextSeq }
  return (
    [...record.inherited, own]
      // A fork may have one of its own for all that it inherits.
      .map(({ logId, from, to }) => ({
        logId,
        from: SessionSeq(Math.max(0, from - 1)),
        to: SessionSeq(Math.min(to, atMost)),
      }))
      .filter(({ from, to }) => from < to)
      .reverse()
  )
}

/**
 * The segments of one stretch, checked to be without gap or overlap. Where an inherited range ends inside a segment
 * the segment is cut, so that only the first and last of a whole read reach beyond what was asked for.
 *
 * @throws {StorageError} `corrupt` when the segments do not hold the stretch.
 */
export function fitSegments(id: SessionId, part: ReadPart, segments: readonly Segment[]): readonly Segment[] {
  const first = segments[0]
  // The first segment may start before the stretch, every later one where the one before it ended.
  let expected = first && first.firstSeq < part.from ? first.firstSeq : part.from
  for (const { firstSeq, count, text } of segments) {
    if (firstSeq !== expected) throw misfit(id, part, expected, `a segment starts at ${firstSeq}`)
    if (!isSafeNonNegativeInteger(count) || count === 0 || typeof text !== 'string') {
      throw misfit(id, part, firstSeq, `the segment there is malformed`)
    }
    expected = SessionSeq(firstSeq + count)
  }
  if (expected < part.to) throw misfit(id, part, expected, 'nothing is stored there')
  if (part.inherited) return segments.map(segment => cut(id, part, segment))
  if (expected > part.end) throw misfit(id, part, part.end, 'segments reach beyond the stored next seq')
  if (first && first.firstSeq < part.start)
    throw misfit(id, part, part.start, 'its segment starts before the own events')
  return segments
}

/** Where a stretch can be cut without cutting a segment, of a log whose segments begin at `firsts`. */
export function seamsOf({ from, to }: ReadPart, firsts: readonly number[]): readonly SessionSeq[] {
  return [from, ...firsts.filter(first => first > from && first < to).map(SessionSeq)]
}

/** The events of an inherited segment that belong to the session. */
function cut(id: SessionId, part: ReadPart, segment: Segment): Segment {
  const from = Math.max(segment.firstSeq, part.start)
  const to = Math.min(segment.firstSeq + segment.count, part.end)
  if (to - from === segment.count) return segment

  const events = parseArray(id, part, segment)
  if (events.length !== segment.count) {
    throw misfit(id, part, segment.firstSeq, `the segment says ${segment.count} events and holds ${events.length}`)
  }
  const kept = events.slice(from - segment.firstSeq, to - segment.firstSeq)
  return { firstSeq: SessionSeq(from), count: kept.length, text: jsonText(kept) }
}

function parseArray(id: SessionId, part: ReadPart, segment: Segment): readonly unknown[] {
  let value: unknown
  try {
    value = JSON.parse(segment.text)
  } catch (error) {
    throw misfit(id, part, segment.firstSeq, 'the segment there is not JSON', { cause: error })
  }
  if (!Array.isArray(value)) throw misfit(id, part, segment.firstSeq, 'the segment there is not an array')
  return value
}

function misfit(id: SessionId, part: ReadPart, seq: number, what: string, options?: ErrorOptions): StorageError {
  const message = `Log ${part.logId} of session ${id} should go on at seq ${seq} (asked for ${part.from} to ${part.to}): ${what}`
  return new StorageError('corrupt', message, { sessionId: id, seq }, options)
}
