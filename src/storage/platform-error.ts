/** What the platform's storage errors mean to us. Knows their names only, so that any realm's errors fit. */
import type { ErrorFacts } from '../core/errors.ts'
import { StorageError, type StorageErrorCode } from './storage.ts'

/** Name of whatever was thrown, such as `QuotaExceededError`; empty when it has none. */
export function errorName(error: unknown): string {
  return typeof error === 'object' && error !== null && 'name' in error && typeof error.name === 'string'
    ? error.name
    : ''
}

/** Anything thrown while `doing` something, as a `StorageError` with the original as its cause. */
export function toStorageError(error: unknown, doing: string, facts: ErrorFacts = {}): StorageError {
  if (error instanceof StorageError) return error
  const reason = error instanceof Error || errorName(error) ? `${errorName(error)}: ${messageOf(error)}` : String(error)
  return new StorageError(codeOf(errorName(error)), `Could not ${doing}: ${reason}`, facts, { cause: error })
}

function codeOf(name: string): StorageErrorCode {
  switch (name) {
    case 'QuotaExceededError':
      return 'quota-exceeded'
    case 'VersionError':
      return 'newer-database'
    // A segment already stands where this one should go: the record and the segments disagree.
    case 'ConstraintError':
    // Chromium reports a value whose file is gone as `DataError` or `NotReadableError`.
    case 'DataError':
    case 'NotReadableError':
    // A database of this name and version without our object stores.
    case 'NotFoundError':
      return 'corrupt'
    case 'DataCloneError':
      return 'invalid-batch'
    default:
      return 'unavailable'
  }
}

function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : ''
}
