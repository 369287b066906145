/**
 * Databases as released versions wrote them, each kept as a file in `fixtures`, and what becomes of them. For tests; runs
 * in Node on fake-indexeddb and in a browser on the real one.
 */
import { BlobId, LogId, SessionId } from '../core/ids.ts'
import { batch, isFree, newSession, positions, readAll, refuses, same, seqs, whole } from './conformance-kit.ts'
import {
  build,
  type DatabaseCase,
  databaseCase,
  type Dump,
  dump,
  intercepted,
  type Method,
  replaced,
} from './indexeddb-kit.ts'
import { DB_VERSION } from './indexeddb-schema.ts'
import type { SessionRecord, SessionStorage, StorageError } from './storage.ts'
import { endOfInherited } from './stored-session.ts'

const files = import.meta.glob<Dump>('./fixtures/database-v*.json', { eager: true, import: 'default' })

/** The database a released version wrote. */
function fixture(version: number): Dump {
  const found = files[`./fixtures/database-v${version}.json`]
  if (found === undefined) throw new RangeError(`No database of version ${version} was kept`)
  return found
}

/** The sessions in both, the last one first, and their events; `malformed` is one whose record is damaged. */
const eventsOf: Readonly<Record<string, readonly string[] | null>> = {
  titled: [],
  plain: seqs('plain', 0, 6),
  fork: [...seqs('plain', 0, 3), ...seqs('fork-log', 3, 5)],
  grandchild: [...seqs('plain', 0, 3), ...seqs('fork-log', 3, 4), ...seqs('grandchild', 4, 5)],
  malformed: null,
  migrated: seqs('new', 0, 3),
  orphan: [...seqs('gone', 0, 2), ...seqs('orphan', 2, 3)],
}

/** The record of version 1 as it is read now: nobody counted its size, and nothing of it is merged. */
function brought({ previous, ...record }: SessionRecord): SessionRecord {
  const open = <Part extends Pick<SessionRecord, 'inherited'>>(part: Part) => ({
    ...part,
    mergedTo: endOfInherited(part.inherited ?? []),
  })
  return { ...open(record), ...(previous === undefined ? {} : { previous: open(previous) }) }
}

const recordsIn = ({ stores }: Dump): readonly SessionRecord[] =>
  (stores['sessions']?.records ?? []).map(({ value }) => value as SessionRecord)

/** Everything reads as the database of version 1 says. */
async function readsAsVersion1(storage: SessionStorage): Promise<void> {
  const records = new Map(recordsIn(fixture(1)).map(record => [record.header.id, brought(record)]))
  const listed = await storage.list()
  same(
    'order',
    listed.map(({ header }) => header.id),
    Object.keys(eventsOf),
  )
  for (const record of listed) same('listed', record, records.get(record.header.id))
  for (const [id, events] of Object.entries(eventsOf)) {
    if (events === null) await refuses('a damaged record', 'corrupt', storage.get(SessionId(id)))
    else {
      same(`record of ${id}`, await storage.get(SessionId(id)), records.get(id))
      same(`events of ${id}`, await positions(storage, id), events)
    }
  }
}

