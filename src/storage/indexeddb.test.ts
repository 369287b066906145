import 'fake-indexeddb/auto'
import { forceCloseDatabase } from 'fake-indexeddb'
import { describe, expect, it } from 'vitest'
import { LogId, SessionId } from '../core/ids.ts'
import { storageCases } from './conformance.ts'
import { batch, newSession, positions, refuses, seqs, store } from './conformance-kit.ts'
import { databaseCases } from './indexeddb-cases.ts'
import { freshName, replaced } from './indexeddb-kit.ts'
import { requestFaultCases } from './indexeddb-fault-cases.ts'
import { schemaCases } from './indexeddb-schema-cases.ts'
import type { IndexedDbStatus } from './indexeddb-connection.ts'
import { DB_VERSION } from './indexeddb-schema.ts'
import { indexedDbStorage } from './indexeddb.ts'

/** Ends a connection as a browser does that clears the site's data. The package types its argument as the class. */
const endConnection = (db: IDBDatabase): void => forceCloseDatabase(db as never)

describe('IndexedDB storage on fake-indexeddb', () => {
  it.each(storageCases)('$name', storageCase => storageCase.run(() => indexedDbStorage({ name: freshName() })))
  it.each([...databaseCases, ...schemaCases, ...requestFaultCases])('$name', databaseCase => databaseCase.run())

  it('W10 the version of the database is 2', () => {
    expect(DB_VERSION).toBe(2)
  })

  it('W11 without IndexedDB calls are refused as unavailable', async () => {
    const storage = indexedDbStorage({ name: freshName() })
    await replaced(globalThis, 'indexedDB', undefined as unknown as IDBFactory, async () => {
      await refuses('list', 'unavailable', storage.list())
    })
    expect(await storage.list()).toEqual([])
    await storage.close()
  })

  it('W11 a connection the browser ended is forgotten, and the next call opens another', async () => {
    const statuses: IndexedDbStatus[] = []
    const storage = indexedDbStorage({ name: freshName(), onStatus: status => statuses.push(status) })
    const connections: IDBDatabase[] = []
    const original = Reflect.get(IDBDatabase.prototype, 'transaction')
    const spy: IDBDatabase['transaction'] = function (this: IDBDatabase, stores, mode, options) {
      connections.push(this)
      return original.call(this, stores, mode, options)
    }
    await replaced(IDBDatabase.prototype, 'transaction', spy, async () => {
      await store(storage, newSession('a'), [1])
      for (const db of new Set(connections)) endConnection(db)
      await storage.append(batch('a', 1, 1))
    })
    expect(new Set(connections).size).toBe(2)
    expect(statuses).toEqual(['open', 'lost', 'open'])
    expect(await positions(storage, 'a')).toEqual(seqs('a', 0, 2))
    await storage.close()
  })

  it('W11 an append whose transaction is aborted under it is refused, and nothing of it is stored', async () => {
    const storage = indexedDbStorage({ name: freshName() })
    await store(storage, newSession('a'), [1])
    const commit: IDBTransaction['commit'] = function (this: IDBTransaction) {
      this.abort()
    }
    await replaced(IDBTransaction.prototype, 'commit', commit, async () => {
      await refuses('append', 'unavailable', storage.append(batch('a', 1, 1)))
    })
    expect(await positions(storage, 'a')).toEqual(seqs('a', 0, 1))
    await storage.append(batch('a', 1, 1))
    await storage.close()
  })

  it('W11 a transaction aborted for want of space is refused as quota-exceeded', async () => {
    const storage = indexedDbStorage({ name: freshName() })
    await store(storage, newSession('a'), [1])
    // How a browser refuses at commit: the requests succeed, the transaction aborts and says why.
    const commit: IDBTransaction['commit'] = function (this: IDBTransaction) {
      Object.defineProperty(this, 'error', { get: () => new DOMException('disk is full', 'QuotaExceededError') })
      queueMicrotask(() => this.abort())
    }
    await replaced(IDBTransaction.prototype, 'commit', commit, async () => {
      const error = await refuses('append', 'quota-exceeded', storage.append(batch('a', 1, 1)))
      expect(error.cause).toMatchObject({ name: 'QuotaExceededError' })
    })
    expect(await positions(storage, 'a')).toEqual(seqs('a', 0, 1))
    await storage.close()
  })

  it('W11 a transaction that aborts after all its requests succeeded is refused with its reason', async () => {
    const storage = indexedDbStorage({ name: freshName() })
    await store(storage, newSession('a'), [1])
    const original = Reflect.get(IDBObjectStore.prototype, 'add')
    const add: IDBObjectStore['add'] = function (this: IDBObjectStore, value, key) {
      const request = original.call(this, value, key)
      Object.defineProperty(this.transaction, 'error', { get: () => new DOMException('full', 'QuotaExceededError') })
      request.addEventListener('success', () => this.transaction.abort())
      return request
    }
    await replaced(
      IDBTransaction.prototype,
      'commit',
      () => {},
      () =>
        replaced(IDBObjectStore.prototype, 'add', add, async () => {
          const error = await refuses('append', 'quota-exceeded', storage.append(batch('a', 1, 1)))
          expect(error.cause).toMatchObject({ name: 'QuotaExceededError' })
        }),
    )
    expect(await positions(storage, 'a')).toEqual(seqs('a', 0, 1))
    await storage.close()
  })

  it('W2 a header that cannot be kept is refused, and nothing is stored', async () => {
    const storage = indexedDbStorage({ name: freshName() })
    const create = { ...newSession('a'), header: { ...newSession('a').header, cwd: (() => '') as unknown as string } }
    await refuses('append', 'invalid-batch', storage.append(batch('a', 0, 1, { create })))
    expect(await storage.get(SessionId('a'))).toBeNull()
    await storage.append(batch('a', 0, 1, { create: { ...newSession('a'), logId: LogId('a') } }))
    await storage.close()
  })
})
