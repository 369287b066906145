/** The connection to the database: its schema, opening it in time, and opening it again after it was lost. */
import { type DBSchema, type IDBPDatabase, type IDBPTransaction, openDB } from 'idb'
import type { LogId, SessionId } from '../core/ids.ts'
import { errorName, toStorageError } from './platform-error.ts'
import { type Durability, type Segment, type SessionRecord, StorageError } from './storage.ts'

/** Version of the database this build reads and writes. */
export const DB_VERSION = 1

/** What happens to the connection, for status texts. */
export type IndexedDbStatus =
  /** The database is open. */
  | 'open'
  /** Another tab holds an older database; it must be closed or reloaded. */
  | 'blocked'
  /** A newer build, or a deletion, asked for the database, so it was let go. */
  | 'superseded'
  /** The browser ended the connection; the next call opens it again. */
  | 'lost'

type StoredSegment = Segment & { readonly logId: LogId }

interface PalimpsestDb extends DBSchema {
  sessions: { key: SessionId; value: SessionRecord; indexes: { updatedAt: number } }
  segments: { key: [LogId, number]; value: StoredSegment }
}

type Db = IDBPDatabase<PalimpsestDb>
type StoreName = 'sessions' | 'segments'
export type Tx<Mode extends IDBTransactionMode> = IDBPTransaction<PalimpsestDb, StoreName[], Mode>

const STORES: StoreName[] = ['sessions', 'segments']

function upgrade(db: Db, oldVersion: number): void {
  if (oldVersion >= 1) return
  db.createObjectStore('sessions', { keyPath: 'header.id' }).createIndex('updatedAt', 'updatedAt')
  db.createObjectStore('segments', { keyPath: ['logId', 'firstSeq'] })
}

/** The one connection all calls share: opened by the first, opened again by the next after it was lost or failed. */
export class Connection {
  readonly #name: string
  readonly #version: number
  readonly #timeoutMs: number
  readonly #onStatus: (status: IndexedDbStatus) => void
  #db: Promise<Db> | null = null
  #closed = false

  constructor(name: string, version: number, timeoutMs: number, onStatus: (status: IndexedDbStatus) => void) {
    this.#name = name
    this.#version = version
    this.#timeoutMs = timeoutMs
    this.#onStatus = onStatus
  }

  /** Starts a transaction; on a connection that turns out to be closing, once more on a new one. */
  async begin<Mode extends 'readonly' | 'readwrite'>(mode: Mode, durability: Durability): Promise<Tx<Mode>> {
    const shared = this.#connect()
    const db = await shared
    try {
      return db.transaction(STORES, mode, { durability })
    } catch (error) {
      if (errorName(error) !== 'InvalidStateError') throw error
      // Nothing was asked of the transaction yet, so starting it again cannot do anything twice.
      this.#forget(shared)
      const reopened = await this.#connect()
      return reopened.transaction(STORES, mode, { durability })
    }
  }

  /** Lets go of the connection; transactions in flight still finish. */
  reset(): void {
    const shared = this.#db
    this.#db = null
    // A failed open has nothing to close, and was reported to those who waited for it.
    shared?.then(
      db => db.close(),
      () => {},
    )
  }

  async close(): Promise<void> {
    this.#closed = true
    const shared = this.#db
    this.reset()
    await shared?.catch(() => {})
  }

  #connect(): Promise<Db> {
    if (this.#closed) return Promise.reject(new StorageError('closed', `The storage of ${this.#name} was closed`))
    if (this.#db) return this.#db
    const shared: Promise<Db> = this.#open(() => this.#forget(shared))
    this.#db = shared
    // Callers get the failure from `shared` itself; this only lets the next call try again.
    shared.catch(() => this.#forget(shared))
    return shared
  }

  #forget(shared: Promise<Db>): void {
    if (this.#db === shared) this.#db = null
  }

  /** Opens the database in time or not at all: one that comes late is closed, so that it blocks nobody. */
  async #open(forget: () => void): Promise<Db> {
    if (typeof indexedDB === 'undefined') {
      throw new StorageError('unavailable', `No IndexedDB here to open ${this.#name} in`)
    }
    const attempt: { blockedBy?: number; late?: true } = {}
    const doing = `open database ${this.#name}, version ${this.#version}`
    // Inside a promise, since some browsers refuse the open with an exception.
    const opening = Promise.resolve().then(() =>
      openDB<PalimpsestDb>(this.#name, this.#version, {
        upgrade,
        blocked: currentVersion => {
          attempt.blockedBy = currentVersion
          if (!attempt.late) this.#onStatus('blocked')
        },
        blocking: (_currentVersion, _wantedVersion, event) => {
          forget()
          ;(event.target as IDBDatabase).close()
          this.#onStatus('superseded')
        },
        terminated: () => {
          forget()
          this.#onStatus('lost')
        },
      }),
    )

    let timer: ReturnType<typeof setTimeout> | undefined
    const timeout = new Promise<null>(resolve => {
      timer = setTimeout(resolve, this.#timeoutMs, null)
    })
    try {
      const db = await Promise.race([opening, timeout])
      if (db) {
        this.#onStatus('open')
        return db
      }
      attempt.late = true
      opening.then(
        late => late.close(),
        // Reported below as the time-out it was first.
        () => {},
      )
      const { blockedBy } = attempt
      const message = `Could not ${doing}, within ${this.#timeoutMs} ms`
      if (blockedBy === undefined) throw new StorageError('unavailable', message, { expected: this.#version })
      const facts = { expected: this.#version, actual: blockedBy }
      throw new StorageError('blocked', `${message}: another tab holds version ${blockedBy}`, facts)
    } catch (error) {
      throw toStorageError(error, doing, { expected: this.#version })
    } finally {
      clearTimeout(timer)
    }
  }
}