/** The database of version 1 with other records. */
function withRecords(change: (record: SessionRecord) => object): Dump {
  const { version, stores } = fixture(1)
  const sessions = stores['sessions'] as Dump['stores'][string]
  const records = sessions.records.map(({ key, value }) => ({ key, value: change(value as SessionRecord) }))
  return { version, stores: { ...stores, sessions: { ...sessions, records } } }
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** What an upgrade asks of the database; each of them can fail. */
const steps: readonly Method[] = [
  [IDBDatabase.prototype, 'createObjectStore'],
  [IDBObjectStore.prototype, 'createIndex'],
  [IDBObjectStore.prototype, 'deleteIndex'],
  [IDBObjectStore.prototype, 'openCursor'],
  [IDBCursor.prototype, 'update'],
]

/** Runs `body` while the `n`-th of these calls throws. */
async function withFailingStep(n: number, body: () => Promise<void>): Promise<void> {
  let calls = 0
  const intercept = (proceed: () => unknown): unknown => {
    if (calls++ === n) throw new DOMException('as told', 'QuotaExceededError')
    return proceed()
  }
  await intercepted(steps, intercept, body)
}

export const schemaCases: readonly DatabaseCase[] = [
  databaseCase('W20 a database of version 1 is brought up to date, and reads the same', async (open, database) => {
    await build(database, fixture(1))
    const storage = open()
    await readsAsVersion1(storage)
    same('size', (await storage.get(SessionId('plain')))?.size, undefined)
    await storage.close()
    const { version, stores } = await dump(database)
    same('version', version, DB_VERSION)
    same('segments', stores['segments'], fixture(1).stores['segments'])
    await readsAsVersion1(open())
  }),

  databaseCase('W20 brought up to date or new, a database has the same stores and indexes', async (open, database) => {
    const storage = open()
    await storage.list()
    const upgraded = `${database}-1`
    await build(upgraded, fixture(1))
    const other = open({ name: upgraded })
    await other.list()
    const schemaOf = ({ version, stores }: Dump) => [
      version,
      Object.entries(stores).map(([name, { keyPath, indexes }]) => [name, keyPath, indexes]),
    ]
    const wanted = schemaOf(fixture(DB_VERSION))
    same('schema of a new one', schemaOf(await dump(database)), wanted)
    same('schema of an older one', schemaOf(await dump(upgraded)), wanted)
    await other.delete(SessionId('plain'))
  }),

  databaseCase('W20 a session of version 1 goes on: claimed, written, merged, renamed', async (open, database) => {
    await build(database, fixture(1))
    const storage = open()
    const id = SessionId('plain')
    const { epoch, nextSeq } = (await storage.claim(id)) ?? { epoch: 0, nextSeq: 0 }
    same('epoch', epoch, 4)
    await storage.append(batch('plain', nextSeq, 2, { epoch }))
    same('size', (await storage.get(id))?.size, undefined)
    while (await storage.merge(id, epoch));
    same(
      'segments',
      (await readAll(storage, 'plain')).map(({ count }) => count),
      [8],
    )
    same('events', await positions(storage, 'plain'), seqs('plain', 0, 8))
    same('events of its fork', await positions(storage, 'fork'), eventsOf['fork'])
    same('events of the fork of that', await positions(storage, 'grandchild'), eventsOf['grandchild'])
    await storage.update(id, { title: 'Named', pinned: true })
    same('first of the list', (await storage.list({ limit: 1 }))[0]?.title, 'Named')
  }),

  databaseCase('W20 what sessions of version 1 inherit is kept as long as one needs it', async (open, database) => {
    await build(database, fixture(1))
    const storage = open()
    await storage.delete(SessionId('plain'))
    await storage.delete(SessionId('fork'))
    same('events', await positions(storage, 'grandchild'), eventsOf['grandchild'])
    same('logs in use', [await isFree(storage, 'plain'), await isFree(storage, 'fork-log')], [false, false])
    await storage.delete(SessionId('grandchild'))
    same('logs in use', [await isFree(storage, 'plain'), await isFree(storage, 'fork-log')], [true, true])
    await storage.delete(SessionId('orphan'))
    same('a log nobody owned', await isFree(storage, 'gone'), true)
  }),

  databaseCase('W20 a generation kept by version 1 is brought back or forgotten', async (open, database) => {
    await build(database, fixture(1))
    const id = SessionId('migrated')
    const storage = open()
    const restored = await storage.restorePrevious(id, 4)
    same('log', [restored.logId, restored.header.version, restored.mergedTo], ['old', 2, 0])
    same('events', await positions(storage, 'migrated'), seqs('old', 0, 2))
    same('the log in its place is gone', await isFree(storage, 'new'), true)
    await storage.delete(id)
    same('both are gone', await isFree(storage, 'old'), true)
    const replaces = { epoch: 3, logId: LogId('plain') }
    await storage.storeLog(whole({ ...newSession('plain'), logId: LogId('new') }, [1], { replaces }))
    const { size, ...record } = await storage.restorePrevious(SessionId('plain'), 3)
    same('size of one that nobody counted', size, undefined)
    same('record', record, brought(recordsIn(fixture(1)).find(({ header }) => header.id === 'plain') ?? record))
  }),

  databaseCase('W20 a damaged record keeps no other from being brought up to date', async (open, database) => {
    const damage: Readonly<Record<string, object>> = {
      fork: { inherited: 'none' },
      migrated: { previous: { logId: 'old' } },
      orphan: { inherited: [null, { logId: 'gone', from: 0, to: 2 }], previous: null },
      titled: { updatedAt: Number.NaN, logId: 7 },
    }
    await build(
      database,
      withRecords(record => ({ ...record, ...damage[record.header.id] })),
    )
    const storage = open()
    same('sessions', (await storage.list()).length, Object.keys(eventsOf).length)
    same('events', await positions(storage, 'plain'), eventsOf['plain'])
    same('events', await positions(storage, 'grandchild'), eventsOf['grandchild'])
    for (const id of Object.keys(eventsOf)) await storage.delete(SessionId(id))
    same('sessions', await storage.list(), [])
    const { stores } = await dump(database)
    same('segments', stores['segments']?.records, [])
  }),

  databaseCase('W20 an upgrade that fails at any step leaves the database as it was', async (open, database) => {
    await build(database, fixture(1))
    const before = await dump(database)
    const storage = open()
    let fails = true
    for (let n = 0; fails; n++) {
      await withFailingStep(n, async () => {
        const error = await storage.list().then(
          () => null,
          (thrown: unknown) => thrown,
        )
        fails = error !== null
        if (error !== null) same(`step ${n}`, (error as StorageError).code, 'quota-exceeded')
      })
      if (fails) same(`the database after step ${n}`, await dump(database), before)
    }
    await readsAsVersion1(storage)
  }),

  databaseCase(
    'W10 a database of a later version is refused by name, and not a byte is changed',
    async (open, name) => {
      await build(name, { ...fixture(DB_VERSION), version: DB_VERSION + 1 })
      const before = await dump(name)
      const storage = open()
      const calls = [
        storage.list(),
        storage.claim(SessionId('plain')),
        storage.append(batch('new', 0, 1, { create: newSession('new') })),
        storage.merge(SessionId('plain'), 3),
        storage.collect(Infinity),
        storage.delete(SessionId('plain')),
      ]
      for (const error of await Promise.all(calls.map(call => refuses('a call', 'newer-database', call)))) {
        same('which database', error.message.includes(name), true)
        same('the version this build knows', error.expected, DB_VERSION)
      }
      same('the database', await dump(name), before)
    },
  ),

  databaseCase('W20 a database of the current version is opened as it is', async (open, database) => {
    await build(database, fixture(DB_VERSION))
    const before = await dump(database)
    const original = Reflect.get(IDBFactory.prototype, 'open')
    let upgrades = 0
    const watched: IDBFactory['open'] = function (this: IDBFactory, name, version) {
      const request = original.call(this, name, version)
      request.addEventListener('upgradeneeded', () => upgrades++)
      return request
    }
    const storage = open()
    await replaced(IDBFactory.prototype, 'open', watched, async () => {
      same(
        'order',
        (await storage.list()).map(({ header }) => header.id),
        ['migrated', 'plain', 'fork'],
      )
    })
    same('upgrades', upgrades, 0)
    same('the database', await dump(database), before)
  }),

  databaseCase('W20 a database of version 2 reads as it was written', async (open, database) => {
    await build(database, fixture(2))
    const storage = open()
    const [plain, fork, migrated] = ['plain', 'fork', 'migrated'].map(SessionId) as [SessionId, SessionId, SessionId]
    same(
      'deleted',
      (await storage.list({ deleted: true })).map(({ deletedAt }) => deletedAt),
      [9_000],
    )
    same('events', await positions(storage, 'plain'), seqs('plain', 0, 6))
    same(
      'segments',
      (await readAll(storage, 'plain')).map(({ count }) => count),
      [4, 2],
    )
    same('events of the fork', await positions(storage, 'fork'), [...seqs('plain', 0, 3), ...seqs('fork-log', 3, 5)])
    same('events', await positions(storage, 'migrated'), seqs('new', 0, 3))
    same('previous', (await storage.get(migrated))?.previous?.logId, 'old')
    same('keyframe', await storage.keyframe(plain), { logId: 'plain', seq: 4, text: '{"of":4}' })
    same('inherited keyframe', await storage.keyframe(fork), { logId: 'plain', seq: 2, text: '{"of":2}' })
    same('journal', await storage.journal(plain), [
      { part: 0, text: '["a"]' },
      { part: 1, text: '["b","c"]' },
    ])
    const { key, bytes } = fixture(2).stores['blobs']?.records[0] ?? { key: '' }
    const blob = BlobId(key as string)
    same('blob', [...((await storage.getBlob(blob)) ?? [])], bytes)
    await storage.collect(Infinity)
    same('blob', [...((await storage.getBlob(blob)) ?? [])], bytes)
    same('the log of a draft is free', await isFree(storage, 'draft'), true)
    await storage.delete(SessionId('deleted'))
    same('its log is free', await isFree(storage, 'deleted'), true)
    same('changed by that', isSame(await dump(database), fixture(2)), false)
  }),
]
