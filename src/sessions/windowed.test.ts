/** Sessions with no more in memory than they need: keyframes, and events read from storage (SPEC K2–K7, W15). */
import { describe, expect, it } from 'vitest'
import { append, over, said, throughJson, turnEnd, turnStart, user } from '../core/builders.ts'
import type { SessionEvent } from '../core/events.ts'
import { LogId, SessionId, SessionSeq } from '../core/ids.ts'
import { Session } from '../core/session.ts'
import { type StorageCall, withFaults } from '../storage/faults.ts'
import { memoryStorage } from '../storage/memory.ts'
import { type SessionStorage, StorageError } from '../storage/storage.ts'
import { countedIds, storedEvents } from '../testing/agent-kit.ts'
import { sessionFolds } from './folds.ts'
import { memoryLease } from './lease.ts'
import type { LiveSession } from './live-session.ts'
import { Sessions } from './sessions.ts'

const a = SessionId('a')
const now = () => 5
/** Text of which six make a keyframe. */
const long = (name: string) => `${name} ${'x'.repeat(50_000)}`

function house(inner: SessionStorage = memoryStorage()) {
  const calls: StorageCall[] = []
  const storage = withFaults(inner, (call, proceed) => {
    calls.push(call)
    return proceed()
  })
  const errors: unknown[] = []
  const options = {
    storage,
    lease: memoryLease(),
    now,
    newId: countedIds(),
    onListenerError: (e: unknown) => errors.push(e),
  }
  const again = () => new Sessions({ ...options, lease: memoryLease() })
  return { storage, inner, calls, errors, sessions: new Sessions(options), again }
}

/** Says things until nothing of them need be in memory; what is said is compacted into one message now and then. */
async function talk(live: LiveSession, rounds: number, compacts = true): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const { session } = live
    for (let index = 0; index < 4; index += 1) append(session, said(long(`${session.length}`), `m${session.length}`))
    const nodes = session.surface.nodes.slice(1)
    if (compacts && nodes.length > 6) {
      append(session, over(said('so far', `c${session.length}`), nodes[0] as number, nodes.at(-1) as number, nodes))
    }
    await live.flush()
  }
}

const readAll = async (live: LiveSession, from = 0, to?: number) => {
  const events: SessionEvent[] = []
  for await (const event of live.readEvents({ from, ...(to === undefined ? {} : { to }) })) events.push(event)
  return events
}
const residentOf = ({ session }: LiveSession) =>
  Array.from({ length: session.length }, (_, seq) => seq).filter(seq => session.eventAt(seq) !== undefined)

/** What a session says of itself, however it was opened. */
const told = (session: Session) => ({
  keyframe: session.keyframe(),
  messages: session.deriveMessages(),
  nodes: [...session.surface.nodes],
  generations: [session.surface.replaceGeneration, session.surface.contentGeneration],
})
const foldedWhole = async (storage: SessionStorage, id: string) =>
  Session.fromRestore({
    header: (await storage.get(SessionId(id)))?.header ?? expect.fail('not stored'),
    events: [...(await storedEvents(storage, id))],
    now,
    folds: sessionFolds,
    readOnly: true,
  })

