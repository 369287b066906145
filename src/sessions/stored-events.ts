/** Stored events as they are read: parsed, counted, and nothing else. Whether they are a log is the session's to say. */
import type { SessionEvent } from '../core/events.ts'
import { SessionId } from '../core/ids.ts'
import { type SessionRecord, type SessionStorage, StorageError } from '../storage/storage.ts'

/** Every stored event of a session. @throws {StorageError} `corrupt` when a segment is not what it says. */
export async function readStoredEvents(
  storage: SessionStorage,
  record: Pick<SessionRecord, 'header'>,
): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  const sessionId = record.header.id
  for (const segment of await storage.read(SessionId(sessionId))) {
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
    for (const event of parsed) events.push(event as SessionEvent)
  }
  return events
}
