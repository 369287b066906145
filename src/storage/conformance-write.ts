/** Promises about writing: order, wholeness, who may write, what text survives. */
import { LogId, SessionId } from '../core/ids.ts'
import {
  type StorageCase,
  batch,
  events,
  header,
  newSession,
  positions,
  range,
  readAll,
  refuses,
  same,
  seqs,
  sizeOf,
  store,
  storageCase,
} from './conformance-kit.ts'
import type { AppendBatch, SessionStorage, StorageErrorCode } from './storage.ts'

const A = SessionId('a')

/** Asserts that a batch is refused with `code` and that neither the record nor the events of `a` changed. */
async function refusedWhole(storage: SessionStorage, code: StorageErrorCode, refused: AppendBatch): Promise<void> {
  const before = [await storage.list(), await readAll(storage, 'a')]
  const error = await refuses('the batch', code, storage.append(refused))
  same('the session the error names', error.sessionId, refused.id)
  same('what is stored', [await storage.list(), await readAll(storage, 'a')], before)
}

/** A stored text comes back unit by unit, lone surrogates and zeros included. */
async function keepsText(storage: SessionStorage, text: string): Promise<void> {
  await storage.append(batch('a', 0, 1, { text, create: newSession('a') }))
  const [segment] = await readAll(storage, 'a')
  // Compared as strings: JSON escapes would hide a replaced surrogate.
  same('length of the text', segment?.text.length, text.length)
  same('text is the same', segment?.text === text, true)
}

/** Batches that contradict themselves; all fail before anything is stored. */
const contradictions: readonly (readonly [what: string, refused: AppendBatch])[] = [
  ['a count below 0', batch('b', 0, -1, { text: '[]', create: newSession('b') })],
  ['a count that is no integer', batch('b', 0, 1.5, { text: '[]', create: newSession('b') })],
  ['a first seq below 0', batch('b', -1, 1, { text: '[]', create: newSession('b') })],
  ['an epoch other than 1 for a new session', batch('b', 0, 1, { epoch: 2, create: newSession('b') })],
  ['a new session that does not start at 0', batch('b', 1, 1, { create: newSession('b') })],
  ['a fork that does not start after its ranges', batch('b', 0, 1, { create: newSession('b', [range('a', 0, 2)]) })],
  ['ranges that do not start at 0', batch('b', 2, 1, { create: newSession('b', [range('a', 1, 2)]) })],
  ['ranges with a gap', batch('b', 3, 1, { create: newSession('b', [range('a', 0, 1), range('c', 2, 3)]) })],
  ['an empty range', batch('b', 0, 1, { create: newSession('b', [range('a', 0, 0)]) })],
  ['a session that inherits from itself', batch('b', 2, 1, { create: newSession('b', [range('b', 0, 2)]) })],
  ['a header of another session', batch('b', 0, 1, { create: { ...newSession('b'), header: header('c') } })],
  ['a time that is no number', batch('b', 0, 1, { time: Number.NaN, create: newSession('b') })],
  ['an empty id', batch('', 0, 1, { create: { ...newSession(''), logId: LogId('x') } })],
]

