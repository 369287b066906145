/** Promises about what comes with the events of a log: keyframes and the journal of a running call. */
import { LogId, SessionId, SessionSeq } from '../core/ids.ts'
import {
  batch,
  type BatchParts,
  isFree,
  newSession,
  positions,
  range,
  refuses,
  same,
  seqs,
  type StorageCase,
  storageCase,
  store,
} from './conformance-kit.ts'
import type { AppendBatch, NewKeyframe, SessionStorage } from './storage.ts'

const [A, B, C] = ['a', 'b', 'c'].map(SessionId) as [SessionId, SessionId, SessionId]

/** A keyframe of so many events of `log`. */
const of = (log: string, seq: number, instead?: number): NewKeyframe => ({
  seq: SessionSeq(seq),
  text: `${log} at ${seq}`,
  ...(instead === undefined ? {} : { instead: SessionSeq(instead) }),
})

/** Seq and log of the keyframe of a session for at most so many events. */
async function found(storage: SessionStorage, id: SessionId, atMost?: number): Promise<string | null> {
  const keyframe = await storage.keyframe(id, atMost === undefined ? undefined : SessionSeq(atMost))
  if (keyframe === null) return null
  same('text of a keyframe', keyframe.text, `${keyframe.logId} at ${keyframe.seq}`)
  return keyframe.text
}

/** `a` with 6 events and keyframes of 2, 4 and 6. */
async function storeKeyframes(storage: SessionStorage): Promise<void> {
  await storage.append(batch('a', 0, 2, { create: newSession('a'), keyframe: of('a', 2) }))
  await storage.append(batch('a', 2, 3, { keyframe: of('a', 4) }))
  await storage.append(batch('a', 5, 1, { keyframe: of('a', 6) }))
}

/** A batch without events. */
const extra = (seq: number, parts: BatchParts): AppendBatch => batch('a', seq, 0, { text: '[]', ...parts })

const part = (number: number, text: string) => ({ part: number, text })

