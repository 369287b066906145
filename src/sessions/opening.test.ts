/** Turns that wait for somebody when their session is opened (SPEC O2, R1–R6). */
import { describe, expect, it } from 'vitest'
import {
  answered,
  append,
  called,
  type Draft,
  headed,
  log,
  returned,
  said,
  stepEnd,
  stepStart,
  toolCall,
  turnEnd,
  turnStart,
} from '../core/builders.ts'
import type { SessionEvent } from '../core/events.ts'
import type { Fold } from '../core/fold.ts'
import { LogId, SessionId, SessionSeq } from '../core/ids.ts'
import { type TurnsState, turnsFold } from '../core/turns.ts'
import { type StorageCall, withFaults } from '../storage/faults.ts'
import type { SessionStorage } from '../storage/storage.ts'
import { countedIds, leftWith, storedEvents, typesOf } from '../testing/agent-kit.ts'
import { memoryLease } from './lease.ts'
import { Sessions, type SessionsOptions } from './sessions.ts'

const s = SessionId('s')
/** Questions nobody answered. */
const askedFold: Fold<readonly string[]> = {
  key: 'asked',
  version: 1,
  initial: () => [],
  evolve(ids, { event }) {
    if (event.type === 'approval/asked') return [...ids, event.data.id]
    return event.type === 'approval/decided' ? ids.filter(id => id !== event.data.id) : ids
  },
  toJSON: ids => ids,
  fromJSON: json => json as string[],
}
const asked: Draft = { type: 'approval/asked', data: { id: 'q', toolName: 'read', callId: 'c' } }
const decided: Draft = { type: 'approval/decided', data: { id: 'q', outcome: 'allowed-once' } }
const waiting = [turnStart(1), stepStart(1, 1), said('go'), headed(), answered([toolCall('c')]), asked]

async function house(drafts: readonly Draft[], more: Partial<SessionsOptions> = {}, inner?: SessionStorage) {
  const events = log(...drafts)
  const storage = inner ?? (await leftWith(events))
  const calls: StorageCall[] = []
  const questions: { readonly id: SessionId; readonly turn: TurnsState; readonly asked: readonly string[] }[] = []
  const observed = withFaults(storage, (call, proceed) => {
    calls.push(call)
    return proceed()
  })
  const options: SessionsOptions = {
    ...{ storage: observed, lease: memoryLease(), now: () => 9_000, newId: countedIds(), folds: [askedFold] },
    keepsTurn: (id, turn, fold) => {
      questions.push({ id, turn, asked: fold(askedFold) })
      return fold(askedFold).length > 0
    },
    ...more,
  }
  const opened = async () => {
    const sessions = new Sessions({ ...options, lease: memoryLease() })
    return { sessions, live: await sessions.open(s) }
  }
  return { events, storage, calls, questions, opened }
}
const typesAfter = async (storage: SessionStorage, from: number) => typesOf(await storedEvents(storage)).slice(from)

