/** Promises about whole logs: stored in one go or not at all, and kept beside the one they replace. */
import { LogId, SessionId, SessionSeq } from '../core/ids.ts'
import {
  batch,
  ConformanceError,
  header,
  isFree,
  newSession,
  positions,
  range,
  readAll,
  refuses,
  same,
  segmentsOf,
  seqs,
  sizeOf,
  store,
  whole,
  type StorageCase,
  storageCase,
} from './conformance-kit.ts'
import type { NewSession, Segment, SessionStorage, StorageErrorCode, WholeLog } from './storage.ts'

const A = SessionId('a')

/** The session `a`, to be written to another log. */
const moved = (log: string): NewSession => ({ ...newSession('a'), logId: LogId(log) })

/** Asserts that a log is refused with `code`, and that nothing of it can be found. */
async function refusedWhole(storage: SessionStorage, code: StorageErrorCode, log: WholeLog): Promise<void> {
  const before = [await storage.list(), await readAllOf(storage)]
  await refuses('the log', code, storage.storeLog(log))
  same('what is stored', [await storage.list(), await readAllOf(storage)], before)
}

async function readAllOf(storage: SessionStorage): Promise<unknown> {
  const records = await storage.list()
  return Promise.all(records.map(({ header: { id } }) => readAll(storage, id)))
}

