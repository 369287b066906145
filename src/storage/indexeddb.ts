/** Session logs in IndexedDB: one record per session, one per group commit (SPEC W1–W16). */
import { type BlobId, type LogId, SessionId, SessionSeq } from '../core/ids.ts'
import { appendIn } from './indexeddb-append.ts'
import { Connection, type IndexedDbStatus } from './indexeddb-connection.ts'
import { DB_VERSION, fromStored, type StoreName, toStored } from './indexeddb-schema.ts'
import {
  checkDraft,
  checkFree,
  checkInherited,
  forgetUnused,
  LOG_STORES,
  putExtras,
  quiet,
  readRange,
  recordOf,
  wholeLog,
} from './indexeddb-requests.ts'
import { Transactions } from './indexeddb-transactions.ts'
import { partsOf, planMerge } from './pages.ts'
import { fitSegments, planKeyframe, planRead, seamsOf } from './segments.ts'
import {
  type AppendBatch,
  type JournalPart,
  type ListOptions,
  type RecordChange,
  type Segment,
  type SeqRange,
  type SessionRecord,
  type SessionStorage,
  type StoredKeyframe,
  type WholeLog,
} from './storage.ts'
import {
  changed,
  checkWholeLog,
  claimed,
  DELETED,
  listKey,
  logsOf,
  notStored,
  planAppend,
  planLog,
  segmentsIn,
  toMerge,
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

const ALL_LOGS: StoreName[] = ['sessions', ...LOG_STORES]
const READ_LOGS: StoreName[] = ['sessions', 'segments']

/** Most segments one transaction merges, so that nobody waits for it long. */
const MERGE_AT_ONCE = 64

class IndexedDbStorage implements SessionStorage {
  readonly kind = 'indexeddb'
  readonly name: string
  readonly #connection: Connection
  readonly #transactions: Transactions

  constructor(name: string, connection: Connection) {
    this.name = name
    this.#connection = connection
    this.#transactions = new Transactions(connection)
  }

  list({ limit = Infinity, after, deleted = false }: ListOptions = {}): Promise<readonly SessionRecord[]> {
    return this.#transactions.read('list the sessions', {}, ['sessions'], async tx => {
      const rank = deleted ? DELETED : DELETED + 1
      const below = after === undefined ? [deleted ? DELETED + 1 : Infinity] : listKey(after)
      if ((below[0] ?? 0) < rank) return []
      const range = IDBKeyRange.bound([rank], below, false, true)
      const index = tx.objectStore('sessions').index('order')
      if (limit === Infinity) return (await index.getAll(range)).reverse().map(fromStored)
      const records: SessionRecord[] = []
      let cursor = limit > 0 ? await index.openCursor(range, 'prev') : null
      while (cursor) {
        records.push(fromStored(cursor.value))
        cursor = records.length < limit ? await cursor.continue() : null
      }
      return records
    })
  }

  get(id: SessionId): Promise<SessionRecord | null> {
    return this.#transactions.read(`read the record of session ${id}`, { sessionId: id }, ['sessions'], tx =>
      recordOf(tx, id),
    )
  }

  claim(id: SessionId): Promise<SessionRecord | null> {
    return this.#transactions.run(
      `claim session ${id}`,
      { sessionId: id },
      ['sessions'],
      'readwrite',
      'relaxed',
      async tx => {
        const stored = await recordOf(tx, id)
        if (!stored) return null
        const record = claimed(stored)
        await tx.objectStore('sessions').put(toStored(record))
        return record
      },
    )
  }

  append(batch: AppendBatch): Promise<void> {
    const { id, segment, durability, create, keyframe, journal, blobs = [] } = batch
    const { firstSeq } = segment
    const facts = { sessionId: id, seq: firstSeq }
    const doing = `append events to session ${id} at seq ${firstSeq}`
    const stores = [...READ_LOGS]
    if (keyframe !== undefined) stores.push('keyframes')
    if (journal !== undefined) stores.push('journals')
    if (blobs.length > 0) stores.push('blobReferences')
    if (create === undefined) {
      return this.#transactions.named(doing, facts, async () => {
        await appendIn(await this.#connection.beginPlain(stores, durability), batch)
      })
    }
    return this.#transactions.run(doing, facts, [...stores, 'drafts'], 'readwrite', durability, async tx => {
      const record = planAppend(await recordOf(tx, id), batch)
      await checkFree(tx, id, create)
      await checkInherited(tx, id, create)
      const puts: Promise<unknown>[] = [quiet(tx.objectStore('sessions').put(toStored(record)))]
      for (const { firstSeq, count, text } of segmentsIn(batch)) {
        puts.push(quiet(tx.objectStore('segments').add({ logId: record.logId, firstSeq, count, text })))
      }
      puts.push(...putExtras(tx, record.logId, batch))
      await Promise.all(puts)
    })
  }

  async storeLog(log: WholeLog): Promise<SessionRecord> {
    const { session, time } = log
    const { logId } = session
    const id = SessionId(session.header.id)
    const facts = { sessionId: id }
    const doing = `store the log of session ${id}`
    await this.#transactions.run(doing, facts, [...READ_LOGS, 'drafts'], 'readwrite', 'relaxed', async tx => {
      planLog(await recordOf(tx, id), log)
      await checkFree(tx, id, session)
      await checkInherited(tx, id, session)
      await tx.objectStore('drafts').add({ logId, time })
    })
    try {
      // What it will be once it is whole; whether it may be is asked again then.
      let drafted = planLog(null, { session, segments: [], time })
      for (const part of partsOf(log.segments)) {
        for (const segment of part) drafted = withSegment(drafted, segment)
        await this.#transactions.run(doing, facts, ['segments', 'drafts'], 'readwrite', 'strict', async tx => {
          await checkDraft(tx, id, logId)
          const adds = part.map(({ firstSeq, count, text }) =>
            quiet(tx.objectStore('segments').add({ logId, firstSeq, count, text })),
          )
          await Promise.all(adds)
        })
      }
      return await this.#transactions.run(doing, facts, [...ALL_LOGS, 'drafts'], 'readwrite', 'strict', async tx => {
        await checkDraft(tx, id, logId)
        const stored = await recordOf(tx, id)
        const { nextSeq, mergedTo, size = 0 } = drafted
        const record = { ...planLog(stored, log), nextSeq, mergedTo, size }
        checkWholeLog(record, log)
        // What it inherits may have gone meanwhile.
        await checkInherited(tx, id, session)
        const puts = [quiet(tx.objectStore('sessions').put(toStored(record))), ...putExtras(tx, logId, log)]
        await tx.objectStore('drafts').delete(logId)
        await Promise.all(puts)
        if (stored) await forgetUnused(tx, logsOf(stored))
        return record
      })
    } catch (error) {
      // What cannot be taken away now is taken away by `collect`.
      await this.#forgetDraft(logId).catch(() => undefined)
      throw error
    }
  }

  async forgetPrevious(id: SessionId, epoch: number): Promise<void> {
    await this.#rewrite(`forget the replaced log of session ${id}`, id, stored => withoutPrevious(id, stored, epoch))
  }

  restorePrevious(id: SessionId, epoch: number): Promise<SessionRecord> {
    return this.#rewrite(`restore the log of session ${id}`, id, stored => withPreviousBack(id, stored, epoch))
  }

  read(id: SessionId, from?: SessionSeq, to?: SessionSeq): Promise<readonly Segment[]> {
    return this.#transactions.read(`read the events of session ${id}`, { sessionId: id }, READ_LOGS, async tx => {
      const record = await recordOf(tx, id)
      if (!record) throw notStored(id)
      return readRange(tx, record, from, to)
    })
  }

  seams(id: SessionId, from?: SessionSeq, to?: SessionSeq): Promise<readonly SessionSeq[]> {
    return this.#transactions.read(
      `read where segments of session ${id} begin`,
      { sessionId: id },
      READ_LOGS,
      async tx => {
        const record = await recordOf(tx, id)
        if (!record) throw notStored(id)
        const parts = planRead(record, from, to)
        const keys = await Promise.all(
          parts.map(part =>
            tx.objectStore('segments').getAllKeys(IDBKeyRange.bound([part.logId, part.from], [part.logId, part.to])),
          ),
        )
        return parts.flatMap((part, index) => seamsOf(part, keys[index]?.map(([, first]) => first) ?? []))
      },
    )
  }

  readRanges(id: SessionId, ranges: readonly SeqRange[]): Promise<readonly (readonly Segment[])[]> {
    return this.#transactions.read(`read events of session ${id}`, { sessionId: id }, READ_LOGS, async tx => {
      const record = await recordOf(tx, id)
      if (!record) throw notStored(id)
      return Promise.all(ranges.map(({ from, to }) => readRange(tx, record, from, to)))
    })
  }

  keyframe(id: SessionId, atMost?: SessionSeq): Promise<StoredKeyframe | null> {
    const facts = { sessionId: id }
    return this.#transactions.read(`read a keyframe of session ${id}`, facts, ['sessions', 'keyframes'], async tx => {
      const record = await recordOf(tx, id)
      if (!record) throw notStored(id)
      for (const { logId, from, to } of planKeyframe(record, atMost)) {
        const range = IDBKeyRange.bound([logId, from], [logId, to], true, false)
        const found = await tx.objectStore('keyframes').openCursor(range, 'prev')
        if (found) return { logId, seq: found.value.seq, text: found.value.text }
      }
      return null
    })
  }

  journal(id: SessionId): Promise<readonly JournalPart[]> {
    const facts = { sessionId: id }
    return this.#transactions.read(`read the journal of session ${id}`, facts, ['sessions', 'journals'], async tx => {
      const record = await recordOf(tx, id)
      const parts = record ? await tx.objectStore('journals').getAll(wholeLog(record.logId)) : []
      return parts.map(({ part, text }) => ({ part, text }))
    })
  }

  merge(id: SessionId, epoch: number): Promise<boolean> {
    return this.#transactions.run(
      `merge segments of session ${id}`,
      { sessionId: id },
      READ_LOGS,
      'readwrite',
      'strict',
      async tx => {
        const record = toMerge(id, await recordOf(tx, id), epoch)
        const { logId, mergedTo: from } = record
        const segments = tx.objectStore('segments')
        const found = await segments.getAll(IDBKeyRange.bound([logId, from], [logId, []]), MERGE_AT_ONCE)
        const last = found.at(-1)
        if (last === undefined) return false
        // What does not fit together is left as it is, for whoever reads it to say so.
        const to = SessionSeq(Math.min(last.firstSeq + last.count, record.nextSeq))
        for (const part of planRead(record, from, to)) fitSegments(id, part, found)
        const { merges, mergedTo } = planMerge(found, from, found.length < MERGE_AT_ONCE)
        const changes: Promise<unknown>[] = merges.flatMap(({ page, parts }) => [
          ...parts.slice(1).map(({ firstSeq }) => quiet(segments.delete([logId, firstSeq]))),
          quiet(segments.put({ ...page, logId })),
        ])
        if (mergedTo > from) changes.push(quiet(tx.objectStore('sessions').put(toStored({ ...record, mergedTo }))))
        await Promise.all(changes)
        return found.length === MERGE_AT_ONCE
      },
    )
  }

  update(id: SessionId, change: RecordChange): Promise<SessionRecord> {
    return this.#transactions.run(
      `change session ${id}`,
      { sessionId: id },
      ['sessions'],
      'readwrite',
      'strict',
      async tx => {
        const stored = await recordOf(tx, id)
        if (!stored) throw notStored(id)
        const record = changed(stored, change)
        if (record !== stored) await tx.objectStore('sessions').put(toStored(record))
        return record
      },
    )
  }

  delete(id: SessionId): Promise<void> {
    return this.#transactions.run(
      `delete session ${id}`,
      { sessionId: id },
      ALL_LOGS,
      'readwrite',
      'strict',
      async tx => {
        const gone = await tx.objectStore('sessions').get(id)
        if (!gone) return
        await tx.objectStore('sessions').delete(id)
        // As it was stored: a damaged record can be deleted as well.
        await forgetUnused(tx, gone.logs ?? [])
      },
    )
  }

  putBlob(id: BlobId, bytes: Uint8Array, time: number): Promise<void> {
    return this.#transactions.run(`store blob ${id}`, {}, ['blobs', 'blobTimes'], 'readwrite', 'strict', async tx => {
      if ((await tx.objectStore('blobs').getKey(id)) === undefined) await tx.objectStore('blobs').put(bytes.slice(), id)
      await tx.objectStore('blobTimes').put({ id, time })
    })
  }

  getBlob(id: BlobId): Promise<Uint8Array | null> {
    return this.#transactions.read(
      `read blob ${id}`,
      {},
      ['blobs'],
      async tx => (await tx.objectStore('blobs').get(id)) ?? null,
    )
  }

  async collect(before: number): Promise<void> {
    const old = IDBKeyRange.upperBound(before, true)
    const stores: StoreName[] = ['blobs', 'blobTimes', 'blobReferences', 'drafts']
    const drafts = await this.#transactions.run('collect blobs', {}, stores, 'readwrite', 'relaxed', async tx => {
      const references = tx.objectStore('blobReferences').index('blobId')
      for (const id of await tx.objectStore('blobTimes').index('time').getAllKeys(old)) {
        if ((await references.count(id)) > 0) continue
        await tx.objectStore('blobs').delete(id)
        await tx.objectStore('blobTimes').delete(id)
      }
      return tx.objectStore('drafts').getAll()
    })
    for (const { logId, time } of drafts) if (time < before) await this.#forgetDraft(logId)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  /** Puts another record in place of a stored one; logs nobody needs any more are deleted with it. */
  #rewrite(
    doing: string,
    id: SessionId,
    change: (stored: SessionRecord | null) => SessionRecord,
  ): Promise<SessionRecord> {
    return this.#transactions.run(doing, { sessionId: id }, ALL_LOGS, 'readwrite', 'strict', async tx => {
      const stored = await recordOf(tx, id)
      const record = change(stored)
      await tx.objectStore('sessions').put(toStored(record))
      if (stored) await forgetUnused(tx, logsOf(stored))
      return record
    })
  }

  #forgetDraft(logId: LogId): Promise<void> {
    return this.#transactions.run(
      'forget an unfinished log',
      {},
      ['segments', 'drafts'],
      'readwrite',
      'relaxed',
      async tx => {
        if ((await tx.objectStore('drafts').getKey(logId)) === undefined) return
        await tx.objectStore('segments').delete(wholeLog(logId))
        await tx.objectStore('drafts').delete(logId)
      },
    )
  }
}
