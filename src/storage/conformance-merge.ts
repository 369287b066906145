/** Promises about merging: small segments become pages, and no reader notices. */
import { SessionId, SessionSeq } from '../core/ids.ts'
import {
  batch,
  newSession,
  positions,
  range,
  readAll,
  refuses,
  same,
  seqs,
  type StorageCase,
  storageCase,
  store,
} from './conformance-kit.ts'
import { LARGE_PAGE, SMALL_PAGE } from './pages.ts'
import type { SessionStorage } from './storage.ts'

const A = SessionId('a')

/** Text of one event of `log` that is `length` units long. */
const eventOf = (log: string, seq: number, length: number): string => {
  const bare = JSON.stringify([{ at: `${log}:${seq}`, fill: '' }])
  return bare.replace('""', `"${'.'.repeat(Math.max(0, length - bare.length))}"`)
}

/** Appends one event for each length. */
async function appendEvents(
  storage: SessionStorage,
  id: string,
  from: number,
  lengths: readonly number[],
): Promise<void> {
  for (const [index, length] of lengths.entries()) {
    const seq = from + index
    await storage.append(batch(id, seq, 1, { text: eventOf(id, seq, length) }))
  }
}

/** Merges until nothing is left to do; answers how often. */
async function mergeAll(storage: SessionStorage, id: SessionId, epoch = 1): Promise<number> {
  let times = 1
  for (; await storage.merge(id, epoch); times++) if (times > 1_000) throw new RangeError('merging does not end')
  return times
}

const lengthsOf = async (storage: SessionStorage, id: string, from?: number): Promise<readonly number[]> =>
  (await readAll(storage, id, from)).map(({ text }) => text.length)

const times = <Value>(count: number, value: Value): readonly Value[] => Array.from({ length: count }, () => value)

