/** The connection to the database: its schema, opening it in time, and opening it again after it was lost. */
import { openDB, unwrap } from 'idb'
import { type Db, type PalimpsestDb, type StoreName, type Tx, upgrade } from './indexeddb-schema.ts'
import { errorName, toStorageError } from './platform-error.ts'
import { type Durability, StorageError } from './storage.ts'

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
  begin<Mode extends 'readonly' | 'readwrite'>(
    stores: StoreName[],
    mode: Mode,
    durability: Durability,
  ): Promise<Tx<Mode>> {
    return this.#start(db => db.transaction(stores, mode, { durability }))
  }

  /** The same as the browser has it, without promises: for the one write that is worth it. */
  beginPlain(stores: StoreName[], durability: Durability): Promise<IDBTransaction> {
    return this.#start(db => unwrap(db).transaction(stores, 'readwrite', { durability }))
  }

  async #start<Started>(start: (db: Db) => Started): Promise<Started> {
    const shared = this.#connect()
    const db = await shared
    try {
      return start(db)
    } catch (error) {
      if (errorName(error) !== 'InvalidStateError') throw error
      // Nothing was asked of the transaction yet, so starting it again cannot do anything twice.
      this.#forget(shared)
      return start(await this.#connect())
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
    const attempt: { blockedBy?: number; late?: true; failure?: unknown } = {}
    const doing = `open database ${this.#name}, version ${this.#version}`
    // Inside a promise, since some browsers refuse the open with an exception.
    const opening = Promise.resolve().then(() =>
      openDB<PalimpsestDb>(this.#name, this.#version, {
        // What it throws ends the upgrade: the database stays as it was.
        upgrade: (db, oldVersion, _newVersion, tx) => {
          const upgraded = upgrade(db, oldVersion, tx)
          // Told by the open that fails with it.
          tx.done.catch(() => {})
          upgraded.catch(error => {
            attempt.failure = error
            abort(tx)
          })
        },
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
      throw toStorageError(attempt.failure ?? error, doing, { expected: this.#version })
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Undoes a transaction, if it can still be undone. */
export function abort(tx: Pick<Tx<IDBTransactionMode>, 'abort'>): void {
  try {
    tx.abort()
  } catch (error) {
    // It failed or was committed by itself already: then there is nothing left to undo.
    if (errorName(error) !== 'InvalidStateError') throw error
  }
}
