/** What is asked of one transaction, whatever it is part of. */
import type { SessionSeq } from '../core/ids.ts'
import { type LogId, SessionId, isSafeNonNegativeInteger } from '../core/ids.ts'
import { fromStored, type StoredRecord, type Tx } from './indexeddb-schema.ts'
import { fitSegments, planRead, type ReadPart } from './segments.ts'
import {
  type AppendBatch,
  type NewSession,
  type Segment,
  type SessionRecord,
  StorageError,
  type WholeLog,
} from './storage.ts'
import { inheritedNotStored, logInUse } from './stored-session.ts'

/** Where what belongs to a log is kept: its events, and what comes with them. */
export const LOG_STORES: ('segments' | 'keyframes' | 'journals' | 'blobReferences')[] = [
  'segments',
  'keyframes',
  'journals',
  'blobReferences',
]

/** The record of a session, or null. @throws {StorageError} `corrupt`. */
export async function recordOf(tx: Tx<'readonly' | 'readwrite'>, id: SessionId): Promise<SessionRecord | null> {
  return checkedRecord(await tx.objectStore('sessions').get(id), id)
}

/** The record as it was stored. @throws {StorageError} `corrupt` when it cannot be what this library wrote. */
export function checkedRecord(stored: StoredRecord | undefined, id: SessionId): SessionRecord | null {
  if (!stored) return null
  const { logId, inherited, nextSeq, epoch, mergedTo } = stored
  const fits = typeof logId === 'string' && Array.isArray(inherited) && isSafeNonNegativeInteger(mergedTo)
  if (fits && isSafeNonNegativeInteger(nextSeq) && isSafeNonNegativeInteger(epoch)) return fromStored(stored)
  throw new StorageError('corrupt', `The record of session ${id} is malformed`, { sessionId: id })
}

type Extras = Pick<AppendBatch, 'keyframe' | 'journal'> & Pick<WholeLog, 'blobs'>

/** A record to put, or what to delete. */
type Change = { readonly store: 'keyframes' | 'journals' | 'blobReferences' } & (
  | { readonly put: object }
  | { readonly delete: IDBKeyRange | [LogId, number] }
)

/** What is to be changed for what a batch or a whole log comes with besides its events. */
export function extrasOf(logId: LogId, { keyframe, journal, blobs = [] }: Extras): readonly Change[] {
  const changes: Change[] = []
  if (keyframe !== undefined) {
    const { seq, text, instead } = keyframe
    if (instead !== undefined) changes.push({ store: 'keyframes', delete: [logId, instead] })
    changes.push({ store: 'keyframes', put: { logId, seq, text } })
  }
  if (journal !== undefined) {
    const isNew = journal === 'settled' || journal.part === 0
    if (isNew) changes.push({ store: 'journals', delete: wholeLog(logId) })
    if (journal !== 'settled')
      changes.push({ store: 'journals', put: { logId, part: journal.part, text: journal.text } })
  }
  for (const blobId of blobs) changes.push({ store: 'blobReferences', put: { logId, blobId } })
  return changes
}

/** Asks for all of it. */
export const putExtras = (tx: Tx<'readwrite'>, logId: LogId, extras: Extras): Promise<unknown>[] =>
  extrasOf(logId, extras).map(change => {
    const store = tx.objectStore(change.store)
    return quiet<unknown>('put' in change ? store.put(change.put as never) : store.delete(change.delete))
  })

/** Refuses a new session whose log is taken: by events, by a session that has none yet, or by one that is being stored. */
export async function checkFree(tx: Tx<'readwrite'>, id: SessionId, { logId }: NewSession): Promise<void> {
  const isFree =
    (await tx.objectStore('segments').getKey(wholeLog(logId))) === undefined &&
    (await tx.objectStore('sessions').index('logs').getKey(logId)) === undefined &&
    (await tx.objectStore('drafts').getKey(logId)) === undefined
  if (!isFree) throw logInUse(id, logId)
}

/** Refuses a new session whose inherited events are not there. */
export async function checkInherited(tx: Tx<'readwrite'>, id: SessionId, { inherited }: NewSession): Promise<void> {
  const segments = tx.objectStore('segments')
  // Logs only grow and go as a whole, so the last event stands for all before it.
  for (const range of inherited) {
    const last = await segments.openCursor(IDBKeyRange.bound([range.logId], [range.logId, range.to - 1]), 'prev')
    if (!last || last.value.firstSeq + last.value.count < range.to) throw inheritedNotStored(id, range)
  }
}

/** @throws {StorageError} `unavailable` when what was stored so far has been collected. */
export async function checkDraft(tx: Tx<'readwrite'>, id: SessionId, logId: LogId): Promise<void> {
  if ((await tx.objectStore('drafts').getKey(logId)) !== undefined) return
  const message = `Session ${id} took so long to be stored that what there was of it has been collected`
  throw new StorageError('unavailable', message, { sessionId: id })
}

/** Deletes those logs no session needs any more, with all that was kept with them. */
export async function forgetUnused(tx: Tx<'readwrite'>, logs: readonly LogId[]): Promise<void> {
  const references = tx.objectStore('sessions').index('logs')
  for (const logId of logs) {
    if ((await references.count(logId)) > 0) continue
    for (const store of LOG_STORES) await tx.objectStore(store).delete(wholeLog(logId))
  }
}

/** Segments of a range. @throws {StorageError} `not-found`, `corrupt`. */
export async function readRange(
  tx: Tx<'readonly'>,
  record: SessionRecord,
  from?: SessionSeq,
  to?: SessionSeq,
): Promise<readonly Segment[]> {
  const parts = planRead(record, from, to)
  const found = await Promise.all(parts.map(part => segmentsOf(tx, part)))
  return parts.flatMap((part, index) => fitSegments(SessionId(record.header.id), part, found[index] ?? []))
}

async function segmentsOf(tx: Tx<'readonly'>, { logId, from, to }: ReadPart): Promise<readonly Segment[]> {
  const segments = tx.objectStore('segments')
  // The segment that holds `from` is the last one starting at or before it. Mostly one starts right there.
  const [spanning, stored] = await Promise.all([
    segments.openKeyCursor(IDBKeyRange.bound([logId], [logId, from]), 'prev'),
    segments.getAll(IDBKeyRange.bound([logId, from], [logId, to], false, true)),
  ])
  const first = spanning !== null && spanning.key[1] < from ? await segments.get(spanning.key) : undefined
  return [...(first === undefined ? [] : [first]), ...stored].map(({ firstSeq, count, text }) => ({
    firstSeq,
    count,
    text,
  }))
}

/** All keys of a log: an array sorts after its own prefix, and after every number or text comes `[]`. */
export function wholeLog(logId: LogId): IDBKeyRange {
  return IDBKeyRange.bound([logId], [logId, []])
}

/** A request that is awaited later, or never when the next one throws: the transaction fails with it all the same. */
export function quiet<Result>(request: Promise<Result>): Promise<Result> {
  request.catch(() => {})
  return request
}