describe('a long session', () => {
  it('[K5, K7, W15] lets go of what is stored and off its surface, and reads it back', async () => {
    const { sessions, inner } = house()
    const live = await sessions.open(a)
    await talk(live, 6)
    const { session } = live
    const keyframe = await inner.keyframe(a)
    expect(keyframe?.seq).toBeGreaterThan(10)
    const nodes = new Set(session.surface.nodes)
    expect(residentOf(live)).toEqual(
      Array.from({ length: session.length }, (_, seq) => SessionSeq(seq)).filter(
        seq => seq >= (keyframe?.seq ?? 0) || nodes.has(seq),
      ),
    )
    expect(residentOf(live).length).toBeLessThan(session.length / 2)
    const stored = await storedEvents(inner, 'a')
    expect(await readAll(live)).toEqual(stored)
    for (const [from, to] of [
      [0, 1],
      [3, 9],
      [7, session.length],
      [session.length - 1, session.length],
      [4, 4],
    ] as const)
      expect(await readAll(live, from, to)).toEqual(stored.slice(from, to))
    expect(await live.verify()).toBeNull()
  })

  it('[K2, K7] opens from its surface and its tail alone, and is the same session', async () => {
    const { sessions, again, inner, calls } = house()
    const first = await sessions.open(a)
    await talk(first, 8)
    await sessions.close(a)
    calls.length = 0
    const live = await again().open(a)
    expect(calls.filter(({ method }) => method === 'read')).toEqual([])
    expect(residentOf(live).length).toBeLessThan(live.session.length / 2)
    await live.flush()
    expect(throughJson(told(live.session))).toEqual(throughJson(told(await foldedWhole(inner, 'a'))))
    expect(await live.verify()).toBeNull()
    // And goes on as the whole one would.
    await talk(live, 5)
    expect(throughJson(told(live.session))).toEqual(throughJson(told(await foldedWhole(inner, 'a'))))
    expect(await live.verify()).toBeNull()
  })

  it('[K7] keeps keyframes rare: not one of each turn, and little beside the log', async () => {
    const { sessions, inner, calls } = house()
    const live = await sessions.open(a)
    for (let turn = 1; turn <= 200; turn += 1) {
      for (const draft of [turnStart(turn), said('y'.repeat(4_000), `m${turn}`), turnEnd(turn)])
        append(live.session, draft)
      await live.flush()
    }
    const keyframes = calls.flatMap(({ method, args: [batch] }) =>
      method === 'append' ? ((batch as { keyframe?: { text: string } }).keyframe ?? []) : [],
    )
    const { size = 0 } = (await inner.get(a)) ?? {}
    expect(keyframes).toHaveLength(3)
    expect(keyframes.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(size / 8)
  })

  it('[K3] folds the log when the keyframe is damaged, foreign or from another build, and says nothing wrong', async () => {
    const { sessions, inner } = house()
    await talk(await sessions.open(a), 6)
    await sessions.close(a)
    const found = (await inner.keyframe(a)) ?? expect.fail('no keyframe')
    const { keyframe, span } = JSON.parse(found.text) as { keyframe: Record<string, unknown>; span: number }
    const altered = (change: object) => JSON.stringify({ span, keyframe: { ...keyframe, ...change } })
    const { folds } = keyframe as { folds: Record<string, { version: number; state: object }> }
    for (const text of [
      '{"span":',
      'null',
      '{}',
      altered({ sessionId: 'b' }),
      altered({ seq: 3 }),
      altered({ version: 2 }),
      altered({ folds: {} }),
      altered({ folds: null }),
      altered({ folds: undefined }),
      altered({ folds: { ...folds, surface: { ...folds['surface'], version: 99 } } }),
      altered({ folds: { ...folds, surface: { ...folds['surface'], state: { nodes: [-1] } } } }),
      altered({ folds: { ...folds, surface: { ...folds['surface'], state: { nodes: [1e9] } } } }),
      altered({ last: null }),
    ]) {
      let reads = 0
      const storage = withFaults(inner, async ({ method }, proceed) => {
        const answer = await proceed()
        if (method === 'read') reads += 1
        return method === 'keyframe' && answer !== null ? { ...(answer as object), text } : answer
      })
      const { session } = await new Sessions({ storage, lease: memoryLease(), now, newId: countedIds() }).open(a)
      expect(session.deriveMessages()).toEqual((await foldedWhole(inner, 'a')).deriveMessages())
      expect(reads).toBeGreaterThan(0)
    }
  })

  it('[K3, W16] folds the log when what is beside it cannot be read at all', async () => {
    const { sessions, inner } = house()
    await talk(await sessions.open(a), 6)
    await sessions.close(a)
    const storage = withFaults(inner, ({ method }, proceed) =>
      // As browsers do for a value whose file is gone.
      method === 'keyframe' || method === 'journal'
        ? Promise.reject(new StorageError('corrupt', 'its file is gone'))
        : proceed(),
    )
    const { session } = await new Sessions({ storage, lease: memoryLease(), now, newId: countedIds() }).open(a)
    expect(session.deriveMessages()).toEqual((await foldedWhole(inner, 'a')).deriveMessages())
  })

  it('[K4] is verified while something is appended right after what was stored', async () => {
    const { sessions } = house()
    const live = await sessions.open(a)
    append(live.session, said('one', 'm0'))
    const stored = live.flush().then(() => append(live.session, said('two', 'm1')))
    const verified = live.verify()
    await stored
    expect(await verified).toBeNull()
  })

  it('[K3] uses an earlier keyframe when the last one cannot be read', async () => {
    const { sessions, inner } = house()
    const live = await sessions.open(a)
    // Far enough apart that both stay.
    for (let round = 0; round < 30; round += 1) {
      append(live.session, said('z'.repeat(300_000), `m${round}`))
      await live.flush()
    }
    await sessions.close(a)
    const last = (await inner.keyframe(a)) ?? expect.fail('no keyframe')
    const earlier = (await inner.keyframe(a, SessionSeq(last.seq - 1))) ?? expect.fail('only one keyframe')
    const storage = withFaults(inner, async ({ method, args }, proceed) => {
      const answer = await proceed()
      const isLast = method === 'keyframe' && (args[1] as number) >= last.seq
      return isLast ? { ...last, text: 'torn' } : answer
    })
    const opened = await new Sessions({ storage, lease: memoryLease(), now, newId: countedIds() }).open(a)
    expect(opened.session.length).toBeGreaterThan(29)
    expect(earlier.seq).toBeLessThan(last.seq)
    expect(await opened.verify()).toBeNull()
  })

  it('[K6, H5] knows what was asked at any time', async () => {
    const { sessions, inner, again } = house()
    await talk(await sessions.open(a), 6)
    await sessions.close(a)
    const live = await again().open(a)
    const whole = await foldedWhole(inner, 'a')
    for (const seq of [0, 1, 9, 20, whole.length]) {
      expect(await live.requestAt(seq)).toEqual(whole.requestAt(seq))
      expect((await live.at(seq)).deriveMessages()).toEqual(
        whole.replay((await storedEvents(inner, 'a')).slice(0, seq)).deriveMessages(),
      )
    }
    for (const seq of [-1, 0.5, live.session.length + 1])
      await expect(live.at(seq)).rejects.toMatchObject({ code: 'not-resident' })
  })

  it('[K7] goes on without keyframes when a fold of somebody else has no JSON, and says so once', async () => {
    const { storage, errors } = house()
    const fold = { key: 'acme', version: 1, initial: () => 0, evolve: (n: number) => n + 1, fromJSON: () => 0 }
    const toJSON = () => {
      throw new RangeError('no JSON')
    }
    const sessions = new Sessions({
      ...{ storage, lease: memoryLease(), now, newId: countedIds() },
      folds: [{ ...fold, toJSON }],
      onListenerError: error => errors.push(error),
    })
    const live = await sessions.open(a)
    await talk(live, 6)
    await sessions.close(a)
    expect(errors).toEqual([expect.any(RangeError)])
    expect(await storage.keyframe(a)).toBeNull()
    expect((await storedEvents(storage, 'a')).length).toBe(live.session.length)
  })

  it('[K5, W7] lets go of nothing that is not stored', async () => {
    const inner = memoryStorage()
    let isFull = false
    const storage = withFaults(inner, ({ method }, proceed) =>
      isFull && method === 'append' ? Promise.reject(new RangeError('full')) : proceed(),
    )
    const sessions = new Sessions({ storage, lease: memoryLease(), now, newId: countedIds() })
    const live = await sessions.open(a)
    append(live.session, said('first', 'm0'))
    await live.flush()
    isFull = true
    await talk(live, 6).catch(() => undefined)
    for (let index = 0; index < 20; index += 1) append(live.session, said(long('more'), `n${index}`))
    await expect(live.flush()).rejects.toThrow('full')
    expect(residentOf(live)).toHaveLength(live.session.length)
    expect(await readAll(live)).toHaveLength(live.session.length)
    isFull = false
    await live.flush()
    expect(residentOf(live).length).toBeLessThanOrEqual(live.session.length)
    expect(await live.verify()).toBeNull()
  })
})

describe('a fork of a long session', () => {
  it('[R7, K6, K7] reads no more than the surface, at the end and at any earlier boundary', async () => {
    const { sessions, inner, calls } = house()
    const live = await sessions.open(a)
    await talk(live, 8)
    const events = await storedEvents(inner, 'a')
    calls.length = 0
    const end = await sessions.fork(a, { id: SessionId('end') })
    expect(calls.filter(({ method }) => method.startsWith('read'))).toEqual([])
    expect(end.session.deriveMessages()).toEqual(live.session.deriveMessages())
    expect(await end.verify()).toBeNull()
    for (const boundary of [0, 1, 5, 12, 20, events.length - 2]) {
      const whole = (await foldedWhole(inner, 'a')).replay(events.slice(0, boundary + 1))
      const child = await sessions.fork(a, { id: SessionId(`at ${boundary}`), boundary })
      expect(child.session.deriveMessages()).toEqual(whole.deriveMessages())
      expect(child.session.inheritedEventCount).toBe(boundary + 1)
      expect((await readAll(child)).slice(0, boundary + 1)).toEqual(events.slice(0, boundary + 1))
      expect(await child.verify()).toBeNull()
    }
  })

  it('[K6] says of any moment of it how much it had inherited', async () => {
    const { sessions } = house()
    await talk(await sessions.open(a), 2)
    const child = await sessions.fork(a, { id: SessionId('b'), boundary: 4 })
    await talk(child, 2)
    const { length } = child.session
    const counts = await Promise.all([0, 3, 5, 6, length].map(async seq => (await child.at(seq)).inheritedEventCount))
    expect(counts).toEqual([0, 3, 5, 5, 5])
  })

  it('[R7] ends at its boundary, whatever is appended meanwhile', async () => {
    const { sessions } = house()
    const live = await sessions.open(a)
    append(live.session, said('one', 'm'))
    for (let ticks = 0; ticks < 12; ticks += 1) {
      const { length } = live.session
      const forked = sessions.fork(live, { id: SessionId(`after ${ticks}`), boundary: length - 1 })
      for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve()
      append(live.session, said('more', `m${ticks}`))
      expect((await forked).session.inheritedEventCount).toBe(length)
    }
  })

  it('[K7] has a keyframe of its own from the start, and opens from it', async () => {
    const { sessions, inner, again } = house()
    await talk(await sessions.open(a), 6)
    await sessions.fork(a, { id: SessionId('b') })
    await sessions.closeAll()
    const record = (await inner.get(SessionId('b'))) ?? expect.fail('not stored')
    expect(await inner.keyframe(SessionId('b'))).toMatchObject({ logId: record.logId, seq: record.nextSeq })
    const child = await again().open(SessionId('b'))
    expect(residentOf(child).length).toBeLessThan(child.session.length / 2)
    expect(await child.verify()).toBeNull()
  })

  it('[K6, W8] opens from a keyframe of its parent when its own cannot be used', async () => {
    const { sessions, inner } = house()
    await talk(await sessions.open(a), 6)
    const parent = (await inner.keyframe(a)) ?? expect.fail('no keyframe')
    await sessions.fork(a, { id: SessionId('b') })
    await sessions.closeAll()
    let asked = 0
    const storage = withFaults(inner, async ({ method }, proceed) => {
      const answer = await proceed()
      if (method !== 'keyframe' || (asked += 1) > 1) return answer
      return { ...(answer as object), text: 'torn' }
    })
    const child = await new Sessions({ storage, lease: memoryLease(), now, newId: countedIds() }).open(SessionId('b'))
    expect(asked).toBe(2)
    expect(parent.logId).not.toBe(LogId('b'))
    expect(residentOf(child).length).toBeLessThan(child.session.length)
    expect(await child.verify()).toBeNull()
  })
})

describe('an imported log', () => {
  it('[K7, F15] opens from the keyframe it was stored with', async () => {
    const { sessions, again } = house()
    const rows = Array.from({ length: 300 }, (_, seq) =>
      JSON.stringify({
        type: 'user/message',
        seq,
        time: seq,
        data: user(`${seq} ${'w'.repeat(2_000)}`, `m${seq}`),
        surfaceOp: 'append',
      }),
    )
    rows.push(
      JSON.stringify({
        type: 'user/message',
        seq: 300,
        time: 1,
        data: user('all of it', 'c'),
        surfaceOp: { op: 'replace', startSeq: 0, endSeq: 299 },
        sourceEventSeqs: Array.from({ length: 300 }, (_, seq) => seq),
      }),
    )
    const first = JSON.stringify({
      type: 'session',
      version: 3,
      id: 'file',
      createdAt: 1,
      isSeeded: false,
      delegationDepth: 0,
    })
    const { id } = await sessions.import([first, ...rows].join('\n'))
    const live = await again().open(id)
    expect(live.session.deriveMessages().map(({ id }) => id)).toEqual(['c'])
    expect(residentOf(live).length).toBeLessThan(5)
    expect(await live.verify()).toBeNull()
  })
})