export const mergeCases: readonly StorageCase[] = [
  storageCase(
    'merge',
    'W14 small neighbouring segments become pages that are neither small nor large',
    async storage => {
      await store(storage, newSession('a'), [])
      await appendEvents(storage, 'a', 0, times(170, 1_500))
      const before = await storage.get(A)
      await mergeAll(storage, A)
      const lengths = await lengthsOf(storage, 'a')
      same('events', await positions(storage, 'a'), seqs('a', 0, 170))
      same('number of pages', lengths.length, 3)
      // Two brackets of each part become one comma.
      for (const length of lengths.slice(0, -1)) same('a page', length > SMALL_PAGE - 200 && length <= LARGE_PAGE, true)
      const { mergedTo = 0, ...record } = (await storage.get(A)) ?? {}
      same('the record', { ...record, mergedTo: 0 }, before)
      const last = (await readAll(storage, 'a')).at(-1)
      same('merged up to the page that is still small', mergedTo, last?.firstSeq)
    },
  ),

  storageCase('merge', 'W14 merging ends, and merging again changes nothing', async storage => {
    await store(storage, newSession('a'), [])
    await appendEvents(storage, 'a', 0, times(70, 30))
    await mergeAll(storage, A)
    const segments = await readAll(storage, 'a')
    same(
      'segments',
      segments.map(({ firstSeq, count }) => [firstSeq, count]),
      [[0, 70]],
    )
    const record = await storage.get(A)
    same('once more', [await storage.merge(A, 1), await storage.get(A)], [false, record])
    same('segments', await readAll(storage, 'a'), segments)
  }),

  storageCase('merge', 'W14 a page that is still small is put together with what comes after it', async storage => {
    await store(storage, newSession('a'), [])
    for (let round = 0; round < 5; round++) {
      await appendEvents(storage, 'a', round * 10, times(10, 2_000))
      await mergeAll(storage, A)
      same('segments', (await readAll(storage, 'a')).length, round < 4 ? 1 : 2)
    }
    same('the first page is not small', ((await lengthsOf(storage, 'a'))[0] ?? 0) > SMALL_PAGE - 200, true)
    same('events', await positions(storage, 'a'), seqs('a', 0, 50))
  }),

  storageCase('merge', 'W14 no page gets large, and what is large stays alone', async storage => {
    await store(storage, newSession('a'), [])
    const lengths = [100, SMALL_PAGE, 100, LARGE_PAGE - 50, 100, 100, LARGE_PAGE + 1, 100, 63_000, LARGE_PAGE - 100]
    await appendEvents(storage, 'a', 0, lengths)
    await mergeAll(storage, A)
    same(
      'counts',
      (await readAll(storage, 'a')).map(({ count }) => count),
      [3, 1, 2, 1, 2, 1],
    )
    same('longest page', Math.max(...(await lengthsOf(storage, 'a')).filter(length => length <= LARGE_PAGE)) > 0, true)
    same('events', await positions(storage, 'a'), seqs('a', 0, lengths.length))
  }),

  storageCase('merge', 'W14 every range reads the same before and after', async storage => {
    await store(storage, newSession('a'), [2, 1, 3, 1])
    await mergeAll(storage, A)
    same('segments', (await readAll(storage, 'a')).length, 1)
    for (let from = 0; from < 7; from++) {
      for (let to = from; to <= 7; to++) {
        same(`events ${from} to ${to}`, await positions(storage, 'a', from, to), seqs('a', from, to))
      }
    }
    await storage.append(batch('a', 7, 2))
    same('events', await positions(storage, 'a'), seqs('a', 0, 9))
  }),

  storageCase('merge', 'W14 who reads, writes or forks meanwhile notices nothing', async storage => {
    await store(storage, newSession('a'), times(150, 1))
    const work: Promise<unknown>[] = []
    for (let round = 0; round < 6; round++) {
      work.push(storage.merge(A, 1))
      work.push(positions(storage, 'a', round, 140).then(found => same('events', found, seqs('a', round, 140))))
      work.push(storage.append(batch('a', 150 + round, 1)))
      const fork = newSession(`fork ${round}`, [range('a', 0, 77)])
      work.push(storage.append(batch(`fork ${round}`, 77, 1, { create: fork })))
      work.push(storage.read(A, SessionSeq(round * 20)), storage.seams(A, SessionSeq(round * 20)))
    }
    await Promise.all(work)
    await mergeAll(storage, A)
    same('events', await positions(storage, 'a'), seqs('a', 0, 156))
    for (let round = 0; round < 6; round++) {
      const expected = [...seqs('a', 0, 77), `fork ${round}:77`]
      same('events of a fork', await positions(storage, `fork ${round}`), expected)
    }
  }),

  storageCase('merge', 'W8 W14 forks see what they inherit, wherever the pages end', async storage => {
    await store(storage, newSession('a'), times(9, 1))
    for (let to = 1; to <= 9; to++) await store(storage, newSession(`b${to}`, [range('a', 0, to)]), [1, 1])
    await storage.append(batch('c', 7, 1, { create: newSession('c', [range('a', 0, 5), range('b5', 5, 7)]) }))
    await mergeAll(storage, A)
    for (let to = 1; to <= 9; to++) {
      const id = `b${to}`
      await mergeAll(storage, SessionId(id))
      const expected = [...seqs('a', 0, to), ...seqs(id, to, to + 2)]
      same(`events of ${id}`, await positions(storage, id), expected)
      same(
        `its segments`,
        (await readAll(storage, id)).map(({ count }) => count),
        [to, 2],
      )
    }
    const ofC = [...seqs('a', 0, 5), ...seqs('b5', 5, 7), 'c:7']
    same('events of a fork of a fork', await positions(storage, 'c'), ofC)
    same('cut in its middle', await positions(storage, 'c', 3, 6), ofC.slice(3, 6))
    await store(storage, newSession('d', [range('a', 0, 4)]), [1])
    same('events of one made afterwards', await positions(storage, 'd'), [...seqs('a', 0, 4), 'd:4'])
    await storage.delete(A)
    same('without the source', await positions(storage, 'b9'), [...seqs('a', 0, 9), ...seqs('b9', 9, 11)])
  }),

  storageCase('merge', 'W3 W14 only the writer merges', async storage => {
    await store(storage, newSession('a'), [1, 1])
    await storage.claim(A)
    await refuses('an old epoch', 'stale-epoch', storage.merge(A, 1))
    await refuses('an unknown session', 'not-found', storage.merge(SessionId('b'), 1))
    same('segments', (await readAll(storage, 'a')).length, 2)
    await mergeAll(storage, A, 2)
    same('segments', (await readAll(storage, 'a')).length, 1)
  }),

  storageCase('merge', 'W14 a session without events has nothing to merge', async storage => {
    await store(storage, newSession('a'), [])
    const before = await storage.get(A)
    same('merge', [await storage.merge(A, 1), await storage.get(A)], [false, before])
  }),

  storageCase('merge', 'W14 a segment that is no text of an array spoils no other', async storage => {
    await store(storage, newSession('a'), [1, 1])
    await storage.append(batch('a', 2, 1, { text: '[{"at":"a:2"' }))
    await storage.append(batch('a', 3, 1, { text: '[]' }))
    await appendEvents(storage, 'a', 4, [100, 100])
    await mergeAll(storage, A)
    same(
      'counts',
      (await readAll(storage, 'a')).map(({ count }) => count),
      [2, 1, 1, 2],
    )
    same('events before', await positions(storage, 'a', 0, 2), seqs('a', 0, 2))
    same('events behind', await positions(storage, 'a', 4), seqs('a', 4, 6))
  }),
]
