/**
 * What a change makes of a stored record. Pure, so that every storage decides alike; the storage only carries it out,
 * inside its own transaction.
 */
import { type ErrorFacts } from '../core/errors.ts'
import { type LogId, SessionSeq, SessionId, isSafeNonNegativeInteger } from '../core/ids.ts'
import {
  type AppendBatch,
  type InheritedRange,
  type NewSession,
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
  const nextSeq = SessionSeq(segment.firstSeq + segment.count)

  if (create) {
    if (stored) throw new StorageError('exists', `Session ${id} is to be created but is stored`, { sessionId: id })
    return newRecord(create, { nextSeq, epoch, updatedAt: time })
  }
  if (!stored) throw notStored(id)
  // The epoch is compared first: a writer that was overtaken has a wrong seq as well, and must learn why.
  checkWriter(stored, epoch, logId)
  if (segment.firstSeq !== stored.nextSeq) {
    const facts = { sessionId: id, seq: segment.firstSeq, expected: stored.nextSeq, actual: segment.firstSeq }
    const message = `Session ${id} goes on at seq ${stored.nextSeq}; the batch starts at ${segment.firstSeq}`
    throw new StorageError('seq-conflict', message, facts)
  }
  return { ...stored, nextSeq, updatedAt: time }
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
    return newRecord(session, { nextSeq, epoch: 1, updatedAt: time })
  }
  if (!stored) throw notStored(id)
  checkWriter(stored, replaces.epoch, replaces.logId)
  const { header, logId, inherited } = session
  const previous = { header: stored.header, logId: stored.logId, inherited: stored.inherited, nextSeq: stored.nextSeq }
  return { ...stored, header, logId, inherited, nextSeq, previous: stored.previous ?? previous }
}

/** The record with one more segment. @throws {StorageError} `invalid-batch` unless it is the next one. */
export function withSegment(record: SessionRecord, { firstSeq, count, text }: Segment): SessionRecord {
  const id = SessionId(record.header.id)
  if (firstSeq !== record.nextSeq) refuse(id, `a segment starts at ${firstSeq} where ${record.nextSeq} should be`)
  if (!isPosition(count) || count === 0) refuse(id, `count must be an integer from 1, not ${count}`)
  if (typeof text !== 'string') refuse(id, 'the text of a segment is not a string')
  return { ...record, nextSeq: SessionSeq(firstSeq + count) }
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
  const rest = withoutPrevious(id, stored, epoch)
  return { ...rest, ...stored?.previous }
}

/** The record with another title, or none for `null`. */
export function retitle(record: SessionRecord, title: string | null): SessionRecord {
  const { title: _old, ...rest } = record
  return title === null ? rest : { ...rest, title }
}

/** Logs nobody needs once `gone` is deleted, or rewritten to one of `remaining`, which are the sessions there are then. */
export function unusedLogs(gone: SessionRecord, remaining: readonly SessionRecord[]): ReadonlySet<LogId> {
  const unused = new Set(logsOf(gone))
  for (const record of remaining) for (const logId of logsOf(record)) unused.delete(logId)
  return unused
}

/** Order of `list`: last changed first; equal times by id, so that every storage answers alike. */
export function byLastChange(a: SessionRecord, b: SessionRecord): number {
  return b.updatedAt - a.updatedAt || (a.header.id < b.header.id ? 1 : -1)
}

/** First seq that is not inherited. */
export function endOfInherited(inherited: readonly InheritedRange[]): SessionSeq {
  return inherited.at(-1)?.to ?? SessionSeq(0)
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

function logsOf({ logId, inherited, previous }: SessionRecord): readonly LogId[] {
  const ranges = [...inherited, ...(previous?.inherited ?? [])]
  return [logId, ...(previous === undefined ? [] : [previous.logId]), ...ranges.map(range => range.logId)]
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

function newRecord(create: NewSession, facts: Pick<SessionRecord, 'nextSeq' | 'epoch' | 'updatedAt'>): SessionRecord {
  const { header, logId, inherited, title } = create
  return { header, logId, inherited, ...facts, ...(title === undefined ? {} : { title }) }
}

function checkBatch(batch: AppendBatch): void {
  const { id, logId, epoch, segment, time, create } = batch
  const { firstSeq, count } = segment
  if (id === '') refuse(id, 'the id is empty')
  if (!isPosition(epoch) || epoch === 0) refuse(id, `epoch must be 1 or more, not ${epoch}`)
  if (!isPosition(firstSeq)) refuse(id, `first seq must be an integer from 0, not ${firstSeq}`)
  if (!isPosition(count)) refuse(id, `count must be an integer from 0, not ${count}`)
  if (!Number.isSafeInteger(firstSeq + count)) refuse(id, `seq ${firstSeq} plus ${count} events is too large`)
  if (typeof segment.text !== 'string') refuse(id, 'the text of the segment is not a string')
  if (!Number.isFinite(time)) refuse(id, `time must be finite, not ${time}`)
  if (create && create.logId !== logId) refuse(id, `the batch names log ${logId}, its session log ${create.logId}`)
  if (create) checkCreate(id, epoch, firstSeq, create)
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
