/** What the library is compared with where that is no library: IndexedDB alone, and the engine's own parser. */
import { median } from '../harness.ts'
import type { WorkloadEvent } from '../workload.mjs'
import { completed, openDatabase, settled } from './idb.ts'
import { type Writing, writing } from './log.ts'

type In = { readonly database: string }

/** Parses the texts of a log, already in memory, as the first thing this worker does with them; ms. */
export async function parseTexts({ database, length }: In & { readonly length: number }): Promise<number> {
  const db = await openDatabase(`${database}-texts`, { texts: null })
  const texts = (await settled(db.transaction('texts').objectStore('texts').getAll())) as string[]
  db.close()
  const events: unknown[] = []
  const start = performance.now()
  for (const text of texts) for (const event of JSON.parse(text) as unknown[]) events.push(event)
  const time = performance.now() - start
  if (events.length !== length) throw new Error(`Expected ${length} events; found ${events.length}`)
  return time
}

/** All rows of a log with one `getAll`; ms. */
export async function getAllRows({ database, length }: In & { readonly length: number }): Promise<number> {
  const start = performance.now()
  const db = await openDatabase(`${database}-rows`, { rows: 'seq' })
  const rows = await settled(db.transaction('rows').objectStore('rows').getAll())
  const time = performance.now() - start
  db.close()
  if (rows.length !== length) throw new Error(`Expected ${length} rows; found ${rows.length}`)
  return time
}

/** A row for each event, each awaited before the next; µs for each. */
export const awaitedRows = (input: Writing): Promise<number> =>
  perEvent(input, async (db, events) => {
    for (const event of events) await putAll(db, [event])
  })

/** A row for each event, all in one job; what came while a transaction ran goes into the next. µs for each. */
export const groupedRows = (input: Writing): Promise<number> =>
  perEvent(input, async (db, events) => {
    const queue: WorkloadEvent[] = []
    let draining: Promise<void> | null = null
    const drain = async (): Promise<void> => {
      await Promise.resolve()
      while (queue.length > 0) await putAll(db, queue.splice(0))
      draining = null
    }
    for (const event of events) {
      queue.push(event)
      draining ??= drain()
    }
    await draining
  })

/** A row for each event, 1000 in a transaction; µs for each. */
export const bulkRows = (input: Writing): Promise<number> =>
  perEvent(input, async (db, events) => {
    for (let from = 0; from < events.length; from += 1000) await putAll(db, events.slice(from, from + 1000))
  })

type Write = (db: IDBDatabase, events: readonly WorkloadEvent[]) => Promise<void>

const perEvent = (input: Writing, write: Write): Promise<number> =>
  writing(input, async (database, events) => {
    const db = await openDatabase(database, { rows: 'seq' })
    const start = performance.now()
    await write(db, events)
    const time = performance.now() - start
    db.close()
    return (time * 1000) / events.length
  })

function putAll(db: IDBDatabase, events: readonly WorkloadEvent[]): Promise<void> {
  const tx = db.transaction('rows', 'readwrite', { durability: 'relaxed' })
  const rows = tx.objectStore('rows')
  for (const event of events) rows.put(event)
  tx.commit()
  return completed(tx)
}

/**
 * One transaction for each event, awaited: it gets a record of the size of a session's, puts it back and puts the text of
 * the event. Strict, as what is flushed is. The median of the times of each; µs.
 */
export const bareTransactions = (input: Writing): Promise<number> => writing(input, bareTransactionsInto)

async function bareTransactionsInto(database: string, events: readonly WorkloadEvent[]): Promise<number> {
  const db = await openDatabase(database, { sessions: 'header.id', segments: ['logId', 'firstSeq'] })
  const header = { version: 3, id: 'bare', createdAt: Date.now(), isSeeded: false }
  const record = { header, logId: crypto.randomUUID(), inherited: [], nextSeq: 0, epoch: 1, updatedAt: Date.now() }
  const first = db.transaction('sessions', 'readwrite')
  first.objectStore('sessions').put(record)
  await completed(first)
  const times: number[] = []
  for (const event of events) {
    const start = performance.now()
    const text = JSON.stringify([event])
    const tx = db.transaction(['sessions', 'segments'], 'readwrite', { durability: 'strict' })
    const sessions = tx.objectStore('sessions')
    const request = sessions.get('bare') as IDBRequest<typeof record>
    request.onsuccess = () => {
      sessions.put({ ...request.result, nextSeq: event.seq + 1, updatedAt: Date.now() })
      tx.objectStore('segments').put({ logId: record.logId, firstSeq: event.seq, count: 1, text })
      tx.commit()
    }
    await completed(tx)
    times.push((performance.now() - start) * 1000)
  }
  db.close()
  return median(times)
}
