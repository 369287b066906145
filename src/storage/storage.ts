/**
 * What a durable home of session logs promises. It knows order, atomicity and ownership; it does not know what events
 * mean. Every implementation passes the suite in `conformance.ts` (SPEC W1–W9).
 */
import type { SessionHeader } from '../core/events.ts'
import type { BlobId, LogId, SessionId, SessionSeq } from '../core/ids.ts'
export { StorageError, type StorageErrorCode } from './storage-error.ts'

/** Events `from` (inclusive) to `to` (exclusive) of another log, shared instead of copied. */
export type InheritedRange = { readonly logId: LogId; readonly from: SessionSeq; readonly to: SessionSeq }

/** Where the events of a session are, and what its header says of them. */
export type Generation = Pick<SessionRecord, 'header' | 'logId' | 'inherited' | 'nextSeq' | 'size' | 'mergedTo'>

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
  /** Epoch ms of the last stored change that somebody made; what opening adds by itself is none. */
  readonly updatedAt: number
  /** Length of the JSON text of the own events, UTF-16 units; absent when an older build stored some of them. */
  readonly size?: number
  /** Own segments before this seq are pages already. */
  readonly mergedTo: SessionSeq
  readonly title?: string
  /** Listed before all that are not. */
  readonly pinned?: true
  /** Epoch ms. It is deleted, and can be brought back until somebody deletes it for good. */
  readonly deletedAt?: number
  /** What was stored before the log was replaced, kept until the new one is known to be whole. */
  readonly previous?: Generation
}

/** What the creator of a session decides; storage adds the rest. */
export type NewSession = Pick<SessionRecord, 'header' | 'logId' | 'inherited'> & { readonly title?: string }

/** Consecutive events as one JSON text: an array of `count` events, the first of which has seq `firstSeq`. */
export type Segment = { readonly firstSeq: SessionSeq; readonly count: number; readonly text: string }

export type Durability = 'relaxed' | 'strict'

/** Events `from` (inclusive) to `to` (exclusive) of a session. */
export type SeqRange = { readonly from: SessionSeq; readonly to: SessionSeq }

/** A keyframe as JSON text. What it says is not the storage's business. */
export type NewKeyframe = {
  /** How many events it stands for; all of them are stored, at the latest by the batch it comes with. */
  readonly seq: SessionSeq
  readonly text: string
  /** An earlier one of the same log that is not needed beside it. */
  readonly instead?: SessionSeq
}

/** A keyframe as it is stored: one of an inherited log stands for the beginning of this session just as well. */
export type StoredKeyframe = Omit<NewKeyframe, 'instead'> & { readonly logId: LogId }

/** A piece of the journal of a model call that is running: what of its answer is not in the log yet, as text. */
export type JournalPart = {
  /** 0, 1, 2, …; the first one takes the place of whatever the journal held. */
  readonly part: number
  readonly text: string
}

/** One atomic write. */
export type AppendBatch = {
  readonly id: SessionId
  /** The session's own log. A session of the same id that was created anew has another one. */
  readonly logId: LogId
  /** The epoch `claim` or the creating batch gave the writer. */
  readonly epoch: number
  /** Must equal the stored `nextSeq`; `count` may be 0 to make earlier relaxed writes strict, or to write what follows. */
  readonly segment: Segment
  /** What follows it, when all of it in one value would be too large. */
  readonly more?: readonly Segment[]
  readonly durability: Durability
  /** Epoch ms, stored as `updatedAt` when there are events; null leaves that as it is. */
  readonly time: number | null
  readonly keyframe?: NewKeyframe
  /** Goes on with the journal, or forgets it: the call it was kept for has been settled. */
  readonly journal?: JournalPart | 'settled'
  /** Blobs the events of the segment refer to: they are kept as long as the log is. */
  readonly blobs?: readonly BlobId[]
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
  readonly keyframe?: NewKeyframe
  /** Blobs its events refer to; asked for after the segments. */
  readonly blobs?: Iterable<BlobId>
  /** The stored session whose log is replaced, as `claim` answered. What it had becomes `previous`. */
  readonly replaces?: Pick<SessionRecord, 'epoch' | 'logId'>
}

