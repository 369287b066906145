/** Why the storage refuses: one class, the reason as a code. */
import { PalimpsestError } from '../core/errors.ts'

export type StorageErrorCode =
  /** The batch does not start at the stored next seq: someone else wrote, or a batch was skipped. */
  | 'seq-conflict'
  /** Another writer has claimed the session; this one must stop. */
  | 'stale-epoch'
  /** A session to be created is already stored. */
  | 'exists'
  /** The session is not stored. */
  | 'not-found'
  /** The session was deleted and can still be brought back; until then nobody reads or writes it. */
  | 'deleted'
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
