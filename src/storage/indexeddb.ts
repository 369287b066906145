/** Session logs in IndexedDB: one record per session, one per group commit. */
import type { ErrorFacts } from '../core/errors.ts'
import { type LogId, SessionId, type SessionSeq, isSafeNonNegativeInteger } from '../core/ids.ts'
import { Connection, DB_VERSION, type IndexedDbStatus, type Tx } from './indexeddb-connection.ts'
import { errorName, toStorageError } from './platform-error.ts'
import { type ReadPart, fitSegments, planRead } from './segments.ts'
import {
  type AppendBatch,
  type Durability,
  type NewSession,
  type Segment,
  type SessionRecord,
  type SessionStorage,
  StorageError,
  type WholeLog,
} from './storage.ts'
import {
  inheritedNotStored,
  logInUse,
  notStored,
  planAppend,
  planLog,
  retitle,
  unusedLogs,
  withoutPrevious,
  withPreviousBack,
  withSegment,
} from './stored-session.ts'

export type IndexedDbOptions = {
  /** Name of the database. */
  readonly name?: string
  /** How long an open may take before it fails with `unavailable` or `blocked`. */
  readonly openTimeoutMs?: number
  /** Runs at each change of the connection. Must not throw. */
  readonly onStatus?: (status: IndexedDbStatus) => void
}

/**
 * A storage in the IndexedDB of this origin, opened by its first call and opened again after a lost connection.
 * `version` is for tests of upgrades.
 */
export function indexedDbStorage(options: IndexedDbOptions = {}, version: number = DB_VERSION): SessionStorage {
  const { name = 'palimpsest', openTimeoutMs = 10_000, onStatus = () => {} } = options
  return new IndexedDbStorage(name, new Connection(name, version, openTimeoutMs, onStatus))
}

class IndexedDbStorage implements SessionStorage {
  readonly kind = 'indexeddb'
  readonly name: string
  readonly #connection: Connection

  constructor(name: string, connection: Connection) {
    this.name = name
    this.#connection = connection
  }

  list(): Promise<readonly SessionRecord[]> {
    return this.#run('list the sessions', {}, 'readonly', 'relaxed', async tx => {
      const ascending = await tx.objectStore('sessions').index('updatedAt').getAll()
      return ascending.reverse()
    })
  }

  get(id: SessionId): Promise<SessionRecord | null> {
    const facts = { sessionId: id }
    return this.#run(`read the record of session ${id}`, facts, 'readonly', 'relaxed', tx => recordOf(tx, id))
  }

  claim(id: SessionId): Promise<SessionRecord | null> {
    return this.#run(`claim session ${id}`, { sessionId: id }, 'readwrite', 'relaxed', async tx => {
      const stored = await recordOf(tx, id)
      if (!stored) return null
      const claimed = { ...stored, epoch: stored.epoch + 1 }
      await tx.objectStore('sessions').put(claimed)
      return claimed
    })
  }

  append(batch: AppendBatch): Promise<void> {
    const { id, segment, durability, create } = batch
    const { firstSeq, count, text } = segment
    const facts = { sessionId: id, seq: firstSeq }
    const doing = `append ${count} events to session ${id} at seq ${firstSeq}`
    return this.#run(doing, facts, 'readwrite', durability, async tx => {
      const record = planAppend(await recordOf(tx, id), batch)
      if (create) await checkLogs(tx, id, create)

      const puts: Promise<unknown>[] = [quiet(tx.objectStore('sessions').put(record))]
      // `add`, so that nothing stored is ever overwritten, whatever the record says.
      if (count > 0) puts.push(quiet(tx.objectStore('segments').add({ logId: record.logId, firstSeq, count, text })))
      // Saves the round trip in which the browser finds out that no request follows.
      tx.commit()
      await Promise.all(puts)
    })
  }

  storeLog(log: WholeLog): Promise<SessionRecord> {
    const id = SessionId(log.session.header.id)
    return this.#run(`store the log of session ${id}`, { sessionId: id }, 'readwrite', 'strict', async tx => {
      const stored = await recordOf(tx, id)
      let record = planLog(stored, log)
      await checkLogs(tx, id, log.session)
      const segments = tx.objectStore('segments')
      for (const { firstSeq, count, text } of log.segments) {
        record = withSegment(record, { firstSeq, count, text })
        // One at a time: what waits to be written is in memory twice.
        await segments.add({ logId: record.logId, firstSeq, count, text })
      }
      await tx.objectStore('sessions').put(record)
      if (stored) await forgetUnused(tx, stored)
      return record
    })
  }

  async forgetPrevious(id: SessionId, epoch: number): Promise<void> {
    await this.#rewrite(`forget the replaced log of session ${id}`, id, stored => withoutPrevious(id, stored, epoch))
  }

  restorePrevious(id: SessionId, epoch: number): Promise<SessionRecord> {
    return this.#rewrite(`restore the log of session ${id}`, id, stored => withPreviousBack(id, stored, epoch))
  }

  read(id: SessionId, from?: SessionSeq, to?: SessionSeq): Promise<readonly Segment[]> {
    return this.#run(`read the events of session ${id}`, { sessionId: id }, 'readonly', 'relaxed', async tx => {
      const record = await recordOf(tx, id)
      if (!record) throw notStored(id)
      const parts = planRead(record, from, to)
      const found = await Promise.all(parts.map(part => segmentsOf(tx, part)))
      return parts.flatMap((part, index) => fitSegments(id, part, found[index] ?? []))
    })
  }

  rename(id: SessionId, title: string | null): Promise<void> {
    return this.#run(`rename session ${id}`, { sessionId: id }, 'readwrite', 'strict', async tx => {
      const stored = await recordOf(tx, id)
      if (!stored) throw notStored(id)
      await tx.objectStore('sessions').put(retitle(stored, title))
    })
  }

  delete(id: SessionId): Promise<void> {
    return this.#run(`delete session ${id}`, { sessionId: id }, 'readwrite', 'strict', async tx => {
      const gone = await tx.objectStore('sessions').get(id)
      if (!gone) return
      await tx.objectStore('sessions').delete(id)
      await forgetUnused(tx, gone)
    })
  }

  /** Puts another record in place of a stored one; logs nobody needs any more are deleted with it. */
  #rewrite(
    doing: string,
    id: SessionId,
    change: (stored: SessionRecord | null) => SessionRecord,
  ): Promise<SessionRecord> {
    return this.#run(doing, { sessionId: id }, 'readwrite', 'strict', async tx => {
      const stored = await recordOf(tx, id)
      const record = change(stored)
      await tx.objectStore('sessions').put(record)
      if (stored) await forgetUnused(tx, stored)
      return record
    })
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  /**
   * Runs `body` in one transaction over both stores and resolves when that is complete; when it is not, nothing was
   * changed. `body` awaits nothing but requests of the transaction.
   */
  async #run<Result, Mode extends 'readonly' | 'readwrite'>(
    doing: string,
    facts: ErrorFacts,
    mode: Mode,
    durability: Durability,
    body: (tx: Tx<Mode>) => Promise<Result>,
  ): Promise<Result> {
    try {
      const tx = await this.#connection.begin(mode, durability)
      // As a value, since it may reject long before it is awaited; `tx.error` says more than the rejection.
      const failure = tx.done.then(
        () => null,
        (error: unknown) => ({ error: tx.error ?? error }),
      )
      try {
        const result = await body(tx)
        const failed = await failure
        if (failed) throw failed.error
        return result
      } catch (error) {
        abort(tx)
        const failed = await failure
        // A request of a transaction that ends under it only says that it ends; the transaction says why.
        throw failed && errorName(error) === 'AbortError' ? failed.error : error
      }
    } catch (error) {
      // WebKit says so when its storage process died; every later use of the connection would fail the same way.
      if (errorName(error) === 'UnknownError') this.#connection.reset()
      throw toStorageError(error, doing, facts)
    }
  }
}

