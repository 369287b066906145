/** Promises about reading: ranges, inherited ranges, and what deletion leaves for those who inherit. */
import { SessionId, SessionSeq } from '../core/ids.ts'
import {
  type StorageCase,
  batch,
  newSession,
  positions,
  range,
  readAll,
  refuses,
  same,
  seqs,
  store,
  storageCase,
} from './conformance-kit.ts'
import type { SessionStorage } from './storage.ts'

const remove = (storage: SessionStorage, id: string): Promise<void> => storage.delete(SessionId(id))

/** a: 0–6 in segments of 2; b inherits a 0–3 (inside a segment) and adds 3–6; c inherits of both and adds 5–7. */
async function storeForks(storage: SessionStorage): Promise<void> {
  await store(storage, newSession('a'), [2, 2, 2])
  await store(storage, newSession('b', [range('a', 0, 3)]), [2, 1])
  await store(storage, newSession('c', [range('a', 0, 3), range('b', 3, 5)]), [1, 1])
}

/** What `positions` answers, read between seams, `step` of them at a time. */
async function readInPieces(
  storage: SessionStorage,
  id: string,
  from: number,
  to: number,
  step: number,
): Promise<readonly string[]> {
  const seams = await storage.seams(SessionId(id), SessionSeq(from), SessionSeq(to))
  const found: string[] = []
  let reads = 0
  for (let at = 0; at < seams.length; at += step) {
    const [start = from, end = to] = [seams[at], seams[at + step]]
    const segments = await storage.read(SessionId(id), SessionSeq(start), SessionSeq(end))
    reads += segments.length
    for (const { firstSeq, text } of segments) {
      const inside = JSON.parse(text) as readonly { readonly at: string }[]
      found.push(...inside.slice(Math.max(0, start - firstSeq), Math.max(0, end - firstSeq)).map(({ at }) => at))
    }
  }
  same('segments read', reads, (await readAll(storage, id, from, to)).length)
  return found
}

const eventsOfB = [...seqs('a', 0, 3), ...seqs('b', 3, 6)]
const eventsOfC = [...seqs('a', 0, 3), ...seqs('b', 3, 5), ...seqs('c', 5, 7)]

