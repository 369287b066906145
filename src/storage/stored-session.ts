/**
 * What a change makes of a stored record. Pure, so that every storage decides alike; the storage only carries it out,
 * inside its own transaction.
 */
import { type ErrorFacts } from '../core/errors.ts'
import { type LogId, SessionSeq, SessionId, isSafeNonNegativeInteger } from '../core/ids.ts'
import {
  type AppendBatch,
  type Generation,
  type InheritedRange,
  type JournalPart,
  type ListPosition,
  type NewKeyframe,
  type NewSession,
  type RecordChange,
  type Segment,
  type SessionRecord,
  StorageError,
  type WholeLog,
} from './storage.ts'

/**
 * Works out the record a batch leaves behind, or refuses the batch. Changes nothing.
 *
 * @throws {StorageError} `invalid-batch`, `exists`, `not-found`, `stale-epoch`, `seq-conflict`.
 */
export function planAppend(stored: SessionRecord | null, batch: AppendBatch): SessionRecord {
  checkBatch(batch)
  const { id, logId, epoch, segment, time, create } = batch
  const segments = segmentsIn(batch)
  const nextSeq = segments.reduce((end, { count }) => SessionSeq(end + count), segment.firstSeq)
  const length = segments.reduce((sum, { text }) => sum + text.length, 0)

  if (create) {
    if (stored) throw new StorageError('exists', `Session ${id} is to be created but is stored`, { sessionId: id })
    return newRecord(create, { nextSeq, epoch, updatedAt: time ?? create.header.createdAt, size: length })
  }
  if (!stored) throw notStored(id)
  // The epoch is compared first: a writer that was overtaken has a wrong seq as well, and must learn why.
  checkWriter(stored, epoch, logId)
  if (segment.firstSeq !== stored.nextSeq) {
    const facts = { sessionId: id, seq: segment.firstSeq, expected: stored.nextSeq, actual: segment.firstSeq }
    const message = `Session ${id} goes on at seq ${stored.nextSeq}; the batch starts at ${segment.firstSeq}`
    throw new StorageError('seq-conflict', message, facts)
  }
  const size = stored.size === undefined ? {} : { size: stored.size + length }
  const updatedAt = time === null || segments.length === 0 ? stored.updatedAt : time
  return { ...stored, nextSeq, updatedAt, ...size }
}

/** The segments of a batch that hold events. */
export function segmentsIn({ segment, more = [] }: Pick<AppendBatch, 'segment' | 'more'>): readonly Segment[] {
  return segment.count === 0 ? more : [segment, ...more]
}

/**
 * Works out the record a whole log leaves behind, or refuses it; `nextSeq` is not known before its segments are. Changes
 * nothing.
 *
 * @throws {StorageError} `invalid-batch`, `exists`, `not-found`, `stale-epoch`.
 */
export function planLog(stored: SessionRecord | null, { session, time, replaces }: WholeLog): SessionRecord {
  const id = SessionId(session.header.id)
  const nextSeq = endOfInherited(session.inherited)
  if (id === '') refuse(id, 'the id is empty')
  checkCreate(id, 1, nextSeq, session)
  if (!Number.isFinite(time)) refuse(id, `time must be finite, not ${time}`)
  if (replaces === undefined) {
    if (stored) throw new StorageError('exists', `Session ${id} is to be created but is stored`, { sessionId: id })
    return newRecord(session, { nextSeq, epoch: 1, updatedAt: time, size: 0 })
  }
  if (!stored) throw notStored(id)
  checkWriter(stored, replaces.epoch, replaces.logId)
  const { header, logId, inherited } = session
  const previous = stored.previous ?? generationOf(stored)
  return { ...stored, header, logId, inherited, nextSeq, mergedTo: nextSeq, size: 0, previous }
}

function generationOf({ header, logId, inherited, nextSeq, size, mergedTo }: SessionRecord): Generation {
  return { header, logId, inherited, nextSeq, mergedTo, ...(size === undefined ? {} : { size }) }
}

