/**
 * What a durable home of session logs promises. It knows order, atomicity and ownership; it does not know what events
 * mean. Every implementation passes the suite in `conformance.ts` (SPEC W1–W9).
 */
import { PalimpsestError } from '../core/errors.ts'
import type { SessionHeader } from '../core/events.ts'
import type { LogId, SessionId, SessionSeq } from '../core/ids.ts'

/** Events `from` (inclusive) to `to` (exclusive) of another log, shared instead of copied. */
export type InheritedRange = { readonly logId: LogId; readonly from: SessionSeq; readonly to: SessionSeq }

/** Where the events of a session are, and what its header says of them. */
export type Generation = Pick<SessionRecord, 'header' | 'logId' | 'inherited' | 'nextSeq'>

/** The record kept for each session: its header, where its events are, and who may write next. */
export type SessionRecord = {
  /** Its version may be an older one: then the events are of that version too, and are migrated when they are read. */
  readonly header: SessionHeader
  /** The log this session's own events are stored under. */
  readonly logId: LogId
  /** Ranges of other logs that come before the own events; in order, without gaps, starting at 0. Empty unless a fork. */
  readonly inherited: readonly InheritedRange[]
  /** Seq the next stored event must have. */
  readonly nextSeq: SessionSeq
  /** Raised by each `claim`. A writer with an older epoch is refused. */
  readonly epoch: number
  /** Epoch ms of the last stored change. */
  readonly updatedAt: number
  readonly title?: string
  /** What was stored before the log was replaced, kept until the new one is known to be whole. */
  readonly previous?: Generation
}

/** What the creator of a session decides; storage adds `nextSeq`, `epoch` and `updatedAt`. */
export type NewSession = Pick<SessionRecord, 'header' | 'logId' | 'inherited'> & { readonly title?: string }

/** Consecutive events as one JSON text: an array of `count` events, the first of which has seq `firstSeq`. */
export type Segment = { readonly firstSeq: SessionSeq; readonly count: number; readonly text: string }

export type Durability = 'relaxed' | 'strict'

/** One atomic write. */
export type AppendBatch = {
  readonly id: SessionId
  /** The session's own log. A session of the same id that was created anew has another one. */
  readonly logId: LogId
  /** The epoch `claim` or the creating batch gave the writer. */
  readonly epoch: number
  /** Must equal the stored `nextSeq`; `count` may be 0 to make earlier relaxed writes strict. */
  readonly segment: Segment
  readonly durability: Durability
  /** Epoch ms, stored as `updatedAt`. */
  readonly time: number
  /** Creates the session with this batch; then `epoch` is 1 and the segment starts after the inherited ranges. */
  readonly create?: NewSession
}

/** A whole log, stored at once: that of a new session, or one that takes the place of a stored session's. */
export type WholeLog = {
  /** `logId` must be a new one. */
  readonly session: NewSession
  /** All own events, in order. Asked for one after the other, so that not all have to be in memory. */
  readonly segments: Iterable<Segment>
  /** Epoch ms, stored as `updatedAt` of a new session; one whose log is replaced keeps its own. */
  readonly time: number
  /** The stored session whose log is replaced, as `claim` answered. What it had becomes `previous`. */
  readonly replaces?: Pick<SessionRecord, 'epoch' | 'logId'>
}

export interface SessionStorage {
  /** What kind of home this is, for status texts: `memory` does not survive the page. */
  readonly kind: string

  /** Which home of its kind this is, such as a database's name: the same for all that share its sessions. */
  readonly name: string

  /** Records of all stored sessions, last changed first. Reads no events. */
  list(): Promise<readonly SessionRecord[]>

  /** The record of a session, or `null` when it was never stored. */
  get(id: SessionId): Promise<SessionRecord | null>

  /**
   * Takes the session over for writing: raises its epoch and returns the new record, or `null` when it was never
   * stored. Every writer that claimed it earlier is refused from now on.
   */
  claim(id: SessionId): Promise<SessionRecord | null>

  /**
   * Stores a batch, whole or not at all. Resolves when its transaction is complete, with `strict` durability when
   * asked for.
   *
   * @throws {StorageError} `seq-conflict` when the batch does not start at the stored next seq.
   * @throws {StorageError} `stale-epoch` when another writer has claimed the session since, or created it anew.
   * @throws {StorageError} `exists` / `not-found` when `create` does not fit what is stored.
   * @throws {StorageError} `quota-exceeded`, `blocked`, `newer-database`, `unavailable` when the platform refuses.
   */
  append(batch: AppendBatch): Promise<void>

  /**
   * Stores a whole log in one strict transaction, whole or not at all, and answers the record. Nobody sees a part of it.
   *
   * @throws {StorageError} `exists` / `not-found` when `replaces` does not fit what is stored, `stale-epoch` when another
   * writer has claimed the session since, `invalid-batch` for segments that do not follow each other, and as `append` does
   * when the platform refuses. Whatever `segments` throws is thrown, and nothing is stored.
   */
  storeLog(log: WholeLog): Promise<SessionRecord>

  /**
   * Forgets the log that was replaced, unless another session inherits from it. A session without one is not an error.
   *
   * @throws {StorageError} `not-found`, `stale-epoch`.
   */
  forgetPrevious(id: SessionId, epoch: number): Promise<void>

  /**
   * Brings the log that was replaced back, and forgets the one that took its place. Answers the record; a session without
   * a replaced log is left as it is.
   *
   * @throws {StorageError} `not-found`, `stale-epoch`.
   */
  restorePrevious(id: SessionId, epoch: number): Promise<SessionRecord>

  /**
   * Segments that hold the events `from` (inclusive) to `to` (exclusive, default: all), inherited ones included, in
   * order. The first and last segment may reach beyond the range; callers cut. The ranges asked for must be stored.
   *
   * @throws {StorageError} `not-found` for an unknown session.
   * @throws {StorageError} `not-found` too for a range that is not stored, `corrupt` when segments leave a gap.
   */
  read(id: SessionId, from?: SessionSeq, to?: SessionSeq): Promise<readonly Segment[]>

  /** Changes the title; `null` removes it. Does not touch the epoch. @throws {StorageError} `not-found`. */
  rename(id: SessionId, title: string | null): Promise<void>

  /** Forgets a session, and its events unless another session inherits them. Unknown ids are not an error. */
  delete(id: SessionId): Promise<void>

  /** Releases the connection; later calls reject with `closed`. */
  close(): Promise<void>
}

export type StorageErrorCode =
  /** The batch does not start at the stored next seq: someone else wrote, or a batch was skipped. */
  | 'seq-conflict'
  /** Another writer has claimed the session; this one must stop. */
  | 'stale-epoch'
  /** A session to be created is already stored. */
  | 'exists'
  /** The session is not stored. */
  | 'not-found'
  /** The batch contradicts itself: its count, first seq or ranges do not fit. */
  | 'invalid-batch'
  /** Stored data does not fit together; nothing was changed. */
  | 'corrupt'
  /** The platform refuses more data. The events are kept in memory and can be flushed again. */
  | 'quota-exceeded'
  /** Another tab holds an older database open and does not let go. */
  | 'blocked'
  /** The database was written by a newer build. Nothing was changed. */
  | 'newer-database'
  /** The platform has no usable storage here, or the connection was lost; trying again may help. */
  | 'unavailable'
  /** The storage, or the session that wrote to it, was closed. */
  | 'closed'
  /** The session is open for writing somewhere else (SPEC O1). */
  | 'in-use'

/** The storage could not do what was asked; nothing was written. */
export class StorageError extends PalimpsestError<StorageErrorCode> {
  override readonly name = 'StorageError'
}