export const logCases: readonly StorageCase[] = [
  storageCase('log', 'W12 a new session with all its events', async storage => {
    const record = await storage.storeLog(whole(newSession('a', [], 'A title'), [2, 1, 3]))
    same('record', record, await storage.get(A))
    same('facts', record, {
      ...newSession('a', [], 'A title'),
      nextSeq: 6,
      epoch: 1,
      updatedAt: 3_000,
      size: sizeOf('a', 0, 2) + sizeOf('a', 2, 1) + sizeOf('a', 3, 3),
      mergedTo: 6,
    })
    same('events', await positions(storage, 'a'), seqs('a', 0, 6))
    await storage.append(batch('a', 6, 1))
    same('events', await positions(storage, 'a'), seqs('a', 0, 7))
  }),

  storageCase('log', 'W12 a log without events', async storage => {
    await storage.storeLog(whole(newSession('a'), []))
    same('next seq', (await storage.get(A))?.nextSeq, 0)
    await storage.append(batch('a', 0, 1))
    same('events', await positions(storage, 'a'), seqs('a', 0, 1))
  }),

  storageCase('log', 'W12 a fork goes on after what it inherits', async storage => {
    await store(storage, newSession('a'), [3])
    await storage.storeLog(whole(newSession('b', [range('a', 0, 2)]), [2]))
    same('events', await positions(storage, 'b'), ['a:0', 'a:1', 'b:2', 'b:3'])
  }),

  storageCase('log', 'W12 what does not fit is refused whole', async storage => {
    await store(storage, newSession('a'), [2])
    await refusedWhole(storage, 'exists', whole(moved('x'), [1]))
    await refusedWhole(storage, 'exists', whole({ ...newSession('b'), logId: LogId('a') }, [1]))
    await refusedWhole(storage, 'not-found', whole(newSession('b'), [1], { replaces: { epoch: 1, logId: LogId('b') } }))
    await refusedWhole(storage, 'not-found', whole(newSession('b', [range('a', 0, 9)]), [1]))
    const from = (firstSeq: number, count: number, text = '[]') => [{ firstSeq: SessionSeq(firstSeq), count, text }]
    await refusedWhole(storage, 'invalid-batch', whole(newSession('b'), [], { segments: from(1, 1) }))
    await refusedWhole(storage, 'invalid-batch', whole(newSession('b'), [], { segments: from(0, 0) }))
    const gap = [...segmentsOf('b', [2]), ...segmentsOf('b', [1], 3)]
    await refusedWhole(storage, 'invalid-batch', whole(newSession('b'), [], { segments: gap }))
    await refusedWhole(storage, 'invalid-batch', whole(newSession('b'), [1], { time: Number.NaN }))
  }),

  storageCase('log', 'W12 segments that fail in the middle leave nothing', async storage => {
    const broken = function* (): Generator<Segment> {
      yield* segmentsOf('a', [2, 2])
      throw new RangeError('no more')
    }
    const failure = await storage.storeLog(whole(newSession('a'), [], { segments: broken() })).then(
      () => null,
      (error: unknown) => error,
    )
    if (failure === null) throw new ConformanceError('A log whose segments fail was stored')
    same('record', await storage.get(A), null)
    same('its log is free', await isFree(storage, 'a'), true)
  }),

  storageCase('log', 'W12 nobody sees a part of a log, and others can write meanwhile', async storage => {
    await store(storage, newSession('b'), [1])
    // Long enough to be stored in several steps.
    const text = JSON.stringify([{ at: '', fill: '.'.repeat(4_100_000) }])
    const segments = [0, 1, 2].map(seq => ({ firstSeq: SessionSeq(seq), count: 1, text }))
    let isStored = false
    const storing = storage.storeLog(whole(newSession('a'), [], { segments })).finally(() => (isStored = true))
    for (let seq = 1; !isStored || seq < 3; seq++) {
      await storage.append(batch('b', seq, 1))
      const record = await storage.get(A)
      if (record !== null) same('events of a log that is seen', record.nextSeq, 3)
    }
    same('size', (await storing).size, 3 * text.length)
    same(
      'lengths',
      (await readAll(storage, 'a')).map(segment => segment.text.length),
      Array(3).fill(text.length),
    )
  }),

  storageCase('log', 'W15 a log comes with its keyframe, or is refused with it', async storage => {
    const keyframe = { seq: SessionSeq(4), text: 'all' }
    await refusedWhole(storage, 'invalid-batch', whole(newSession('a'), [2, 1], { keyframe }))
    same('its log is free', await isFree(storage, 'a'), true)
    await storage.storeLog(whole(newSession('a'), [2, 2], { keyframe }))
    same('keyframe', await storage.keyframe(A), { logId: 'a', ...keyframe })
    await store(storage, newSession('b', [range('a', 0, 4)]), [1])
    same('inherited', await storage.keyframe(SessionId('b')), { logId: 'a', ...keyframe })
  }),

  storageCase('log', 'W12 a log whose source goes while it is stored is refused', async storage => {
    await store(storage, newSession('a'), [2])
    const gone: Promise<void>[] = []
    const segments = function* (): Generator<Segment> {
      gone.push(storage.delete(A))
      yield* segmentsOf('b', [2], 2)
    }
    const log = whole(newSession('b', [range('a', 0, 2)]), [], { segments: segments() })
    await refuses('the log', 'not-found', storage.storeLog(log))
    await Promise.all(gone)
    same('sessions', await storage.list(), [])
    same('logs are free', [await isFree(storage, 'a'), await isFree(storage, 'b')], [true, true])
  }),

  storageCase('log', 'W12 of two logs for one new session one is stored', async storage => {
    const results = await Promise.allSettled([
      storage.storeLog(whole(moved('one'), [2, 2])),
      storage.storeLog(whole(moved('two'), [3])),
    ])
    same('stored', results.filter(({ status }) => status === 'fulfilled').length, 1)
    const winner = (await storage.get(A))?.logId as string
    same('events', await positions(storage, 'a'), seqs(winner, 0, winner === 'one' ? 4 : 3))
    same('the other log is free', await isFree(storage, winner === 'one' ? 'two' : 'one'), true)
  }),

  storageCase('generation', 'W13 a replaced log stays until it is forgotten', async storage => {
    await store(storage, newSession('a', [], 'Kept'), [2, 2])
    const claimed = await storage.claim(A)
    const before = await storage.get(A)
    const replaces = { epoch: 2, logId: LogId('a') }
    const session = { ...moved('new'), header: { ...header('a'), createdAt: 5 } }
    const record = await storage.storeLog(whole(session, [3], { replaces }))
    same('epoch', record.epoch, claimed?.epoch)
    same('title', record.title, 'Kept')
    same('time', record.updatedAt, before?.updatedAt)
    same('header', record.header, session.header)
    const size = sizeOf('a', 0, 2) + sizeOf('a', 2, 2)
    const old = { header: header('a'), logId: 'a', inherited: [], nextSeq: 4, size, mergedTo: 0 }
    same('what it replaced', record.previous, old)
    same('size and end of the pages', [record.size, record.mergedTo], [sizeOf('new', 0, 3), 3])
    same('events', await positions(storage, 'a'), seqs('new', 0, 3))
    same('the old log is free', await isFree(storage, 'a'), false)

    await refuses('an old epoch', 'stale-epoch', storage.forgetPrevious(A, 1))
    await storage.forgetPrevious(A, 2)
    same('what it replaced', (await storage.get(A))?.previous, undefined)
    same('the old log is free', await isFree(storage, 'a'), true)
    same('events', await positions(storage, 'a'), seqs('new', 0, 3))
    await storage.forgetPrevious(A, 2)
    await refuses('an unknown session', 'not-found', storage.forgetPrevious(SessionId('b'), 1))
  }),

  storageCase('generation', 'W13 a replaced log can be brought back', async storage => {
    await store(storage, newSession('a', [], 'Kept'), [2, 2])
    const before = await storage.get(A)
    await storage.storeLog(whole(moved('new'), [3], { replaces: { epoch: 1, logId: LogId('a') } }))
    await refuses('an old epoch', 'stale-epoch', storage.restorePrevious(A, 2))
    same('record', await storage.restorePrevious(A, 1), before)
    same('record', await storage.get(A), before)
    same('events', await positions(storage, 'a'), seqs('a', 0, 4))
    same('the new log is free', await isFree(storage, 'new'), true)
    same('once more', await storage.restorePrevious(A, 1), before)
  }),

  storageCase('generation', 'W13 an overtaken writer cannot replace a log', async storage => {
    await store(storage, newSession('a'), [2])
    await storage.claim(A)
    await refusedWhole(storage, 'stale-epoch', whole(moved('x'), [1], { replaces: { epoch: 1, logId: LogId('a') } }))
    await refusedWhole(storage, 'stale-epoch', whole(moved('x'), [1], { replaces: { epoch: 2, logId: LogId('b') } }))
  }),

  storageCase('generation', 'W13 a log replaced twice keeps what was there first', async storage => {
    await store(storage, newSession('a'), [2])
    await storage.storeLog(whole(moved('one'), [3], { replaces: { epoch: 1, logId: LogId('a') } }))
    await storage.storeLog(whole(moved('two'), [4], { replaces: { epoch: 1, logId: LogId('one') } }))
    same('what it replaced', (await storage.get(A))?.previous?.logId, 'a')
    same('events', await positions(storage, 'a'), seqs('two', 0, 4))
  }),

  storageCase('generation', 'W9 W13 a replaced log others inherit stays with them', async storage => {
    await store(storage, newSession('a'), [2])
    await store(storage, newSession('b', [range('a', 0, 2)]), [1])
    await storage.storeLog(whole(moved('new'), [3], { replaces: { epoch: 1, logId: LogId('a') } }))
    await storage.forgetPrevious(A, 1)
    same('events of the fork', await positions(storage, 'b'), ['a:0', 'a:1', 'b:2'])
    await storage.delete(SessionId('b'))
    same('the old log is free', await isFree(storage, 'a'), true)
  }),

  storageCase('generation', 'W9 W13 deleting a session forgets both of its logs', async storage => {
    await store(storage, newSession('a'), [2])
    await storage.storeLog(whole(moved('new'), [3], { replaces: { epoch: 1, logId: LogId('a') } }))
    await storage.delete(A)
    same('logs are free', [await isFree(storage, 'a'), await isFree(storage, 'new')], [true, true])
  }),
]