/** The record with one more segment. @throws {StorageError} `invalid-batch` unless it is the next one. */
export function withSegment(record: SessionRecord, { firstSeq, count, text }: Segment): SessionRecord {
  const id = SessionId(record.header.id)
  if (firstSeq !== record.nextSeq) refuse(id, `a segment starts at ${firstSeq} where ${record.nextSeq} should be`)
  if (!isPosition(count) || count === 0) refuse(id, `count must be an integer from 1, not ${count}`)
  if (typeof text !== 'string') refuse(id, 'the text of a segment is not a string')
  const nextSeq = SessionSeq(firstSeq + count)
  return { ...record, nextSeq, mergedTo: nextSeq, size: (record.size ?? 0) + text.length }
}

/** @throws {StorageError} `invalid-batch` when what a log comes with does not fit it. */
export function checkWholeLog({ header, nextSeq }: SessionRecord, { keyframe }: WholeLog): void {
  if (keyframe !== undefined) checkKeyframe(SessionId(header.id), keyframe, nextSeq)
}

/**
 * The record without what its log replaced.
 *
 * @throws {StorageError} `not-found`, `stale-epoch`.
 */
export function withoutPrevious(id: SessionId, stored: SessionRecord | null, epoch: number): SessionRecord {
  if (!stored) throw notStored(id)
  checkWriter(stored, epoch, stored.logId)
  const { previous: _previous, ...rest } = stored
  return rest
}

/**
 * The record with what its log replaced back in its place.
 *
 * @throws {StorageError} `not-found`, `stale-epoch`.
 */
export function withPreviousBack(id: SessionId, stored: SessionRecord | null, epoch: number): SessionRecord {
  const { size: _size, ...rest } = withoutPrevious(id, stored, epoch)
  const { previous } = stored ?? {}
  return previous === undefined ? (stored as SessionRecord) : { ...rest, ...previous }
}

/**
 * The record with what is said of it changed; the same one when it says so already.
 *
 * @throws {StorageError} `invalid-batch` for a time that is none.
 */
export function changed(stored: SessionRecord, change: RecordChange): SessionRecord {
  const { title: oldTitle, pinned: wasPinned, deletedAt: wasDeleted, ...rest } = stored
  const title = change.title === undefined ? oldTitle : (change.title ?? undefined)
  const pinned = (change.pinned ?? wasPinned ?? false) || undefined
  const deletedAt = change.deletedAt === undefined ? wasDeleted : (change.deletedAt ?? undefined)
  if (deletedAt !== undefined && !Number.isFinite(deletedAt)) {
    refuse(SessionId(rest.header.id), `the time of the deletion must be finite, not ${deletedAt}`)
  }
  if (title === oldTitle && pinned === wasPinned && deletedAt === wasDeleted) return stored
  return {
    ...rest,
    epoch: deletedAt !== undefined && wasDeleted === undefined ? rest.epoch + 1 : rest.epoch,
    ...(title === undefined ? {} : { title }),
    ...(pinned === undefined ? {} : { pinned }),
    ...(deletedAt === undefined ? {} : { deletedAt }),
  }
}

/**
 * The record of a session that may be read and written, with a raised epoch.
 *
 * @throws {StorageError} `deleted`.
 */
export function claimed(stored: SessionRecord): SessionRecord {
  return { ...notDeleted(stored), epoch: stored.epoch + 1 }
}

/** The record, unless its session was deleted. @throws {StorageError} `deleted`. */
export function notDeleted(stored: SessionRecord): SessionRecord {
  const { id } = stored.header
  if (stored.deletedAt === undefined) return stored
  throw new StorageError('deleted', `Session ${id} was deleted; bring it back, or delete it for good`, {
    sessionId: id,
  })
}

