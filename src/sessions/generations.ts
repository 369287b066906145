/**
 * The stored log of a session, whatever version it is of. An older one is migrated in memory to be read, and in storage to
 * be written: the new log takes the old one's place in one step, and the old one stays until the new one was read back
 * (SPEC F16).
 */
import { SessionError, type SessionErrorCode } from '../core/errors.ts'
import type { SessionEvent, SessionHeader } from '../core/events.ts'
import { type BlobId, LogId, SessionId, SessionSeq } from '../core/ids.ts'
import { equalJson, jsonText } from '../core/json.ts'
import { Session } from '../core/session.ts'
import type { SessionOptions } from '../core/session-options.ts'
import { LARGE_PAGE } from '../storage/pages.ts'
import { type Segment, type SessionRecord, type SessionStorage, StorageError } from '../storage/storage.ts'
import { blobsIn } from './blobs.ts'
import { isOtherVersion, readStoredEvents, readStoredPages, type StoredLog } from './stored-events.ts'

/** A log in the current version, ready for a session. */
export type CurrentLog = {
  readonly header: SessionHeader
  readonly events: readonly SessionEvent[]
  /** Where it is known apart from the events. */
  readonly inheritedEventCount?: number
}

/**
 * The stored log in the current version. What is stored stays as it is.
 *
 * @throws {StorageError} `corrupt`. @throws {FormatError} when it cannot be migrated, `newer-version` among others.
 */
export async function readCurrentLog(
  storage: SessionStorage,
  record: StoredLog,
  purpose: 'read' | 'store' = 'read',
): Promise<CurrentLog> {
  if (!isOtherVersion(record)) return { header: record.header, events: await readStoredEvents(storage, record) }
  const { newLogReader } = await import('../files/read-log.ts')
  const reader = newLogReader({ purpose })
  // The header first: a newer version is refused by name, before any event is read.
  reader.line(JSON.stringify({ type: 'session', delegationDepth: 0, ...record.header }))
  for (const event of await readStoredEvents(storage, record)) reader.line(jsonText(event))
  const { header, events, inheritedEventCount, repairs } = reader.end()
  // A file may be torn; what a transaction stored is whole, and nothing of it may be left out.
  for (const { seq, message } of repairs) {
    throw new StorageError('corrupt', `The stored log of session ${header.id} is damaged. ${message}`, {
      sessionId: header.id,
      seq,
    })
  }
  return { header, events, ...(inheritedEventCount === undefined ? {} : { inheritedEventCount }) }
}

/** The stored log in the current version, read as it is asked for, unless it has to be migrated. */
export async function readStoredLog(
  storage: SessionStorage,
  record: SessionRecord,
): Promise<{ readonly header: SessionHeader; readonly events: AsyncIterable<SessionEvent> }> {
  if (!isOtherVersion(record)) return { header: record.header, events: readStoredPages(storage, record) }
  const { header, events } = await readCurrentLog(storage, record)
  return { header, events: iterate(events) }
}

async function* iterate(events: readonly SessionEvent[]): AsyncGenerator<SessionEvent> {
  yield* events
}

type Parts = {
  readonly storage: SessionStorage
  readonly newId: () => string
  readonly options: SessionOptions
}

/**
 * The record of a claimed session whose stored log is of the current version and is known to be whole: an older one is
 * migrated first.
 *
 * @throws {FormatError}, {SessionError} when the old log cannot be migrated: it stays as it is.
 * @throws {StorageError} when the new one cannot be stored, or `corrupt` when it reads back as something else: then the
 * old one is there again.
 */
export async function toCurrentGeneration(claimed: SessionRecord, parts: Parts): Promise<SessionRecord> {
  const { storage, newId, options } = parts
  const id = SessionId(claimed.header.id)
  let record = claimed
  if (record.previous !== undefined) {
    // It was replaced, and then nobody got as far as to read it back.
    if (await isWhole(storage, record, options)) return forget(storage, record)
    record = await storage.restorePrevious(id, record.epoch)
  }
  if (!isOtherVersion(record)) return record

  const log = await readCurrentLog(storage, record, 'store')
  // Admission first: what could not be opened later must not be written now.
  Session.fromRestore({ ...options, ...log, readOnly: true })
  const blobs = new Set<BlobId>()
  const replaced = await storage.storeLog({
    session: { header: log.header, logId: LogId(newId()), inherited: [] },
    segments: segmentsOf(log.events, blobs),
    blobs,
    time: options.now(),
    replaces: record,
  })
  if (await readsBackAs(storage, replaced, log)) return forget(storage, replaced)
  await storage.restorePrevious(id, replaced.epoch)
  const message = `The migrated log of session ${id} reads back as something else; the old one is there as it was`
  throw new StorageError('corrupt', message, { sessionId: id })
}

async function forget(storage: SessionStorage, record: SessionRecord): Promise<SessionRecord> {
  const { previous: _previous, ...rest } = record
  await storage.forgetPrevious(SessionId(record.header.id), record.epoch)
  return rest
}

/** What says that the program lacks something, not the log. */
const LACKS: ReadonlySet<SessionErrorCode> = new Set([
  'interpreter-missing',
  'unknown-type',
  'invariant',
  'registration',
])

async function isWhole(storage: SessionStorage, record: SessionRecord, options: SessionOptions): Promise<boolean> {
  try {
    Session.fromRestore({ ...options, ...(await readCurrentLog(storage, record)), readOnly: true })
    return true
  } catch (error) {
    // What cannot be read just now, or not by this program, may be whole all the same: then both stay.
    if (error instanceof StorageError && error.code === 'corrupt') return false
    if (error instanceof SessionError && !LACKS.has(error.code)) return false
    throw error
  }
}

async function readsBackAs(storage: SessionStorage, record: SessionRecord, log: CurrentLog): Promise<boolean> {
  try {
    const events = await readStoredEvents(storage, record)
    return equalJson(record.header, log.header) && equalJson(events, log.events)
  } catch (error) {
    if (error instanceof StorageError && error.code === 'corrupt') return false
    throw error
  }
}

/** Characters of one segment, about: a page that nobody has to merge. */
const PAGE_LENGTH = LARGE_PAGE - 10_000

/** A log as segments, made one after the other as they are asked for; `blobs` gets what they refer to. */
export function* segmentsOf(events: readonly SessionEvent[], blobs: Set<BlobId>): Generator<Segment> {
  let texts: string[] = []
  let size = 0
  let firstSeq = 0
  for (let seq = 0; seq < events.length; seq += 1) {
    const text = jsonText(events[seq])
    texts.push(text)
    for (const blob of blobsIn(text)) blobs.add(blob)
    size += text.length
    if (size < PAGE_LENGTH && seq < events.length - 1) continue
    yield { firstSeq: SessionSeq(firstSeq), count: texts.length, text: `[${texts.join(',')}]` }
    firstSeq = seq + 1
    texts = []
    size = 0
  }
}
