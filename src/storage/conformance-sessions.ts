/** Promises about records: get, list, rename, close. */
import { SessionId } from '../core/ids.ts'
import {
  type StorageCase,
  batch,
  newSession,
  readAll,
  refuses,
  same,
  seqs,
  positions,
  store,
  storageCase,
} from './conformance-kit.ts'

const A = SessionId('a')

export const sessionCases: readonly StorageCase[] = [
  storageCase('records', 'W1 a storage starts empty', async storage => {
    same('sessions', await storage.list(), [])
    same('record', await storage.get(A), null)
    same('kind is named', storage.kind.length > 0, true)
  }),

  storageCase('records', 'W1 sessions are listed last changed first', async storage => {
    for (const [id, time] of [
      ['a', 10],
      ['b', 30],
      ['c', 20],
    ] as const) {
      await storage.append(batch(id, 0, 1, { time, create: newSession(id) }))
    }
    const ids = async (): Promise<readonly string[]> => (await storage.list()).map(record => record.header.id)
    same('order', await ids(), ['b', 'c', 'a'])
    await storage.append(batch('a', 1, 1, { time: 40 }))
    same('order after a changed', await ids(), ['a', 'b', 'c'])
    same('records', await storage.list(), [
      await storage.get(A),
      await storage.get(SessionId('b')),
      await storage.get(SessionId('c')),
    ])
  }),

  storageCase('records', 'W1 sessions changed at the same time are all listed', async storage => {
    for (const id of ['a', 'b', 'c']) await store(storage, newSession(id), [1])
    same('ids', (await storage.list()).map(record => record.header.id).sort(), ['a', 'b', 'c'])
  }),

  storageCase('records', 'W1 ids may be any text', async storage => {
    const ids = ['ä/\\ "', '\u0000', '\ud800', ' ', '__proto__', 'constructor']
    for (const id of ids) await store(storage, newSession(id), [1, 1])
    for (const id of ids) {
      same('id', (await storage.get(SessionId(id)))?.header.id, id)
      same('events', await positions(storage, id), seqs(id, 0, 2))
    }
    same('sessions', (await storage.list()).length, ids.length)
  }),

  storageCase('rename', 'W1 rename sets and removes the title and nothing else', async storage => {
    await store(storage, newSession('a'), [2])
    await storage.claim(A)
    const before = await storage.get(A)
    await storage.update(A, { title: 'Notes' })
    same('record', await storage.get(A), { ...before, title: 'Notes' })
    await storage.update(A, { title: '' })
    same('record', await storage.get(A), { ...before, title: '' })
    await storage.update(A, { title: null })
    same('record', await storage.get(A), before)
    same('title is absent', Object.hasOwn((await storage.get(A)) ?? {}, 'title'), false)
    await storage.append(batch('a', 2, 1, { epoch: 2 }))
  }),

  storageCase('rename', 'W1 a title outlives appends and claims', async storage => {
    await store(storage, newSession('a', [], 'Notes'), [1, 1])
    await storage.claim(A)
    same('title', (await storage.get(A))?.title, 'Notes')
  }),

  storageCase('rename', 'W1 renaming a session that is not stored is refused', async storage => {
    await refuses('rename', 'not-found', storage.update(A, { title: 'Notes' }))
    same('sessions', await storage.list(), [])
  }),

  storageCase('close', 'W1 after close every call rejects as closed', async storage => {
    await store(storage, newSession('a'), [1])
    await storage.close()
    await refuses('list', 'closed', storage.list())
    await refuses('get', 'closed', storage.get(A))
    await refuses('claim', 'closed', storage.claim(A))
    await refuses('append', 'closed', storage.append(batch('a', 1, 1)))
    await refuses('read', 'closed', readAll(storage, 'a'))
    await refuses('rename', 'closed', storage.update(A, { title: null }))
    await refuses('delete', 'closed', storage.delete(A))
    await storage.close()
  }),

  storageCase('close', 'W1 a storage can be closed before it was used', async storage => {
    await storage.close()
    await refuses('list', 'closed', storage.list())
  }),
]
