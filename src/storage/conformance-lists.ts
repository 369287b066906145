/** Promises about lists of sessions, what is said of them, and deletion that can be taken back. */
import { SessionId } from '../core/ids.ts'
import {
  batch,
  isFree,
  newSession,
  positions,
  refuses,
  same,
  seqs,
  type StorageCase,
  storageCase,
  store,
  whole,
} from './conformance-kit.ts'
import type { ListOptions, SessionStorage } from './storage.ts'
import { positionOf } from './stored-session.ts'

const A = SessionId('a')

/** Sessions, each changed at its time. */
async function storeTimes(storage: SessionStorage, times: Readonly<Record<string, number>>): Promise<void> {
  for (const [id, time] of Object.entries(times))
    await storage.append(batch(id, 0, 1, { time, create: newSession(id) }))
}

const listed = async (storage: SessionStorage, options?: ListOptions): Promise<readonly string[]> =>
  (await storage.list(options)).map(({ header }) => header.id)

/** The list in pages of that size. */
async function paged(storage: SessionStorage, limit: number, deleted = false): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = []
  for (let after: ListOptions['after']; ; ) {
    const page = await storage.list({ limit, deleted, ...(after === undefined ? {} : { after }) })
    const last = page.at(-1)
    if (last === undefined) return pages
    pages.push(page.map(({ header }) => header.id))
    after = positionOf(last)
  }
}

const inPages = (ids: readonly string[], limit: number): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(ids.length / limit) }, (_, page) => ids.slice(page * limit, (page + 1) * limit))

