/** Promises about blobs: bytes that are kept as long as a log refers to them. */
import { BlobId, LogId, SessionId } from '../core/ids.ts'
import {
  batch,
  newSession,
  range,
  refuses,
  same,
  type StorageCase,
  storageCase,
  store,
  whole,
} from './conformance-kit.ts'
import type { SessionStorage } from './storage.ts'

const [A, B] = ['a', 'b'].map(SessionId) as [SessionId, SessionId]

/** A blob of one byte, and its id. */
const blob = (byte: number): BlobId => BlobId(`sha256:${byte.toString(16).padStart(64, '0')}`)
const put = (storage: SessionStorage, byte: number, time = 1_000): Promise<void> =>
  storage.putBlob(blob(byte), new Uint8Array([byte]), time)

/** Those of the blobs 1 … `count` that are stored. */
async function kept(storage: SessionStorage, count: number): Promise<readonly number[]> {
  const found: number[] = []
  for (let byte = 1; byte <= count; byte++) {
    const bytes = await storage.getBlob(blob(byte))
    if (bytes === null) continue
    same('bytes', [...bytes], [byte])
    found.push(byte)
  }
  return found
}

export const blobCases: readonly StorageCase[] = [
  storageCase('blobs', 'W17 bytes come back as they were given, one by one', async storage => {
    const bytes = new Uint8Array(100_000).map((_, index) => index * 7)
    await storage.putBlob(blob(1), bytes, 1_000)
    bytes[0] = 99
    const read = (await storage.getBlob(blob(1))) ?? new Uint8Array()
    same('length', read.length, bytes.length)
    same('bytes', read[0] === 0 && read.every((byte, index) => index === 0 || byte === bytes[index]), true)
    read[1] = 99
    same('what a reader does to them', (await storage.getBlob(blob(1)))?.[1], 7)
    same('one that is not stored', await storage.getBlob(blob(2)), null)
    await storage.putBlob(blob(2), new Uint8Array(), 1_000)
    same('no bytes at all', (await storage.getBlob(blob(2)))?.length, 0)
  }),

  storageCase('blobs', 'W17 a part of a buffer is stored without the rest of it', async storage => {
    await storage.putBlob(blob(1), new Uint8Array(new ArrayBuffer(1_000), 10, 3).fill(5), 1_000)
    const bytes = await storage.getBlob(blob(1))
    same('bytes', [...(bytes ?? [])], [5, 5, 5])
    same('length of what holds them', bytes?.buffer.byteLength, 3)
  }),

  storageCase('blobs', 'W17 what is stored already counts as new', async storage => {
    await put(storage, 1)
    await put(storage, 1, 3_000)
    await storage.collect(2_000)
    same('kept', await kept(storage, 1), [1])
    await storage.collect(3_000)
    same('kept', await kept(storage, 1), [1])
    await storage.collect(3_001)
    same('kept', await kept(storage, 1), [])
  }),

  storageCase('blobs', 'W17 only what is old and no log refers to is collected', async storage => {
    for (const byte of [1, 2, 3]) await put(storage, byte)
    await put(storage, 4, 5_000)
    await storage.append(batch('a', 0, 1, { create: newSession('a'), blobs: [blob(1)] }))
    await storage.append(batch('a', 1, 1, { blobs: [blob(1), blob(2)] }))
    await storage.collect(4_000)
    same('kept', await kept(storage, 4), [1, 2, 4])
    await storage.delete(A)
    same('kept until somebody collects', await kept(storage, 4), [1, 2, 4])
    await storage.collect(Infinity)
    same('kept', await kept(storage, 4), [])
  }),

  storageCase('blobs', 'W17 of two sessions that refer to a blob, the last one takes it along', async storage => {
    await put(storage, 1)
    for (const id of ['a', 'b']) await storage.append(batch(id, 0, 1, { create: newSession(id), blobs: [blob(1)] }))
    await storage.delete(A)
    await storage.collect(Infinity)
    same('kept', await kept(storage, 1), [1])
    await storage.delete(B)
    await storage.collect(Infinity)
    same('kept', await kept(storage, 1), [])
  }),

  storageCase('blobs', 'W17 a fork keeps the blobs of what it inherits', async storage => {
    for (const byte of [1, 2]) await put(storage, byte)
    await storage.append(batch('a', 0, 2, { create: newSession('a'), blobs: [blob(1)] }))
    await store(storage, newSession('b', [range('a', 0, 2)]), [1])
    await storage.append(batch('b', 3, 1, { blobs: [blob(2)] }))
    await storage.delete(A)
    await storage.collect(Infinity)
    same('kept', await kept(storage, 2), [1, 2])
    await storage.delete(B)
    await storage.collect(Infinity)
    same('kept', await kept(storage, 2), [])
  }),

  storageCase('blobs', 'W17 W19 a deleted session that can be brought back keeps its blobs', async storage => {
    await put(storage, 1)
    await storage.append(batch('a', 0, 1, { create: newSession('a'), blobs: [blob(1)] }))
    await storage.update(A, { deletedAt: 2_000 })
    await storage.collect(Infinity)
    same('kept', await kept(storage, 1), [1])
  }),

  storageCase('blobs', 'W17 a refused batch refers to nothing', async storage => {
    await put(storage, 1)
    await store(storage, newSession('a'), [1])
    await refuses('the batch', 'seq-conflict', storage.append(batch('a', 0, 1, { blobs: [blob(1)] })))
    await storage.collect(Infinity)
    same('kept', await kept(storage, 1), [])
  }),

  storageCase('blobs', 'W13 W17 each generation of a log keeps its own blobs', async storage => {
    for (const byte of [1, 2, 3]) await put(storage, byte)
    await storage.append(batch('a', 0, 1, { create: newSession('a'), blobs: [blob(1)] }))
    const session = { ...newSession('a'), logId: LogId('new') }
    await storage.storeLog(whole(session, [2], { replaces: { epoch: 1, logId: LogId('a') }, blobs: [blob(2)] }))
    await storage.collect(Infinity)
    same('kept', await kept(storage, 3), [1, 2])
    await storage.restorePrevious(A, 1)
    await storage.collect(Infinity)
    same('kept', await kept(storage, 3), [1])
    await storage.storeLog(whole(session, [2], { replaces: { epoch: 1, logId: LogId('a') } }))
    await storage.forgetPrevious(A, 1)
    await storage.collect(Infinity)
    same('kept', await kept(storage, 3), [])
  }),
]
