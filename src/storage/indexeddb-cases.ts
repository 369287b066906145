/**
 * What IndexedDB adds to the promises of a storage: what is on disk, and what happens when the database is held, newer,
 * lost or refused. For tests; runs in Node on fake-indexeddb and in a browser on the real one.
 */
import { SessionId, SessionSeq } from '../core/ids.ts'
import {
  batch,
  events,
  isFree,
  newSession,
  positions,
  readAll,
  refuses,
  same,
  segmentsOf,
  seqs,
  store,
  whole,
} from './conformance-kit.ts'
import type { IndexedDbStatus } from './indexeddb-connection.ts'
import { DB_VERSION } from './indexeddb-schema.ts'
import { type DatabaseCase, databaseCase, dump, openRaw, replaced, settled, tamper } from './indexeddb-kit.ts'
import type { Segment } from './storage.ts'

const A = SessionId('a')

export const databaseCases: readonly DatabaseCase[] = [
  databaseCase('W1 what was stored is there after the database was closed and opened again', async open => {
    const before = open()
    await store(before, newSession('a', [], 'Notes'), [2, 1])
    const record = await before.get(A)
    await before.close()
    const after = open()
    same('record', await after.get(A), record)
    same('events', await positions(after, 'a'), seqs('a', 0, 3))
  }),

  databaseCase('W4 one record per batch holds the JSON text, and nothing else is stored', async (open, database) => {
    const storage = open()
    await store(storage, newSession('a'), [2, 1])
    await storage.append(batch('a', 3, 0, { durability: 'strict' }))
    const db = await openRaw(database)
    same('version', db.version, DB_VERSION)
    const filled: string[] = []
    for (const name of db.objectStoreNames) {
      if ((await settled(db.transaction(name).objectStore(name).count())) > 0) filled.push(name)
    }
    same('object stores that hold something', filled, ['segments', 'sessions'])
    const tx = db.transaction(['segments', 'sessions'])
    same('segments', await settled(tx.objectStore('segments').getAll()), [
      { logId: 'a', firstSeq: 0, count: 2, text: events('a', 0, 2) },
      { logId: 'a', firstSeq: 2, count: 1, text: events('a', 2, 1) },
    ])
    const keys = { order: [0, 2_000, 'a'], logs: ['a'] }
    same('records', await settled(tx.objectStore('sessions').getAll()), [{ ...(await storage.get(A)), ...keys }])
    db.close()
  }),

  databaseCase('W3 of two connections, the one that claimed last may write', async open => {
    const [first, second] = [open(), open()]
    await store(first, newSession('a'), [1])
    await second.claim(A)
    await refuses('the first writer', 'stale-epoch', first.append(batch('a', 1, 1)))
    await second.append(batch('a', 1, 1, { epoch: 2 }))
    same('events', await positions(first, 'a'), seqs('a', 0, 2))
  }),

  databaseCase('W2 of two connections that create one session, one succeeds', async open => {
    const results = await Promise.allSettled(
      [open(), open()].map(storage => storage.append(batch('a', 0, 1, { create: newSession('a') }))),
    )
    same('results', results.map(result => result.status).sort(), ['fulfilled', 'rejected'])
  }),

  databaseCase('W6 each append is one transaction over both stores, with the durability asked for', async open => {
    const storage = open()
    await store(storage, newSession('a'), [1])
    const original = Reflect.get(IDBDatabase.prototype, 'transaction')
    const begun: unknown[] = []
    const spy: IDBDatabase['transaction'] = function (this: IDBDatabase, stores, mode, options) {
      begun.push([stores, mode, options?.durability])
      return original.call(this, stores, mode, options)
    }
    await replaced(IDBDatabase.prototype, 'transaction', spy, async () => {
      await storage.append(batch('a', 1, 1, { durability: 'relaxed' }))
      await storage.append(batch('a', 2, 1, { durability: 'strict' }))
    })
    const stores = ['sessions', 'segments']
    same('transactions', begun, [
      [stores, 'readwrite', 'relaxed'],
      [stores, 'readwrite', 'strict'],
    ])
  }),

  ...(['put', 'add'] as const).map(method =>
    databaseCase(`W1 an append whose ${method} fails stores nothing`, async open => {
      const storage = open()
      await store(storage, newSession('a'), [1])
      const before = [await storage.list(), await readAll(storage, 'a')]
      const full = (): never => {
        throw new DOMException('disk is full', 'QuotaExceededError')
      }
      await replaced(IDBObjectStore.prototype, method, full, async () => {
        const error = await refuses('append', 'quota-exceeded', storage.append(batch('a', 1, 1)))
        same('name of the cause', (error.cause as Error).name, 'QuotaExceededError')
        same('facts', [error.sessionId, error.seq], ['a', 1])
      })
      same('what is stored', [await storage.list(), await readAll(storage, 'a')], before)
      await storage.append(batch('a', 1, 1))
    }),
  ),

  databaseCase(
    'W1 a gap between segments, and a segment in the way, are refused as corrupt',
    async (open, database) => {
      const storage = open()
      await store(storage, newSession('a'), [2, 2, 2])
      const whole = await storage.get(A)
      await tamper(database, 'sessions', sessions => sessions.put({ ...whole, nextSeq: 5 }))
      await refuses('a read of segments beyond the next seq', 'corrupt', readAll(storage, 'a'))
      await tamper(database, 'sessions', sessions => sessions.put(whole))

      await tamper(database, 'segments', segments => segments.delete(['a', 2]))
      const error = await refuses('a read over the gap', 'corrupt', readAll(storage, 'a'))
      same('facts', [error.sessionId, error.seq], ['a', 2])
      await refuses('a read from the gap on', 'corrupt', readAll(storage, 'a', 3))
      await refuses('a read into the gap', 'corrupt', readAll(storage, 'a', 0, 3))
      same('a read beside the gap', await positions(storage, 'a', 4), seqs('a', 4, 6))

      await tamper(database, 'sessions', sessions => sessions.put({ ...whole, nextSeq: 4 }))
      await refuses('an append over a segment', 'corrupt', storage.append(batch('a', 4, 1)))
      same('events there', await positions(storage, 'a', 4, 4), [])
      await tamper(database, 'sessions', sessions => sessions.put({ ...whole, nextSeq: 'x' }))
      await refuses('a malformed record', 'corrupt', storage.claim(A))
    },
  ),

  databaseCase('W1 a read of a part tells of a gap as well', async (open, database) => {
    const storage = open()
    await store(storage, newSession('a'), [2, 2, 2])
    await tamper(database, 'segments', segments => segments.delete(['a', 2]))
    const read = (from: number, to: number) => storage.read(A, SessionSeq(from), SessionSeq(to))
    same('seams', await storage.seams(A), [0, 4])
    same('before the gap', (await read(0, 2)).length, 1)
    same('behind it', (await read(4, 6)).length, 1)
    for (const [from, to] of [
      [0, 3],
      [0, 4],
      [2, 3],
      [3, 6],
    ] as const) {
      await refuses(`from ${from} to ${to}`, 'corrupt', read(from, to))
    }
  }),

  databaseCase('W12 a log that is being stored is taken, and collected when nobody goes on', async (open, database) => {
    const storage = open()
    await storage.list()
    const draft = { logId: 'a', time: 1_000 }
    await tamper(database, 'drafts', drafts => drafts.put(draft))
    same('its log is free', await isFree(storage, 'a'), false)
    await refuses('storing it again', 'exists', storage.storeLog(whole(newSession('a'), [1])))
    const text = events('a', 0, 1)
    await tamper(database, 'segments', segments => segments.put({ logId: 'a', firstSeq: 0, count: 1, text }))
    same('sessions', await storage.list(), [])
    await storage.collect(1_000)
    same('its log is free', await isFree(storage, 'a'), false)
    await storage.collect(1_001)
    same('its log is free', await isFree(storage, 'a'), true)
    await storage.storeLog(whole(newSession('a'), [1]))
  }),

  databaseCase('W12 a log that is collected while it is stored is refused, and nothing of it is left', async open => {
    const storage = open()
    const collected: Promise<void>[] = []
    const segments = function* (): Generator<Segment> {
      collected.push(storage.collect(Infinity))
      yield* segmentsOf('a', [2])
    }
    await refuses('the log', 'unavailable', storage.storeLog(whole(newSession('a'), [], { segments: segments() })))
    await Promise.all(collected)
    same('sessions', await storage.list(), [])
    same('its log is free', await isFree(storage, 'a'), true)
  }),

  databaseCase('W7 a damaged record can be deleted', async (open, database) => {
    const storage = open()
    await store(storage, newSession('a'), [1])
    const { stores } = await dump(database)
    const record = stores['sessions']?.records[0]?.value
    await tamper(database, 'sessions', sessions => sessions.put({ ...record, inherited: null, nextSeq: -1 }))
    await refuses('its record', 'corrupt', storage.get(A))
    await storage.delete(A)
    same('sessions', await storage.list(), [])
    same('its log is free', await isFree(storage, 'a'), true)
  }),

  databaseCase('W10 a newer database is refused and untouched (case 117)', async (open, database) => {
    const newer = await openRaw(database, DB_VERSION + 1, db => db.createObjectStore('future').put('kept', 'key'))
    newer.close()
    const storage = open()
    await refuses('list', 'newer-database', storage.list())
    await refuses('append', 'newer-database', storage.append(batch('a', 0, 1, { create: newSession('a') })))
    const after = await openRaw(database)
    same('version and stores', [after.version, [...after.objectStoreNames]], [DB_VERSION + 1, ['future']])
    same('value', await settled(after.transaction('future').objectStore('future').get('key')), 'kept')
    after.close()
  }),

  databaseCase('W10 a connection makes way for a newer build, then refuses its database', async (open, database) => {
    const statuses: IndexedDbStatus[] = []
    const storage = open({ onStatus: status => statuses.push(status) })
    await store(storage, newSession('a'), [2])
    const newer = await openRaw(database, DB_VERSION + 1)
    await refuses('append', 'newer-database', storage.append(batch('a', 2, 1)))
    const segments = newer.transaction('segments').objectStore('segments')
    same('segments', (await settled(segments.getAllKeys())).length, 1)
    same('statuses', statuses, ['open', 'superseded'])
    newer.close()
  }),

  databaseCase('W11 an open that another tab blocks goes on when that tab lets go', async (open, database) => {
    await store(open(), newSession('a'), [1])
    const holder = await openRaw(database)
    const statuses: IndexedDbStatus[] = []
    const onStatus = (status: IndexedDbStatus): void => {
      statuses.push(status)
      if (status === 'blocked') holder.close()
    }
    same('events', await positions(open({ onStatus }, DB_VERSION + 1), 'a'), seqs('a', 0, 1))
    same('statuses', statuses, ['blocked', 'open'])
  }),

  databaseCase(
    'W11 an open that stays blocked fails for every caller, and works once the way is free',
    async (open, database) => {
      await store(open(), newSession('a'), [1])
      const holder = await openRaw(database)
      const storage = open({ openTimeoutMs: 150 }, DB_VERSION + 1)
      const calls = [storage.list(), storage.claim(A), storage.append(batch('a', 1, 1))]
      for (const error of await Promise.all(calls.map(call => refuses('call', 'blocked', call)))) {
        same('versions', [error.expected, error.actual], [DB_VERSION + 1, DB_VERSION])
      }
      holder.close()
      same('events', await positions(storage, 'a'), seqs('a', 0, 1))
      await storage.append(batch('a', 1, 1))
    },
  ),

  databaseCase('W11 an open that came too late leaves no connection behind', async (open, database) => {
    await store(open(), newSession('a'), [1])
    const holder = await openRaw(database)
    const statuses: IndexedDbStatus[] = []
    const onStatus = (status: IndexedDbStatus): void => void statuses.push(status)
    await refuses('call', 'blocked', open({ openTimeoutMs: 100, onStatus }, DB_VERSION + 1).list())
    holder.close()
    // Waits its turn behind the late open; a connection left open by that would block it for good.
    let blocked = false
    const deletion = indexedDB.deleteDatabase(database)
    deletion.onblocked = () => (blocked = true)
    await settled(deletion)
    same('deletion was blocked', blocked, false)
    same('statuses', statuses, ['blocked'])
  }),

  databaseCase('W11 an open that hangs fails in time, and the next call tries again', async (open, database) => {
    const holder = await openRaw(database, 1)
    const deletion = settled(indexedDB.deleteDatabase(database))
    const storage = open({ openTimeoutMs: 100 })
    await refuses('list', 'unavailable', storage.list())
    holder.close()
    await deletion
    same('sessions', await storage.list(), [])
  }),

  databaseCase('W11 close while an open hangs settles', async (open, database) => {
    const holder = await openRaw(database, 1)
    const deletion = settled(indexedDB.deleteDatabase(database))
    const storage = open({ openTimeoutMs: 100 })
    const call = refuses('list', 'unavailable', storage.list())
    await storage.close()
    await call
    await refuses('later', 'closed', storage.list())
    holder.close()
    await deletion
  }),

  databaseCase('W11 a deleted database is let go, and begun again by the next call', async (open, database) => {
    const storage = open()
    await store(storage, newSession('a'), [1])
    await settled(indexedDB.deleteDatabase(database))
    await refuses('append', 'not-found', storage.append(batch('a', 1, 1)))
    await store(storage, newSession('a'), [1])
  }),

  databaseCase('W11 all callers share one open; a failed one is tried again', async open => {
    const original = Reflect.get(IDBFactory.prototype, 'open')
    let opens = 0
    const counted: IDBFactory['open'] = function (this: IDBFactory, name, version) {
      if (++opens === 1) throw new DOMException('not in this context', 'SecurityError')
      return original.call(this, name, version)
    }
    await replaced(IDBFactory.prototype, 'open', counted, async () => {
      const storage = open()
      const calls = [storage.list(), storage.get(A)]
      for (const error of await Promise.all(calls.map(call => refuses('call', 'unavailable', call)))) {
        same('cause', (error.cause as Error).name, 'SecurityError')
      }
      await Promise.all([storage.list(), storage.get(A), storage.claim(A)])
      same('opens', opens, 2)
    })
  }),

  databaseCase('W11 a connection found closing is opened again, once', async open => {
    const storage = open()
    await store(storage, newSession('a'), [1])
    const original = Reflect.get(IDBDatabase.prototype, 'transaction')
    let failures = 0
    const failing = (times: number): IDBDatabase['transaction'] =>
      function (this: IDBDatabase, stores, mode, options) {
        if (failures++ < times) throw new DOMException('connection is closing', 'InvalidStateError')
        return original.call(this, stores, mode, options)
      }
    await replaced(IDBDatabase.prototype, 'transaction', failing(1), () => storage.append(batch('a', 1, 1)))
    failures = 0
    await replaced(IDBDatabase.prototype, 'transaction', failing(2), async () => {
      await refuses('append', 'unavailable', storage.append(batch('a', 2, 1)))
    })
    await storage.append(batch('a', 2, 1))
    same('events', await positions(storage, 'a'), seqs('a', 0, 3))
  }),
]