export const listCases: readonly StorageCase[] = [
  storageCase('list', 'W18 pages of any size are the list, cut', async storage => {
    await storeTimes(storage, { a: 10, b: 30, c: 20, d: 30, e: 5, f: 30, g: 40 })
    const all = ['g', 'f', 'd', 'b', 'c', 'a', 'e']
    same('all', await listed(storage), all)
    for (let limit = 1; limit <= 8; limit++) same(`by ${limit}`, await paged(storage, limit), inPages(all, limit))
    same('none', await listed(storage, { limit: 0 }), [])
    same('all behind one', await listed(storage, { after: { id: SessionId('d'), updatedAt: 30 } }), all.slice(3))
    same('a place where none is', await listed(storage, { after: { id: A, updatedAt: 25 } }), ['c', 'a', 'e'])
  }),

  storageCase('list', 'W18 pinned sessions come first, in an order of their own', async storage => {
    await storeTimes(storage, { a: 10, b: 30, c: 20, d: 40, e: 50 })
    for (const id of ['a', 'c']) await storage.update(SessionId(id), { pinned: true })
    const all = ['c', 'a', 'e', 'd', 'b']
    same('all', await listed(storage), all)
    for (let limit = 1; limit <= 6; limit++) same(`by ${limit}`, await paged(storage, limit), inPages(all, limit))
    await storage.append(batch('a', 1, 1, { time: 60 }))
    same('after one was changed', await listed(storage), ['a', 'c', 'e', 'd', 'b'])
    await storage.update(A, { pinned: false })
    same('after one was let go', await listed(storage), ['c', 'a', 'e', 'd', 'b'])
    same('nothing is left of it', Object.hasOwn((await storage.get(A)) ?? {}, 'pinned'), false)
  }),

  storageCase('list', 'W18 pages go on where they ended, whatever was changed in between', async storage => {
    await storeTimes(storage, { a: 10, b: 20, c: 30, d: 40 })
    const [first, second] = await storage.list({ limit: 2 })
    same('first page', [first?.header.id, second?.header.id], ['d', 'c'])
    await storage.delete(SessionId('c'))
    await storage.append(batch('a', 1, 1, { time: 50 }))
    await storeTimes(storage, { e: 60 })
    same('second page', await listed(storage, second && { limit: 2, after: positionOf(second) }), ['b'])
    const gone = await storage.update(SessionId('b'), { deletedAt: 70 })
    same('behind one that is deleted by now', await listed(storage, { after: positionOf(gone) }), [])
  }),

  storageCase('update', 'W18 what is said of a session changes nothing else', async storage => {
    await store(storage, newSession('a', [], 'Notes'), [2])
    const before = await storage.get(A)
    same('answer', await storage.update(A, { pinned: true }), { ...before, pinned: true })
    same('record', await storage.get(A), { ...before, pinned: true })
    same('both', await storage.update(A, { pinned: false, title: 'Other' }), { ...before, title: 'Other' })
    same('nothing', await storage.update(A, {}), { ...before, title: 'Other' })
    same('the same', await storage.update(A, { title: 'Other', deletedAt: null }), { ...before, title: 'Other' })
    await storage.append(batch('a', 2, 1))
    same('said of it', (await storage.get(A))?.title, 'Other')
  }),

  storageCase('update', 'W18 what is said of a session outlives its log', async storage => {
    await store(storage, newSession('a'), [2])
    await storage.update(A, { title: 'Notes', pinned: true })
    const { epoch, logId } = (await storage.claim(A)) ?? { epoch: 0, logId: newSession('a').logId }
    await storage.storeLog(
      whole({ ...newSession('a'), logId: newSession('b').logId }, [1], { replaces: { epoch, logId } }),
    )
    const { title, pinned } = (await storage.get(A)) ?? {}
    same('said of it', [title, pinned], ['Notes', true])
    const restored = await storage.restorePrevious(A, epoch)
    same('said of it', [restored.title, restored.pinned], ['Notes', true])
  }),

  storageCase('deleted', 'W19 a deleted session is listed apart, last deleted first', async storage => {
    await storeTimes(storage, { a: 10, b: 20, c: 30, d: 40, e: 50 })
    for (const [id, deletedAt] of [
      ['c', 100],
      ['a', 300],
      ['e', 200],
    ] as const) {
      await storage.update(SessionId(id), { deletedAt })
    }
    same('those that are not', await listed(storage), ['d', 'b'])
    same('those that are', await listed(storage, { deleted: true }), ['a', 'e', 'c'])
    for (const limit of [1, 2, 3]) {
      same(`by ${limit}`, await paged(storage, limit, true), inPages(['a', 'e', 'c'], limit))
      same(`others by ${limit}`, await paged(storage, limit), inPages(['d', 'b'], limit))
    }
    await storage.update(A, { pinned: true })
    same('pinned or not', await listed(storage, { deleted: true }), ['a', 'e', 'c'])
  }),

  storageCase('deleted', 'W19 nobody writes a deleted session; brought back, it is as it was', async storage => {
    await store(storage, newSession('a', [], 'Notes'), [2])
    await storage.update(A, { pinned: true })
    const before = await storage.get(A)
    const gone = await storage.update(A, { deletedAt: 5_000 })
    same('record', gone, { ...before, epoch: 2, deletedAt: 5_000 })
    same('read by its id', await storage.get(A), gone)
    same('its events', await positions(storage, 'a'), seqs('a', 0, 2))
    await refuses('who wrote it', 'stale-epoch', storage.append(batch('a', 2, 1)))
    await refuses('who merges it', 'stale-epoch', storage.merge(A, 1))
    await refuses('who wants to write it', 'deleted', storage.claim(A))
    same('deleted again', await storage.update(A, { deletedAt: 6_000 }), { ...gone, deletedAt: 6_000 })

    same('brought back', await storage.update(A, { deletedAt: null }), { ...before, epoch: 2 })
    same('listed', await listed(storage), ['a'])
    await refuses('who wrote it before', 'stale-epoch', storage.append(batch('a', 2, 1)))
    same('claimed', (await storage.claim(A))?.epoch, 3)
    await storage.append(batch('a', 2, 1, { epoch: 3 }))
    same('events', await positions(storage, 'a'), seqs('a', 0, 3))
  }),

  storageCase('deleted', 'W19 a session is deleted for good whether it was deleted before or not', async storage => {
    await storeTimes(storage, { a: 10, b: 20 })
    await storage.update(A, { deletedAt: 30 })
    for (const id of ['a', 'b']) await storage.delete(SessionId(id))
    same('lists', [await listed(storage), await listed(storage, { deleted: true })], [[], []])
    same('record', await storage.get(A), null)
    same('logs are free', [await isFree(storage, 'a'), await isFree(storage, 'b')], [true, true])
    await refuses('bringing it back', 'not-found', storage.update(A, { deletedAt: null }))
  }),

  storageCase('deleted', 'W9 W19 a deleted session keeps its id and its log', async storage => {
    await storeTimes(storage, { a: 10 })
    await storage.update(A, { deletedAt: 30 })
    await refuses('creating it anew', 'exists', storage.append(batch('a', 0, 1, { create: newSession('a') })))
    same('its log is free', await isFree(storage, 'a'), false)
  }),

  storageCase('deleted', 'W19 a time that is none is refused', async storage => {
    await storeTimes(storage, { a: 10 })
    const before = await storage.get(A)
    for (const deletedAt of [Number.NaN, Infinity]) {
      await refuses('the change', 'invalid-batch', storage.update(A, { deletedAt }))
    }
    same('record', await storage.get(A), before)
  }),
]