/** @throws {StorageError} `corrupt` when the record cannot be what this library wrote. */
async function recordOf(tx: Tx<'readonly' | 'readwrite'>, id: SessionId): Promise<SessionRecord | null> {
  const record = await tx.objectStore('sessions').get(id)
  if (!record) return null
  const { logId, inherited, nextSeq, epoch } = record
  const fits = typeof logId === 'string' && Array.isArray(inherited)
  if (fits && isSafeNonNegativeInteger(nextSeq) && isSafeNonNegativeInteger(epoch)) return record
  throw new StorageError('corrupt', `The record of session ${id} is malformed`, { sessionId: id })
}

/** Refuses a new session whose log is taken, or whose inherited events are not there. */
async function checkLogs(tx: Tx<'readwrite'>, id: SessionId, create: NewSession): Promise<void> {
  const segments = tx.objectStore('segments')
  if ((await segments.getKey(wholeLog(create.logId))) !== undefined) throw logInUse(id, create.logId)
  // Logs only grow and go as a whole, so the last event stands for all before it.
  for (const range of create.inherited) {
    const last = await segments.openCursor(IDBKeyRange.bound([range.logId], [range.logId, range.to - 1]), 'prev')
    if (!last || last.value.firstSeq + last.value.count < range.to) throw inheritedNotStored(id, range)
  }
}

/** Deletes the logs `before` needed and no record needs any more. */
async function forgetUnused(tx: Tx<'readwrite'>, before: SessionRecord): Promise<void> {
  const unused = unusedLogs(before, await tx.objectStore('sessions').getAll())
  await Promise.all([...unused].map(logId => tx.objectStore('segments').delete(wholeLog(logId))))
}

async function segmentsOf(tx: Tx<'readonly'>, part: ReadPart): Promise<readonly Segment[]> {
  const { logId, from, to } = part
  const segments = tx.objectStore('segments')
  // The segment that holds `from` is the last one starting at or before it.
  const spanning = await segments.openKeyCursor(IDBKeyRange.bound([logId], [logId, from]), 'prev')
  const start = spanning ? spanning.key[1] : from
  const stored = await segments.getAll(IDBKeyRange.bound([logId, start], [logId, to], false, true))
  return stored.map(({ firstSeq, count, text }) => ({ firstSeq, count, text }))
}

/** All keys of a log: an array sorts after its own prefix, and after every number comes `[]`. */
function wholeLog(logId: LogId): IDBKeyRange {
  return IDBKeyRange.bound([logId], [logId, []])
}

/** A request that is awaited later, or never when the next one throws: the transaction fails with it all the same. */
function quiet<Result>(request: Promise<Result>): Promise<Result> {
  request.catch(() => {})
  return request
}

function abort(tx: Tx<'readonly' | 'readwrite'>): void {
  try {
    tx.abort()
  } catch (error) {
    // It failed or was committed by itself already: then there is nothing left to undo.
    if (errorName(error) !== 'InvalidStateError') throw error
  }
}
