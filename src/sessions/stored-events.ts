/** Stored events as they are read: parsed, counted, and nothing else. Whether they are a log is the session's to say. */
import type { SessionEvent } from '../core/events.ts'
import { SessionId, SessionSeq } from '../core/ids.ts'
import { type Segment, type SessionRecord, type SessionStorage, StorageError } from '../storage/storage.ts'

/** Every stored event of a session. @throws {StorageError} `corrupt` when a segment is not what it says. */
export async function readStoredEvents(
  storage: SessionStorage,
  record: Pick<SessionRecord, 'header'>,
): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  const { id } = record.header
  for (const segment of await storage.read(SessionId(id)))
    for (const event of parseSegment(id, segment)) events.push(event)
  return events
}

/** Most events of one read. */
const PAGE = 256

/** Every stored event, a page at a time: what was read before is not kept. @throws {StorageError} `corrupt`. */
export async function* readStoredPages(
  storage: SessionStorage,
  { header, nextSeq, logId }: Pick<SessionRecord, 'header' | 'nextSeq' | 'logId'>,
): AsyncGenerator<SessionEvent, void> {
  const id = SessionId(header.id)
  for (let seq = 0; seq < nextSeq; ) {
    const segments = await storage.read(id, SessionSeq(seq), SessionSeq(Math.min(seq + PAGE, nextSeq)))
    // The session may be another one by now: two logs must not be read as one.
    if ((await storage.get(id))?.logId !== logId) {
      throw new StorageError('not-found', `The log of session ${id} was replaced while it was read`, {
        sessionId: id,
        seq,
      })
    }
    for (const segment of segments) {
      // A segment may reach beyond the page on both sides.
      const events = parseSegment(id, segment).slice(seq - segment.firstSeq, nextSeq - segment.firstSeq)
      yield* events
      seq += events.length
    }
  }
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