export const extraCases: readonly StorageCase[] = [
  storageCase('keyframes', 'W15 the last keyframe of at most so many events is found', async storage => {
    await storeKeyframes(storage)
    const expected = [null, null, 'a at 2', 'a at 2', 'a at 4', 'a at 4', 'a at 6']
    for (const [atMost, text] of expected.entries()) same(`at most ${atMost}`, await found(storage, A, atMost), text)
    same('the last one', await found(storage, A), 'a at 6')
    same('more than there are', await found(storage, A, 9), 'a at 6')
    same('record', (await storage.get(A))?.nextSeq, 6)
  }),

  storageCase('keyframes', 'W15 a session without keyframes has none, an unknown one is refused', async storage => {
    await store(storage, newSession('a'), [2])
    same('keyframe', await storage.keyframe(A), null)
    await refuses('keyframe', 'not-found', storage.keyframe(B))
  }),

  storageCase('keyframes', 'W15 a keyframe may come after its events, and again', async storage => {
    await store(storage, newSession('a'), [3])
    await storage.append(extra(3, { keyframe: of('a', 3) }))
    await storage.append(extra(3, { keyframe: of('a', 2) }))
    await storage.append(extra(3, { keyframe: of('a', 3) }))
    same('keyframes', [await found(storage, A), await found(storage, A, 2)], ['a at 3', 'a at 2'])
    await storage.append(extra(3, { keyframe: { seq: SessionSeq(3), text: 'other' } }))
    same('text', (await storage.keyframe(A))?.text, 'other')
  }),

  storageCase('keyframes', 'W15 a keyframe takes the place of the one it is stored instead of', async storage => {
    await storeKeyframes(storage)
    await storage.append(batch('a', 6, 1, { keyframe: of('a', 7, 6) }))
    same('at most 6', await found(storage, A, 6), 'a at 4')
    await storage.append(batch('a', 7, 1, { keyframe: of('a', 8, 1) }))
    same('keyframes', [await found(storage, A), await found(storage, A, 7)], ['a at 8', 'a at 7'])
  }),

  storageCase('keyframes', 'W15 a refused batch leaves no keyframe, and takes none away', async storage => {
    await storeKeyframes(storage)
    await storage.claim(A)
    const refused: readonly (readonly [code: 'invalid-batch' | 'stale-epoch' | 'seq-conflict', AppendBatch])[] = [
      ['invalid-batch', batch('a', 6, 1, { epoch: 2, keyframe: of('a', 8, 6) })],
      ['invalid-batch', batch('a', 6, 1, { epoch: 2, keyframe: { ...of('a', 7, 6), seq: SessionSeq(-1) } })],
      ['stale-epoch', batch('a', 6, 1, { keyframe: of('a', 7, 6) })],
      ['seq-conflict', batch('a', 5, 1, { epoch: 2, keyframe: of('a', 5, 6) })],
    ]
    for (const [code, batchOf] of refused) await refuses('the batch', code, storage.append(batchOf))
    same('keyframes', [await found(storage, A), await found(storage, A, 5)], ['a at 6', 'a at 4'])
    same('events', await positions(storage, 'a'), seqs('a', 0, 6))
  }),

  storageCase('keyframes', 'W15 keyframes of inherited logs are found as far as they are inherited', async storage => {
    await storeKeyframes(storage)
    await store(storage, newSession('b', [range('a', 0, 5)]), [1])
    same('before it has own ones', await found(storage, B), 'a at 4')
    await storage.append(batch('b', 6, 2, { keyframe: of('b', 7) }))
    const expected = [null, null, 'a at 2', 'a at 2', 'a at 4', 'a at 4', 'a at 4', 'b at 7', 'b at 7']
    for (const [atMost, text] of expected.entries()) same(`at most ${atMost}`, await found(storage, B, atMost), text)

    await store(storage, newSession('c', [range('a', 0, 5), range('b', 5, 7)]), [2])
    same('of a fork of a fork', await found(storage, C), 'b at 7')
    await store(storage, newSession('d', [range('a', 0, 5), range('b', 5, 6)]), [2])
    same('one that ends before it', await found(storage, SessionId('d')), 'a at 4')
  }),

  storageCase('keyframes', 'W15 a fork may have a keyframe of its own for all that it inherits', async storage => {
    await store(storage, newSession('a'), [4])
    const create = newSession('b', [range('a', 0, 3)])
    await storage.append(batch('b', 3, 0, { text: '[]', create, keyframe: of('b', 3) }))
    same('keyframe', await found(storage, B), 'b at 3')
    same('of its source', await found(storage, A), null)
    await store(storage, newSession('c', [range('a', 0, 3)]), [1])
    same('of another fork', await found(storage, C), null)
  }),

  storageCase('keyframes', 'W9 W15 keyframes are kept as long as a session needs their log', async storage => {
    await storeKeyframes(storage)
    await store(storage, newSession('b', [range('a', 0, 5)]), [1])
    await storage.delete(A)
    same('inherited', await found(storage, B), 'a at 4')
    await storage.delete(B)
    await store(storage, newSession('a'), [6])
    same('of a new session on that log', await found(storage, A), null)
  }),

  storageCase('journal', 'W16 parts of a journal are read in order; the first one replaces all', async storage => {
    await store(storage, newSession('a'), [1])
    same('at first', await storage.journal(A), [])
    for (const number of [0, 1, 2]) await storage.append(extra(1, { journal: part(number, `old ${number}`) }))
    await storage.append(extra(1, { journal: part(2, 'again') }))
    same('journal', await storage.journal(A), [part(0, 'old 0'), part(1, 'old 1'), part(2, 'again')])
    await storage.append(batch('a', 1, 1, { journal: part(0, 'new') }))
    same('journal', await storage.journal(A), [part(0, 'new')])
    for (let number = 1; number < 12; number++) await storage.append(extra(2, { journal: part(number, 'more') }))
    same(
      'order',
      (await storage.journal(A)).map(each => each.part),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    )
    same('events', await positions(storage, 'a'), seqs('a', 0, 2))
  }),

  storageCase('journal', 'W16 a settled journal is forgotten with the events that settle it', async storage => {
    await store(storage, newSession('a'), [1])
    await storage.append(extra(1, { journal: part(0, 'x') }))
    await storage.append(extra(1, { journal: part(1, 'y') }))
    await storage.append(batch('a', 1, 1, { journal: 'settled' }))
    same('journal', await storage.journal(A), [])
    same('events', await positions(storage, 'a'), seqs('a', 0, 2))
    await storage.append(batch('a', 2, 1, { journal: 'settled' }))
  }),

  storageCase('journal', 'W16 a refused batch leaves the journal as it is', async storage => {
    await store(storage, newSession('a'), [1])
    await storage.append(extra(1, { journal: part(0, 'x') }))
    await storage.claim(A)
    for (const journal of ['settled', part(0, 'y'), part(1, 'z')] as const) {
      await refuses('an old epoch', 'stale-epoch', storage.append(batch('a', 1, 1, { journal })))
      await refuses('a wrong seq', 'seq-conflict', storage.append(batch('a', 0, 1, { epoch: 2, journal })))
    }
    const malformed = [part(-1, 'y'), part(0.5, 'y'), part(1, 7 as unknown as string)]
    for (const journal of malformed) {
      await refuses('a malformed part', 'invalid-batch', storage.append(batch('a', 1, 1, { epoch: 2, journal })))
    }
    same('journal', await storage.journal(A), [part(0, 'x')])
    same('events', await positions(storage, 'a'), seqs('a', 0, 1))
  }),

  storageCase('journal', 'W16 each session has its own, a fork none of its source', async storage => {
    await store(storage, newSession('a'), [2])
    await storage.append(extra(2, { journal: part(0, 'x') }))
    await store(storage, newSession('b', [range('a', 0, 2)]), [1])
    same('of the fork', await storage.journal(B), [])
    await storage.append(batch('b', 3, 1, { journal: part(0, 'y') }))
    same('journals', [await storage.journal(A), await storage.journal(B)], [[part(0, 'x')], [part(0, 'y')]])
    same('of an unknown session', await storage.journal(C), [])
  }),

  storageCase('journal', 'W9 W16 a journal goes with its session', async storage => {
    await store(storage, newSession('a'), [2])
    await storage.append(extra(2, { journal: part(0, 'x') }))
    await storage.delete(A)
    same('journal', await storage.journal(A), [])
    await store(storage, newSession('a'), [2])
    same('of a new session on that log', await storage.journal(A), [])
  }),

  storageCase('journal', 'W16 of a session without events it is kept as well', async storage => {
    const create = { ...newSession('a'), logId: LogId('log') }
    await storage.append(extra(0, { create, journal: part(0, 'x') }))
    same('journal', await storage.journal(A), [part(0, 'x')])
    same('its log is free', await isFree(storage, 'log'), false)
    await storage.delete(A)
    same('its log is free', await isFree(storage, 'log'), true)
  }),
]