describe('a turn that waits', () => {
  it('[O2, R6] stays open when somebody says so: what was stored is as it was, and it goes on', async () => {
    const { events, storage, calls, questions, opened } = await house(waiting)
    const { sessions, live } = await opened()
    const { session } = live
    expect(questions).toMatchObject([
      { id: 's', asked: ['q'], turn: { openTurn: 1, openStep: 1, pendingCalls: [{ callId: 'c', callSeq: null }] } },
    ])
    expect(session.fold(turnsFold)).toMatchObject({ openTurn: 1, openStep: 1, pendingCalls: [{ callId: 'c' }] })
    expect(session.firstLiveSeq).toBe(6)
    expect(calls.filter(({ method }) => method === 'claim')).toHaveLength(1)
    for (const draft of [decided, called('c'), returned('c'), stepEnd(1, 1), turnEnd(1)]) append(session, draft)
    await live.flush()
    expect(await live.verify()).toBeNull()
    expect((await storedEvents(storage)).slice(0, 6)).toEqual(events)
    const rest = ['session/end-seed', 'approval/decided', 'tool/call', 'tool/result', 'step/end', 'turn/end']
    expect(await typesAfter(storage, 6)).toEqual(rest)
    expect((await storage.get(s))?.epoch).toBe(2)
    await sessions.closeAll()
    expect((await opened()).live.session.length).toBe(13)
    expect(questions).toHaveLength(1)
  })

  it('[O2] stays open however often it is opened, and does not grow by it', async () => {
    const { storage, opened } = await house(waiting)
    for (let time = 0; time < 3; time += 1) await (await opened()).sessions.closeAll()
    expect(await typesAfter(storage, 6)).toEqual(['session/end-seed'])
    expect((await storage.get(s))?.epoch).toBe(4)
  })

  it('[O2, R1] is repaired when nobody says so, or is asked', async () => {
    const closers = ['tool/result', 'step/end', 'turn/end', 'session/end-seed']
    const refusing = await house(waiting, { keepsTurn: () => false })
    await (await refusing.opened()).sessions.closeAll()
    expect(await typesAfter(refusing.storage, 6)).toEqual(closers)
    const bare = await house(waiting)
    const { storage } = bare
    const sessions = new Sessions({ storage, lease: memoryLease(), now: () => 9_000, newId: countedIds() })
    await sessions.open(s)
    await sessions.closeAll()
    expect(await typesAfter(bare.storage, 6)).toEqual(closers)
    // One that was kept is repaired by whoever does not keep it.
    const kept = await house(waiting)
    await (await kept.opened()).sessions.closeAll()
    const later = await house([], { keepsTurn: () => false }, kept.storage)
    await (await later.opened()).sessions.closeAll()
    expect(await typesAfter(kept.storage, 7)).toEqual(closers)
    const [result] = (await storedEvents(kept.storage)).slice(7) as [SessionEvent]
    expect(result).toMatchObject({ data: { error: { code: 'TOOL_NOT_STARTED' } } })
  })

  it.each<[string, readonly Draft[]]>([
    ['has ended', [...waiting, decided, called('c'), returned('c'), stepEnd(1, 1), turnEnd(1)]],
    ['has no calls', waiting.slice(0, 4)],
    ['has all its calls answered', [...waiting, decided, called('c'), returned('c')]],
    ['has no open step', [...waiting, stepEnd(1, 1)]],
    ['is not there', [said('x')]],
  ])('[O2] is not asked for when it %s, and nothing is read twice', async (_name, drafts) => {
    const { calls, questions, opened } = await house(drafts)
    await opened()
    expect(questions).toEqual([])
    expect(calls.filter(({ method }) => method === 'seams')).toHaveLength(1)
  })

  it('[O2, R9] is not asked for when there is a journal of a model call', async () => {
    const { storage, questions, opened } = await house(waiting)
    const call = { attemptId: 'x', messageId: 'm', turn: 1, step: 1, provider: 'p', model: 'm' }
    await storage.append({
      ...{ id: s, logId: LogId('log'), epoch: 1, durability: 'strict', time: null },
      segment: { firstSeq: SessionSeq(6), count: 0, text: '[]' },
      journal: { part: 0, text: JSON.stringify([{ call }]) },
    })
    await (await opened()).sessions.closeAll()
    expect(questions).toEqual([])
    expect(await typesAfter(storage, 6)).toEqual(['tool/result', 'step/end', 'turn/end', 'session/end-seed'])
  })

  it('[O2] keeps its place when the log opens from a keyframe', async () => {
    const talk = Array.from({ length: 20 }, (_, at) => said('x'.repeat(20_000), `x${at}`))
    const first = await house([...talk])
    const { live, sessions } = await first.opened()
    await live.flush()
    expect(await first.storage.keyframe(s)).not.toBeNull()
    for (const draft of waiting) append(live.session, draft)
    await live.flush()
    // The process dies here.
    const next = await house([], {}, first.storage)
    const { live: again } = await next.opened()
    expect(next.questions).toHaveLength(1)
    expect(next.calls.filter(({ method }) => method === 'seams')).toEqual([])
    expect(again.session.fold(turnsFold).pendingCalls).toHaveLength(1)
    expect(await again.verify()).toBeNull()
    await sessions.closeAll().catch(() => undefined)
  })

  it('[O2] refuses to open when asking fails, and lets go of the session', async () => {
    const failing = await house(waiting, {
      keepsTurn: () => {
        throw new TypeError('nobody knows')
      },
    })
    await expect(failing.opened()).rejects.toThrow('nobody knows')
    expect(await typesAfter(failing.storage, 6)).toEqual([])
  })
})