/** Where a session stands in a list. */
export type ListPosition = Pick<SessionRecord, 'updatedAt' | 'pinned' | 'deletedAt'> & { readonly id: SessionId }

export type ListOptions = {
  readonly limit?: number
  readonly after?: ListPosition
  /** Those that are deleted and can be brought back, last deleted first, instead of all others. */
  readonly deleted?: boolean
}

/** What can be said of a session; `null` takes it back. */
export type RecordChange = {
  readonly title?: string | null
  readonly pinned?: boolean
  readonly deletedAt?: number | null
}

export interface SessionStorage {
  /** What kind of home this is, for status texts: `memory` does not survive the page. */
  readonly kind: string

  /** Which home of its kind this is, such as a database's name: the same for all that share its sessions. */
  readonly name: string

  /**
   * Records of stored sessions: pinned ones first, then last changed first, then by id; all that come after `after`, at
   * most `limit`. Those that are deleted only, or not at all. Reads no events.
   */
  list(options?: ListOptions): Promise<readonly SessionRecord[]>

  /** The record of a session, or `null` when it was never stored. */
  get(id: SessionId): Promise<SessionRecord | null>

  /**
   * Takes the session over for writing: raises its epoch and returns the new record, or `null` when it was never
   * stored. Every writer that claimed it earlier is refused from now on.
   *
   * @throws {StorageError} `deleted`.
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
   * Stores a whole log, whole or not at all, and answers the record. Nobody sees a part of it, and others can write
   * meanwhile. What is left of a log whose storing was cut off is forgotten by `collect`.
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

  /**
   * Where a range can be cut so that no segment is read twice: its beginning, then wherever another segment begins. None
   * for an empty range. @throws {StorageError} `not-found` as `read` does.
   */
  seams(id: SessionId, from?: SessionSeq, to?: SessionSeq): Promise<readonly SessionSeq[]>

  /** What `read` answers for each of the ranges, in one transaction. @throws {StorageError} as `read` does. */
  readRanges(id: SessionId, ranges: readonly SeqRange[]): Promise<readonly (readonly Segment[])[]>

  /**
   * The last keyframe that stands for at most `atMost` events (default: all), of the own log or, as far as they are
   * inherited, of others; `null` when there is none.
   *
   * @throws {StorageError} `not-found` for an unknown session.
   */
  keyframe(id: SessionId, atMost?: SessionSeq): Promise<StoredKeyframe | null>

  /** The journal of a call that was not settled, in order; empty when there is none or the session is unknown. */
  journal(id: SessionId): Promise<readonly JournalPart[]>

  /**
   * Puts small neighbouring segments of the own log together into pages, a part of them in one transaction, and answers
   * whether there is more to do. Readers never notice.
   *
   * @throws {StorageError} `not-found`, `stale-epoch`.
   */
  merge(id: SessionId, epoch: number): Promise<boolean>

  /**
   * Changes what is said of a session and answers its record. Does not touch the epoch, unless it deletes: then whoever
   * has claimed it is refused from now on. A session that says so already is left alone.
   *
   * @throws {StorageError} `not-found`, `invalid-batch` for a time that is none.
   */
  update(id: SessionId, change: RecordChange): Promise<SessionRecord>

  /** Forgets a session for good, and its events unless another session inherits them. Unknown ids are not an error. */
  delete(id: SessionId): Promise<void>

  /** Stores the bytes of a blob under its id, which says what they are; one that is stored already counts as new. */
  putBlob(id: BlobId, bytes: Uint8Array, time: number): Promise<void>

  /** The bytes of a blob, or `null`. */
  getBlob(id: BlobId): Promise<Uint8Array | null>

  /** Forgets blobs no log refers to, and logs that were never stored to their end: those last touched before `before`, epoch ms. */
  collect(before: number): Promise<void>

  /** Releases the connection; later calls reject with `closed`. */
  close(): Promise<void>
}