export const readCases: readonly StorageCase[] = [
  storageCase('read', 'W1 every range is read from the segments that hold it, and no others', async storage => {
    await store(storage, newSession('a'), [3, 1, 4])
    const firsts = [0, 3, 4]
    const ends = [3, 4, 8]
    for (let from = 0; from < 8; from++) {
      for (let to = from + 1; to <= 8; to++) {
        const segments = await readAll(storage, 'a', from, to)
        const expected = firsts.filter((first, index) => first < to && (ends[index] ?? 0) > from)
        same(
          `segments of ${from} to ${to}`,
          segments.map(segment => segment.firstSeq),
          expected,
        )
        same(`events ${from} to ${to}`, await positions(storage, 'a', from, to), seqs('a', from, to))
      }
    }
  }),

  storageCase('read', 'W1 an empty range has no segments', async storage => {
    await store(storage, newSession('a'), [2, 2])
    for (const seq of [0, 1, 2, 4]) same(`events ${seq} to ${seq}`, await readAll(storage, 'a', seq, seq), [])
    same('events from the end on', await readAll(storage, 'a', 4), [])
  }),

  storageCase('read', 'W1 events that are not stored, and unknown sessions, are refused', async storage => {
    await store(storage, newSession('a'), [2])
    await refuses('a range beyond the end', 'not-found', readAll(storage, 'a', 0, 3))
    await refuses('a start beyond the end', 'not-found', readAll(storage, 'a', 3))
    await refuses('a range given backwards', 'not-found', readAll(storage, 'a', 2, 1))
    await refuses('a range below 0', 'not-found', readAll(storage, 'a', -1, 1))
    await refuses('an unknown session', 'not-found', readAll(storage, 'b'))
  }),

  storageCase(
    'read',
    'W1 a range cut at its seams is read whole, each segment once, inherited ones too',
    async storage => {
      await storeForks(storage)
      const sources = { a: seqs('a', 0, 6), b: eventsOfB, c: eventsOfC }
      for (const [id, expected] of Object.entries(sources)) {
        for (let from = 0; from < expected.length; from++) {
          for (let to = from + 1; to <= expected.length; to++) {
            for (const step of [1, 2, 9]) {
              const found = await readInPieces(storage, id, from, to, step)
              same(`events ${from} to ${to} of ${id} by ${step}`, found, expected.slice(from, to))
            }
          }
        }
      }
      const seams = (from: number, to: number): Promise<readonly number[]> =>
        storage.seams(SessionId('c'), SessionSeq(from), SessionSeq(to))
      same('all of them', await storage.seams(SessionId('a')), [0, 2, 4])
      same('from inside a segment', await seams(1, 7), [1, 2, 3, 5, 6])
      same('an empty range', await seams(4, 4), [])
      await refuses('beyond the end', 'not-found', seams(0, 9))
      await refuses('an unknown session', 'not-found', storage.seams(SessionId('x')))
    },
  ),

  storageCase('read', 'W1 several ranges are read at once, each as if alone', async storage => {
    await storeForks(storage)
    const ends = [0, 7, 2, 4, 4, 4, 6, 7, 0, 1, 2, 4].map(SessionSeq)
    const ranges = ends.flatMap((from, at) => (at % 2 === 0 ? [{ from, to: ends[at + 1] ?? from }] : []))
    const alone = await Promise.all(ranges.map(({ from, to }) => readAll(storage, 'c', from, to)))
    same('segments', await storage.readRanges(SessionId('c'), ranges), alone)
    same('no range', await storage.readRanges(SessionId('c'), []), [])
    const beyond = [...ranges, { from: SessionSeq(5), to: SessionSeq(8) }]
    await refuses('one beyond the end', 'not-found', storage.readRanges(SessionId('c'), beyond))
    await refuses('an unknown session', 'not-found', storage.readRanges(SessionId('x'), []))
  }),

  storageCase('forks', 'W8 inherited ranges are read as if own, over two logs', async storage => {
    await storeForks(storage)
    same('events of a', await positions(storage, 'a'), seqs('a', 0, 6))
    same('events of b', await positions(storage, 'b'), eventsOfB)
    same('events of c', await positions(storage, 'c'), eventsOfC)
    for (let from = 0; from < 7; from++) {
      for (let to = from + 1; to <= 7; to++) {
        same(`events ${from} to ${to} of c`, await positions(storage, 'c', from, to), eventsOfC.slice(from, to))
      }
    }
  }),

  storageCase(
    'forks',
    'W8 segments of a whole fork lie end to end, also where a range ends inside a segment',
    async storage => {
      await storeForks(storage)
      let seq = 0
      for (const { firstSeq, count } of await readAll(storage, 'c')) {
        same('first seq of a segment', firstSeq, seq)
        seq += count
      }
      same('end of the last segment', seq, 7)
    },
  ),

  storageCase('forks', 'W8 a fork without own events ends where its ranges end', async storage => {
    await store(storage, newSession('a'), [4])
    await store(storage, newSession('b', [range('a', 0, 3)]), [])
    same('next seq', (await storage.get(SessionId('b')))?.nextSeq, 3)
    const [segment, ...more] = await readAll(storage, 'b')
    same('segments', [segment?.firstSeq, segment?.count, more], [0, 3, []])
    same('events', await positions(storage, 'b'), seqs('a', 0, 3))
  }),

  storageCase(
    'forks',
    'W8 a fork does not see what its source adds, nor the source what the fork adds',
    async storage => {
      await storeForks(storage)
      await storage.append(batch('a', 6, 2))
      await storage.append(batch('b', 6, 1))
      same('events of a', await positions(storage, 'a'), seqs('a', 0, 8))
      same('events of b', await positions(storage, 'b'), [...eventsOfB, 'b:6'])
      same('events of c', await positions(storage, 'c'), eventsOfC)
    },
  ),

  storageCase('forks', 'W8 inheriting events that are not stored is refused', async storage => {
    await store(storage, newSession('a'), [2])
    const beyond = batch('b', 3, 1, { create: newSession('b', [range('a', 0, 3)]) })
    await refuses('a range beyond the end', 'not-found', storage.append(beyond))
    const unknown = batch('b', 2, 1, { create: newSession('b', [range('x', 0, 2)]) })
    await refuses('an unknown log', 'not-found', storage.append(unknown))
    same('record', await storage.get(SessionId('b')), null)
  }),

  storageCase('delete', 'W9 delete forgets a session and its events; unknown ids are no error', async storage => {
    await store(storage, newSession('a'), [2, 1])
    await store(storage, newSession('b'), [1])
    await remove(storage, 'a')
    await remove(storage, 'a')
    same('record', await storage.get(SessionId('a')), null)
    await refuses('read', 'not-found', readAll(storage, 'a'))
    await refuses('append', 'not-found', storage.append(batch('a', 3, 1)))
    same('events of b', await positions(storage, 'b'), seqs('b', 0, 1))
    // Only a log without events can be taken, so this shows that the segments went too.
    await store(storage, newSession('a'), [1])
    same('events of the new a', await positions(storage, 'a'), seqs('a', 0, 1))
  }),

  storageCase('delete', 'W9 delete keeps what others inherit, until the last of them is gone', async storage => {
    await storeForks(storage)
    await remove(storage, 'a')
    same('events of b', await positions(storage, 'b'), eventsOfB)
    await remove(storage, 'b')
    same('events of c', await positions(storage, 'c'), eventsOfC)
    await refuses('taking a log in use', 'exists', storage.append(batch('a', 0, 1, { create: newSession('a') })))
    await remove(storage, 'c')
    same('sessions', await storage.list(), [])
    for (const id of ['a', 'b', 'c']) await store(storage, newSession(id), [1])
  }),

  storageCase('delete', 'W9 deleting a fork keeps the log of its living source', async storage => {
    await storeForks(storage)
    await remove(storage, 'c')
    await remove(storage, 'b')
    same('events of a', await positions(storage, 'a'), seqs('a', 0, 6))
    await store(storage, newSession('b'), [1])
  }),

  storageCase('delete', 'W9 a log whose id begins with the id of a deleted one stays', async storage => {
    for (const id of ['a', 'ab', 'a\u0000', 'b']) await store(storage, newSession(id), [1, 1])
    await remove(storage, 'a')
    for (const id of ['ab', 'a\u0000', 'b']) same(`events of ${id}`, await positions(storage, id), seqs(id, 0, 2))
  }),
]
