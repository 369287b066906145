/** Stored events as they are read: parsed, counted, and nothing else. Whether they are a log is the session's to say. */
import { type SessionEvent, SESSION_FORMAT_VERSION } from '../core/events.ts'
import { SessionId, SessionSeq } from '../core/ids.ts'
import {
  type Segment,
  type SeqRange,
  type SessionRecord,
  type SessionStorage,
  StorageError,
} from '../storage/storage.ts'

/** A stored log, as far as it is read. */
export type StoredLog = Pick<SessionRecord, 'header' | 'logId' | 'nextSeq'>

/** Whether the stored log is of an older version, or of a newer one, which only a refusal can come of. */
export const isOtherVersion = ({ header }: Pick<StoredLog, 'header'>): boolean =>
  header.version !== SESSION_FORMAT_VERSION

/** Segments of the first read; small ones are read more at a time. */
const SEGMENTS_AT_ONCE = 16
const MOST_SEGMENTS = 512
/** Text of one read, about, UTF-16 units. */
const READ_AT_ONCE = 4_000_000

/**
 * Segments that hold a range, in order, the next ones on their way while the caller is busy with the last.
 *
 * @throws {StorageError} `corrupt`; `not-found` when the log is another one by now: two logs must not be read as one.
 */
export async function* readSegments(
  storage: SessionStorage,
  { header, logId, nextSeq }: StoredLog,
  { from, to }: SeqRange = { from: SessionSeq(0), to: nextSeq },
): AsyncGenerator<Segment, void, void> {
  if (from >= to) return
  const id = SessionId(header.id)
  let limit = SEGMENTS_AT_ONCE
  const read = (start: SessionSeq): Promise<readonly Segment[]> => {
    const segments = storage.read(id, start, to, limit)
    // Who stops reading does not wait for it any more.
    segments.catch(() => undefined)
    return segments
  }
  for (let next: Promise<readonly Segment[]> | null = read(from); next !== null; ) {
    const segments: readonly Segment[] = await next
    const last = segments.at(-1)
    const end = last === undefined ? to : SessionSeq(last.firstSeq + last.count)
    if ((await storage.get(id))?.logId !== logId) {
      throw new StorageError('not-found', `The log of session ${id} was replaced while it was read`, {
        sessionId: id,
        seq: end,
      })
    }
    const length = segments.reduce((sum, { text }) => sum + text.length, 0)
    if (length * 2 < READ_AT_ONCE) limit = Math.min(limit * 2, MOST_SEGMENTS)
    next = end < to ? read(end) : null
    yield* segments
  }
}

/** Stored events of a range, in order, read as they are asked for. @throws {StorageError} as `readSegments` does. */
export async function* readStoredPages(
  storage: SessionStorage,
  log: StoredLog,
  range: SeqRange = { from: SessionSeq(0), to: log.nextSeq },
): AsyncGenerator<SessionEvent, void, void> {
  for await (const segment of readSegments(storage, log, range)) yield* eventsOf(log.header.id, segment, range)
}

/** Every stored event of a session. @throws {StorageError} `corrupt` when a segment is not what it says. */
export async function readStoredEvents(storage: SessionStorage, log: StoredLog): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const segment of readSegments(storage, log))
    for (const event of parseSegment(log.header.id, segment)) events.push(event)
  return events
}

/** The events of a segment that are within a range: it may reach beyond on both sides. */
export function eventsOf(sessionId: string, segment: Segment, { from, to }: SeqRange): readonly SessionEvent[] {
  const events = parseSegment(sessionId, segment)
  const { firstSeq, count } = segment
  return firstSeq >= from && firstSeq + count <= to ? events : events.slice(Math.max(0, from - firstSeq), to - firstSeq)
}

function parseSegment(sessionId: string, segment: Segment): readonly SessionEvent[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(segment.text)
  } catch (error) {
    throw new StorageError(
      'corrupt',
      `Stored events from seq ${segment.firstSeq} of session ${sessionId} are not JSON`,
      { sessionId, seq: segment.firstSeq },
      { cause: error },
    )
  }
  if (!Array.isArray(parsed) || parsed.length !== segment.count) {
    throw new StorageError(
      'corrupt',
      `Expected ${segment.count} stored events from seq ${segment.firstSeq} of session ${sessionId}`,
      { sessionId, seq: segment.firstSeq },
    )
  }
  return parsed as SessionEvent[]
}
