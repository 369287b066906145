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

/** Text of one read, UTF-16 units, about; and how many reads are under way at once. */
const READ_LENGTH = 1_000_000
const READS_AT_ONCE = 3
/** Segments of the first reads, before it is known how long they are. */
const FIRST_SEGMENTS = 4

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
  const seams = await storage.seams(id, from, to)
  let step = FIRST_SEGMENTS
  let next = 0
  const read = (): Promise<readonly Segment[]> => {
    const start = seams[next] ?? to
    next += step
    const end = seams[next] ?? to
    const segments = Promise.all([storage.read(id, start, end), storage.get(id)]).then(([found, record]) => {
      if (record?.logId === logId) return found
      const message = `The log of session ${id} was replaced while it was read`
      throw new StorageError('not-found', message, { sessionId: id, seq: start })
    })
    // Who stops reading does not wait for it any more.
    segments.catch(() => undefined)
    return segments
  }
  const underWay: Promise<readonly Segment[]>[] = []
  let expected: SessionSeq = from
  for (;;) {
    while (underWay.length < READS_AT_ONCE && next < seams.length) underWay.push(read())
    const segments = await underWay.shift()
    if (segments === undefined) return
    const length = segments.reduce((sum, { text }) => sum + text.length, 0)
    if (length > 0) step = Math.max(1, Math.round((READ_LENGTH * segments.length) / length))
    for (const segment of segments) {
      const end = SessionSeq(segment.firstSeq + segment.count)
      // Merged meanwhile, it may have come before.
      if (end <= expected) continue
      expected = end
      yield segment
    }
  }
}

/** Stored events of a range, in order, read as they are asked for. @throws {StorageError} as `readSegments` does. */
export async function* readStoredPages(
  storage: SessionStorage,
  log: StoredLog,
  range: SeqRange = { from: SessionSeq(0), to: log.nextSeq },
): AsyncGenerator<SessionEvent, void, void> {
  let { from } = range
  for await (const segment of readSegments(storage, log, range)) {
    // One that was merged meanwhile begins with events that came before.
    const events = eventsOf(log.header.id, segment, { from, to: range.to })
    from = SessionSeq(from + events.length)
    yield* events
  }
}

/** Every stored event of a session. @throws {StorageError} `corrupt` when a segment is not what it says. */
export async function readStoredEvents(storage: SessionStorage, log: StoredLog): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const segment of readSegments(storage, log)) {
    const range = { from: SessionSeq(events.length), to: log.nextSeq }
    for (const event of eventsOf(log.header.id, segment, range)) events.push(event)
  }
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