/** The record with more of its segments merged. @throws {StorageError} `not-found`, `stale-epoch`. */
export function toMerge(id: SessionId, stored: SessionRecord | null, epoch: number): SessionRecord {
  if (!stored) throw notStored(id)
  checkWriter(stored, epoch, stored.logId)
  return stored
}

/** All logs a session needs: they are kept as long as one does. */
export function logsOf({ logId, inherited, previous }: Omit<SessionRecord, 'epoch' | 'updatedAt'>): readonly LogId[] {
  const ranges = [...inherited, ...(previous?.inherited ?? [])]
  return [...new Set([logId, ...(previous === undefined ? [] : [previous.logId]), ...ranges.map(range => range.logId)])]
}

/** Where a session stands in a list, the highest key first; as IndexedDB compares arrays. */
export type ListKey = [rank: number, time: number, id: string]

/** Key of a session: what is pinned ranks before what is not, what is deleted stands apart. */
export function listKey({ pinned, deletedAt, updatedAt, id }: ListPosition): ListKey {
  return deletedAt === undefined ? [pinned === true ? 1 : 0, updatedAt, id] : [DELETED, deletedAt, id]
}

/** Rank of what is deleted; all others have higher ones. */
export const DELETED = -1

/** What a list starts behind, and what its page is made of. */
export function positionOf({ header, updatedAt, pinned, deletedAt }: SessionRecord): ListPosition {
  return {
    id: SessionId(header.id),
    updatedAt,
    ...(pinned === undefined ? {} : { pinned }),
    ...(deletedAt === undefined ? {} : { deletedAt }),
  }
}

/** Below zero when `a` is the lower key. */
export function compareKeys(a: ListKey, b: ListKey): number {
  return a[0] - b[0] || a[1] - b[1] || (a[2] < b[2] ? -1 : Number(a[2] > b[2]))
}

/** First seq that is not inherited. */
export function endOfInherited(inherited: readonly InheritedRange[]): SessionSeq {
  return inherited.at(-1)?.to ?? SessionSeq(0)
}

/** The ranges that are the first `count` events of a stored session. */
export function inheritedRanges({ inherited, logId, nextSeq }: SessionRecord, count: number): InheritedRange[] {
  const own: InheritedRange = { logId, from: endOfInherited(inherited), to: nextSeq }
  return [...inherited, own]
    .filter(({ from, to }) => from < to && from < count)
    .map(range => ({ ...range, to: SessionSeq(Math.min(range.to, count)) }))
}

/** `not-found` for a session. */
export function notStored(id: SessionId): StorageError {
  return new StorageError('not-found', `Session ${id} is not stored`, { sessionId: id })
}

/** `exists` for a log a new session may not write to, since it would overwrite events others may inherit. */
export function logInUse(id: SessionId, logId: LogId): StorageError {
  return new StorageError('exists', `Session ${id} is to be created on log ${logId}, which already holds events`, {
    sessionId: id,
  })
}

/** `not-found` for events a new session wants to inherit: deleted meanwhile, or not flushed yet. */
export function inheritedNotStored(id: SessionId, range: InheritedRange): StorageError {
  const message = `Session ${id} inherits events ${range.from} to ${range.to} of log ${range.logId}, which are not stored`
  return new StorageError('not-found', message, { sessionId: id, seq: range.to - 1 })
}

/** @throws {StorageError} `stale-epoch` unless the writer is the one who claimed the session last. */
function checkWriter(stored: SessionRecord, epoch: number, logId: LogId): void {
  const { id } = stored.header
  if (epoch !== stored.epoch) {
    const facts = { sessionId: id, expected: stored.epoch, actual: epoch }
    throw new StorageError('stale-epoch', `Session ${id} has epoch ${stored.epoch}; the writer has ${epoch}`, facts)
  }
  if (logId !== stored.logId) {
    throw new StorageError('stale-epoch', `Session ${id} was created anew since this writer opened it`, {
      sessionId: id,
      expected: stored.logId,
      actual: logId,
    })
  }
}