export const writeCases: readonly StorageCase[] = [
  storageCase('append', 'W1 append is whole and in order', async storage => {
    await store(storage, newSession('a'), [2, 1, 3])
    same('events', await positions(storage, 'a'), seqs('a', 0, 6))
    const record = await storage.get(A)
    same('next seq', record?.nextSeq, 6)
    same('epoch of a new session', record?.epoch, 1)
  }),

  storageCase('append', 'W1 appends issued without waiting are stored in order', async storage => {
    const writes = [storage.append(batch('a', 0, 1, { create: newSession('a') }))]
    for (let seq = 1; seq < 20; seq++) writes.push(storage.append(batch('a', seq, 1)))
    await Promise.all(writes)
    same('events', await positions(storage, 'a'), seqs('a', 0, 20))
  }),

  storageCase(
    'append',
    'W1 a session is stored with its header, log, title and the time of its batch',
    async storage => {
      const create = { ...newSession('a', [], 'Notes'), logId: LogId('log') }
      await storage.append(batch('a', 0, 2, { time: 5_000, create }))
      const expected = { ...create, nextSeq: 2, epoch: 1, updatedAt: 5_000, mergedTo: 0, size: sizeOf('a', 0, 2) }
      same('record', await storage.get(A), expected)
      await storage.append(batch('a', 2, 1, { time: 4_000, logId: create.logId }))
      const size = sizeOf('a', 0, 2) + sizeOf('a', 2, 1)
      same('record', await storage.get(A), { ...expected, nextSeq: 3, updatedAt: 4_000, size })
    },
  ),

  storageCase('append', 'W1 two sessions do not touch each other', async storage => {
    await store(storage, newSession('a'), [2])
    await store(storage, newSession('b'), [1])
    await Promise.all([
      storage.append(batch('a', 2, 1)),
      storage.append(batch('b', 1, 3)),
      storage.claim(SessionId('b')),
    ])
    same('events of a', await positions(storage, 'a'), seqs('a', 0, 3))
    same('events of b', await positions(storage, 'b'), seqs('b', 0, 4))
    same('epoch of a', (await storage.get(A))?.epoch, 1)
  }),

  storageCase('append', 'W1 what a caller does to its objects later is not stored', async storage => {
    const create = { ...newSession('a'), header: { ...header('a'), cwd: '/then' } }
    await storage.append(batch('a', 0, 1, { create }))
    create.header.cwd = '/now'
    same('cwd', (await storage.get(A))?.header.cwd, '/then')
  }),

  ...[-1, 1, 2].map(offset =>
    storageCase(
      'append',
      `W2 a batch that starts at the stored next seq ${offset < 0 ? offset : `+${offset}`} is refused whole`,
      async storage => {
        await store(storage, newSession('a'), [2])
        await refusedWhole(storage, 'seq-conflict', batch('a', 2 + offset, 2))
        await storage.append(batch('a', 2, 1))
        same('events', await positions(storage, 'a'), seqs('a', 0, 3))
      },
    ),
  ),

  storageCase('append', 'W2 of two batches for the same seq one is stored (case 118)', async storage => {
    await store(storage, newSession('a'), [1])
    const both = await Promise.allSettled([storage.append(batch('a', 1, 1)), storage.append(batch('a', 1, 2))])
    const [first, second] = both.map(result => result.status)
    same('one is stored', [first, second].sort(), ['fulfilled', 'rejected'])
    same('events', await positions(storage, 'a'), seqs('a', 0, first === 'fulfilled' ? 2 : 3))
  }),

  storageCase('append', 'W2 an empty batch at the wrong seq is refused (case 115)', async storage => {
    await store(storage, newSession('a'), [2])
    await refusedWhole(storage, 'seq-conflict', batch('a', 1, 0, { durability: 'strict' }))
  }),

  storageCase('append', 'W2 a batch for a session that is not stored is refused', async storage => {
    await refuses('append', 'not-found', storage.append(batch('a', 0, 1)))
    same('sessions', await storage.list(), [])
  }),

  ...contradictions.map(([what, refused]) =>
    storageCase('append', `W2 ${what} is refused`, async storage => {
      await store(storage, newSession('a'), [2])
      await refusedWhole(storage, 'invalid-batch', refused)
    }),
  ),

  storageCase('ownership', 'W3 an old epoch is refused whole, the new one is served (case 118)', async storage => {
    await store(storage, newSession('a'), [2])
    const claimed = await storage.claim(A)
    same('claimed record', claimed, await storage.get(A))
    same('epoch', claimed?.epoch, 2)
    await refusedWhole(storage, 'stale-epoch', batch('a', 2, 1, { epoch: 1 }))
    await storage.append(batch('a', 2, 1, { epoch: 2 }))
    same('events', await positions(storage, 'a'), seqs('a', 0, 3))
  }),

  storageCase('ownership', 'W3 an overtaken writer learns of the epoch before it learns of the seq', async storage => {
    await store(storage, newSession('a'), [2])
    await storage.claim(A)
    await storage.append(batch('a', 2, 2, { epoch: 2 }))
    await refusedWhole(storage, 'stale-epoch', batch('a', 2, 1, { epoch: 1 }))
  }),

  storageCase('ownership', 'W3 every claim has an epoch of its own, also when several run at once', async storage => {
    await store(storage, newSession('a'), [])
    const claims = await Promise.all([storage.claim(A), storage.claim(A), storage.claim(A)])
    same('epochs', claims.map(record => record?.epoch).sort(), [2, 3, 4])
    await refusedWhole(storage, 'stale-epoch', batch('a', 0, 1, { epoch: 3 }))
  }),

  storageCase('ownership', 'W3 a writer of a session that was deleted and created anew is refused', async storage => {
    await store(storage, newSession('a'), [2])
    await storage.delete(A)
    await store(storage, { ...newSession('a'), logId: LogId('a-again') }, [2])
    await refusedWhole(storage, 'stale-epoch', batch('a', 2, 1))
    await storage.append(batch('a', 2, 1, { logId: LogId('a-again') }))
  }),

  storageCase('ownership', 'W3 a claim changes nothing but the epoch', async storage => {
    await store(storage, newSession('a', [], 'Notes'), [2])
    const before = await storage.get(A)
    same('record', await storage.claim(A), { ...before, epoch: 2 })
  }),

  storageCase(
    'ownership',
    'W3 claiming a session that is not stored answers null and stores nothing',
    async storage => {
      same('claim', await storage.claim(A), null)
      same('sessions', await storage.list(), [])
    },
  ),

  storageCase('create', 'W2 creating a stored session is refused whole', async storage => {
    await store(storage, newSession('a'), [2])
    await refusedWhole(storage, 'exists', batch('a', 0, 1, { create: { ...newSession('a'), logId: LogId('other') } }))
  }),

  storageCase('create', 'W2 of several creators of one session one succeeds', async storage => {
    const creators = [1, 2, 3].map(count => {
      const create = { ...newSession('a'), logId: LogId(`log${count}`) }
      return storage.append(batch('a', 0, count, { create }))
    })
    const results = await Promise.allSettled(creators)
    const winner = results.findIndex(result => result.status === 'fulfilled')
    same('winners', results.filter(result => result.status === 'fulfilled').length, 1)
    for (const [index, creator] of creators.entries()) if (index !== winner) await refuses('creator', 'exists', creator)
    same('events', await positions(storage, 'a'), seqs('a', 0, winner + 1))
    same('log', (await storage.get(A))?.logId, `log${winner + 1}`)
  }),

  storageCase('create', 'W2 a new session cannot take a log that holds events', async storage => {
    await store(storage, newSession('a'), [2])
    await refusedWhole(storage, 'exists', batch('b', 0, 1, { create: { ...newSession('b'), logId: LogId('a') } }))
  }),

  storageCase('create', 'W2 a new session cannot take the log of one that has no events yet', async storage => {
    await store(storage, newSession('a'), [])
    await refusedWhole(storage, 'exists', batch('b', 0, 1, { create: { ...newSession('b'), logId: LogId('a') } }))
    await storage.append(batch('a', 0, 1))
  }),

  storageCase('create', 'W6 an empty session can be created strictly and written to later', async storage => {
    await storage.append(batch('a', 0, 0, { text: '[]', durability: 'strict', create: newSession('a') }))
    same('next seq', (await storage.get(A))?.nextSeq, 0)
    same('events', await readAll(storage, 'a'), [])
    await storage.append(batch('a', 0, 2))
    same('events', await positions(storage, 'a'), seqs('a', 0, 2))
  }),

  storageCase(
    'flush',
    'W6 an empty strict batch after relaxed ones adds nothing, and changes no time',
    async storage => {
      await store(storage, newSession('a'), [2])
      const before = await storage.get(A)
      await storage.append(batch('a', 2, 0, { text: '[]', durability: 'strict', time: 9_000 }))
      same('record', await storage.get(A), before)
      same('segments', await readAll(storage, 'a'), [{ firstSeq: 0, count: 2, text: events('a', 0, 2) }])
    },
  ),

  storageCase('append', 'W1 events nobody made leave the time of the last change alone', async storage => {
    await store(storage, newSession('a'), [2])
    await storage.append(batch('a', 2, 1, { time: null }))
    same('updated', [(await storage.get(A))?.updatedAt, (await storage.get(A))?.nextSeq], [2_000, 3])
    await storage.append(batch('b', 0, 1, { time: null, create: newSession('b') }))
    same('updated, of a new one', (await storage.get(SessionId('b')))?.updatedAt, 1_000)
  }),

  storageCase('append', 'W18 the size of a session is the length of the text of its own events', async storage => {
    await store(storage, newSession('a'), [2, 3])
    await storage.append(batch('a', 5, 0, { text: '[]', durability: 'strict' }))
    same('size', (await storage.get(A))?.size, sizeOf('a', 0, 2) + sizeOf('a', 2, 3))
    await store(storage, newSession('b', [range('a', 0, 3)]), [1])
    same('size of a fork', (await storage.get(SessionId('b')))?.size, sizeOf('b', 3, 1))
  }),

  storageCase('text', 'W4 one segment per batch holds the text as it was given', async storage => {
    await store(storage, newSession('a'), [2, 1])
    const expected = [
      { firstSeq: 0, count: 2, text: events('a', 0, 2) },
      { firstSeq: 2, count: 1, text: events('a', 2, 1) },
    ]
    same('segments', await readAll(storage, 'a'), expected)
  }),

  storageCase('text', 'W4 lone surrogates and U+0000 survive', storage =>
    keepsText(storage, '["\u0000 \ud800 \udfff \ud83d\ude00 \ufeff \ufffe \u2028 ß"]'),
  ),
  storageCase('text', 'W4 a text of 1 MB survives', storage =>
    keepsText(storage, `["${'né\ud800 '.repeat(262_144)}"]`),
  ),
]
