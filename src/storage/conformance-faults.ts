/** Promises that show when calls fail or their answers get lost: all of it, or nothing; and again does no harm. */
import { BlobId, LogId, SessionId, SessionSeq } from '../core/ids.ts'
import {
  batch,
  ConformanceError,
  newSession,
  range,
  readAll,
  refuses,
  same,
  type StorageCase,
  storageCase,
  store,
  whole,
} from './conformance-kit.ts'
import { type StorageCall, withFaults } from './faults.ts'
import { type SessionStorage, StorageError, type StorageErrorCode } from './storage.ts'

const A = SessionId('a')
const BLOBS = ['1', '2'].map(id => BlobId(`sha256:${id.repeat(64)}`)) as [BlobId, BlobId]

/** `a`, replaced once, with everything; `b`, a fork of it; blobs, one of which nobody refers to. */
export async function storeAll(storage: SessionStorage): Promise<void> {
  for (const id of BLOBS) await storage.putBlob(id, new Uint8Array([1, 2]), 1_000)
  await store(storage, newSession('a', [], 'Notes'), [2, 1])
  await storage.append(batch('a', 3, 1, { keyframe: { seq: SessionSeq(3), text: 'old' }, blobs: [BLOBS[0]] }))
  await store(storage, newSession('b', [range('a', 0, 3)]), [1, 1])
  const session = { ...newSession('a'), logId: LogId('new') }
  await storage.storeLog(whole(session, [2, 2], { replaces: { epoch: 1, logId: LogId('a') } }))
  const keyframe = { seq: SessionSeq(4), text: 'new' }
  await storage.append(batch('a', 4, 1, { logId: LogId('new'), keyframe, journal: { part: 0, text: 'x' } }))
  await storage.append(batch('a', 5, 1, { logId: LogId('new') }))
}

/** What can be seen of a storage with those sessions. */
async function seen(storage: SessionStorage): Promise<unknown> {
  const records = [...(await storage.list()), ...(await storage.list({ deleted: true }))]
  const sessions = records.map(async record => {
    const id = SessionId(record.header.id)
    return [record, await readAll(storage, id), await storage.keyframe(id), await storage.journal(id)]
  })
  const blobs = BLOBS.map(async id => [...((await storage.getBlob(id)) ?? [])])
  return [await Promise.all(sessions), await Promise.all(blobs)]
}

/** Everything that can be changed in it, and what becomes of the same call once more. */
export const changes: readonly {
  readonly what: StorageCall['method']
  readonly change: (storage: SessionStorage) => Promise<unknown>
  readonly again: StorageErrorCode | 'same' | 'raised'
}[] = [
  { what: 'claim', change: storage => storage.claim(A), again: 'raised' },
  {
    what: 'append',
    change: storage =>
      storage.append(
        batch('a', 6, 2, {
          logId: LogId('new'),
          keyframe: { seq: SessionSeq(8), text: 'next', instead: SessionSeq(4) },
          journal: 'settled',
          blobs: BLOBS,
          durability: 'strict',
        }),
      ),
    again: 'seq-conflict',
  },
  {
    what: 'storeLog',
    change: storage => {
      const keyframe = { seq: SessionSeq(5), text: 'whole' }
      return storage.storeLog(
        whole(newSession('c', [range('a', 0, 2)]), [1, 2, 1], { keyframe, blobs: BLOBS, time: 500 }),
      )
    },
    again: 'exists',
  },
  {
    what: 'storeLog',
    change: storage => {
      const session = { ...newSession('a'), logId: LogId('newer') }
      return storage.storeLog(whole(session, [1, 2], { replaces: { epoch: 1, logId: LogId('new') }, time: 500 }))
    },
    again: 'stale-epoch',
  },
  { what: 'forgetPrevious', change: storage => storage.forgetPrevious(A, 1), again: 'same' },
  { what: 'restorePrevious', change: storage => storage.restorePrevious(A, 1), again: 'same' },
  { what: 'merge', change: storage => storage.merge(A, 1), again: 'same' },
  { what: 'update', change: storage => storage.update(A, { title: null, pinned: true, deletedAt: 9 }), again: 'same' },
  { what: 'delete', change: storage => storage.delete(A), again: 'same' },
  { what: 'putBlob', change: storage => storage.putBlob(BLOBS[0], new Uint8Array([1, 2]), 9_000), again: 'same' },
  { what: 'collect', change: storage => storage.collect(5_000), again: 'same' },
]

const lost = (): never => {
  throw new StorageError('unavailable', 'as told')
}

export const faultCases: readonly StorageCase[] = [
  ...changes.map(({ what, change }, index) =>
    storageCase('faults', `W7 ${what} (${index}) that fails changes nothing, and can be tried again`, async storage => {
      await storeAll(storage)
      const before = await seen(storage)
      const full = withFaults(storage, async () => {
        throw new StorageError('quota-exceeded', 'as told')
      })
      await refuses(what, 'quota-exceeded', change(full))
      same('what is stored', await seen(storage), before)
      await change(storage)
    }),
  ),

  ...changes.map(({ what, change, again }, index) =>
    storageCase(
      'faults',
      `W7 ${what} (${index}) whose answer was lost was carried out, and once more does no harm`,
      async storage => {
        await storeAll(storage)
        const calls: StorageCall[] = []
        const faulty = withFaults(storage, async (call, proceed) => {
          calls.push(call)
          await proceed()
          return lost()
        })
        await refuses(what, 'unavailable', change(faulty))
        same(
          'calls',
          calls.map(({ method }) => method),
          [what],
        )
        const after = await seen(storage)
        if (again === 'same' || again === 'raised') await change(storage)
        else await refuses('once more', again, change(storage))
        if (again !== 'raised') same('what is stored', await seen(storage), after)
      },
    ),
  ),

  storageCase('faults', 'W7 the n-th call can fail, or wait; all others are let through', async storage => {
    let calls = 0
    let letThrough = (): void => {}
    const waited = new Promise<void>(resolve => (letThrough = resolve))
    const faulty = withFaults(storage, async ({ method, args }, proceed) => {
      if (method !== 'append') return proceed()
      same('arguments', (args[0] as { id?: unknown }).id, 'a')
      if (++calls === 2) return lost()
      if (calls === 3) await waited
      return proceed()
    })
    same('facts', [faulty.kind, faulty.name], [storage.kind, storage.name])
    await faulty.append(batch('a', 0, 1, { create: newSession('a') }))
    await refuses('the second', 'unavailable', faulty.append(batch('a', 1, 1)))
    let isStored = false
    const third = faulty.append(batch('a', 1, 1)).then(() => (isStored = true))
    same('next seq', (await faulty.get(A))?.nextSeq, 1)
    if (isStored) throw new ConformanceError('A call that waits was carried out')
    letThrough()
    await third
    same('next seq', (await faulty.get(A))?.nextSeq, 2)
  }),
]