type NewFacts = Pick<SessionRecord, 'nextSeq' | 'epoch' | 'updatedAt' | 'size'>

function newRecord(create: NewSession, facts: NewFacts): SessionRecord {
  const { header, logId, inherited, title } = create
  const mergedTo = endOfInherited(inherited)
  return { header, logId, inherited, ...facts, mergedTo, ...(title === undefined ? {} : { title }) }
}

function checkBatch(batch: AppendBatch): void {
  const { id, logId, epoch, segment, more = [], time, create, keyframe, journal } = batch
  const { firstSeq, count } = segment
  if (id === '') refuse(id, 'the id is empty')
  if (!isPosition(epoch) || epoch === 0) refuse(id, `epoch must be 1 or more, not ${epoch}`)
  if (!isPosition(firstSeq)) refuse(id, `first seq must be an integer from 0, not ${firstSeq}`)
  if (!isPosition(count)) refuse(id, `count must be an integer from 0, not ${count}`)
  let end: number = firstSeq
  for (const each of [segment, ...more]) {
    if (each !== segment && (!isPosition(each.count) || each.count === 0))
      refuse(id, `count must be an integer from 1, not ${each.count}`)
    if (each.firstSeq !== end) refuse(id, `a segment starts at ${each.firstSeq} where ${end} should be`)
    if (!Number.isSafeInteger(end + each.count)) refuse(id, `seq ${end} plus ${each.count} events is too large`)
    if (typeof each.text !== 'string') refuse(id, 'the text of the segment is not a string')
    end += each.count
  }
  if (time !== null && !Number.isFinite(time)) refuse(id, `time must be finite, not ${time}`)
  if (keyframe !== undefined) checkKeyframe(id, keyframe, end)
  if (journal !== undefined && journal !== 'settled') checkJournal(id, journal)
  if (create && create.logId !== logId) refuse(id, `the batch names log ${logId}, its session log ${create.logId}`)
  if (create) checkCreate(id, epoch, firstSeq, create)
}

function checkKeyframe(id: SessionId, { seq, text }: NewKeyframe, stored: number): void {
  if (!isPosition(seq) || seq > stored) refuse(id, `a keyframe of ${seq} events comes when ${stored} are stored`)
  if (typeof text !== 'string') refuse(id, 'the text of the keyframe is not a string')
}

function checkJournal(id: SessionId, { part, text }: JournalPart): void {
  if (!isPosition(part)) refuse(id, `part of a journal must be an integer from 0, not ${part}`)
  if (typeof text !== 'string') refuse(id, 'the text of the journal is not a string')
}

function checkCreate(id: SessionId, epoch: number, firstSeq: SessionSeq, create: NewSession): void {
  if (create.header.id !== id) refuse(id, `the header names session ${create.header.id}`)
  if (create.logId === '') refuse(id, 'the log id is empty')
  if (epoch !== 1) refuse(id, `a new session has epoch 1, not ${epoch}`, { expected: 1, actual: epoch })
  let expected = 0
  for (const { logId, from, to } of create.inherited) {
    if (logId === create.logId) refuse(id, 'a session cannot inherit from its own log')
    if (from !== expected) refuse(id, `inherited range starts at ${from}, not ${expected}`, { expected, actual: from })
    if (!isPosition(to) || to <= from) refuse(id, `inherited range ${from} to ${to} is empty or malformed`)
    expected = to
  }
  if (firstSeq !== expected) {
    refuse(id, `own events start at ${expected}; the batch starts at ${firstSeq}`, { expected, actual: firstSeq })
  }
}

/** The check without its narrowing, so that messages can still print what failed it. */
const isPosition = (value: number): boolean => isSafeNonNegativeInteger(value)

function refuse(id: SessionId, why: string, facts: ErrorFacts = {}): never {
  throw new StorageError('invalid-batch', `Batch for session ${id}: ${why}`, { sessionId: id, ...facts })
}
