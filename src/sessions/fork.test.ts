/** Forks in storage: what a child inherits is shared, its own events are its own (SPEC R7, R8, W8, W9). */
import { describe, expect, it } from 'vitest'
import {
  answered,
  append,
  called,
  prompted,
  returned,
  said,
  stepEnd,
  stepStart,
  toolCall,
  turnEnd,
  turnStart,
  user,
} from '../core/builders.ts'
import { sessionInvariant } from '../core/invariants/session-invariant.ts'
import { requestMessages } from '../core/request-messages.ts'
import { defineEvent } from '../core/event-definition.ts'
import type { SessionErrorCode } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import { SessionId } from '../core/ids.ts'
import { validateLog } from '../format/validate.ts'
import { toolResultTrim, toolResultTrimming } from '../core/interpreters/tool-result-trim.ts'
import { memoryStorage } from '../storage/memory.ts'
import { countedIds, observedStorage } from '../testing/agent-kit.ts'
import { memoryLease } from './lease.ts'
import type { LiveSession } from './live-session.ts'
import { Sessions, type SessionsOptions } from './sessions.ts'

const [parent, child] = [SessionId('parent'), SessionId('child')]
const house = (more: Partial<SessionsOptions> = {}) => {
  const storage = observedStorage(memoryStorage())
  const options = { storage, lease: memoryLease(), now: () => 5, newId: countedIds(), ...more }
  return { storage, sessions: new Sessions(options), again: () => new Sessions(options) }
}
const turn = ({ session }: LiveSession, number: number) => {
  for (const draft of [
    turnStart(number),
    stepStart(number, 1),
    ...(number === 1 ? [prompted('be brief')] : []),
    said(`question ${number}`),
    answered(`answer ${number}`, number),
    stepEnd(number, 1),
    turnEnd(number),
  ]) {
    append(session, draft)
  }
  return session.length - 1
}
const textsOf = ({ session }: LiveSession) =>
  session.deriveMessages().map(({ content: [block] }) => (block?.type === 'text' ? block.text : ''))
const eventsOf = async (live: LiveSession, from = 0) => {
  const events: SessionEvent[] = []
  for await (const event of live.readEvents({ from })) events.push(event)
  return events
}
const refused = (code: SessionErrorCode) => expect.objectContaining({ name: 'SessionError', code }) as Error

describe('a fork', () => {
  it('[R7, W8] reads as its parent did, shares what it inherits, and goes its own way', async () => {
    const { sessions, storage, again } = house()
    const source = await sessions.open(parent)
    const end = turn(source, 1)
    turn(source, 2)
    const fork = await sessions.fork(parent, { id: child, boundary: end })
    expect(sessions.live(child)).toBe(fork)
    expect(fork.session.header).toMatchObject({ id: 'child', parentSession: 'parent', isSeeded: true })
    expect(fork.session.inheritedEventCount).toBe(end + 1)
    expect(textsOf(fork)).toEqual(['be brief', 'question 1', 'answer 1'])
    expect((await storage.get(child))?.inherited).toEqual([
      { logId: (await storage.get(parent))?.logId, from: 0, to: end + 1 },
    ])
    turn(fork, 2)
    turn(source, 3)
    const texts = textsOf(fork)
    expect(await fork.verify()).toBeNull()
    await sessions.closeAll()
    const reopened = await again().open(child)
    expect(textsOf(reopened)).toEqual(texts)
    expect(reopened.session.inheritedEventCount).toBe(end + 1)
  })

  it('[R7] of a stored session needs no lease, and leaves it as it is', async () => {
    const { sessions, storage, again } = house()
    turn(await sessions.open(parent), 1)
    await sessions.close(parent)
    const before = await storage.get(parent)
    const fork = await again().fork(parent, { id: child })
    expect(textsOf(fork)).toEqual(['be brief', 'question 1', 'answer 1'])
    expect(await storage.get(parent)).toEqual(before)
  })

  it('[R7, W9] of a fork inherits both, and outlives its parents', async () => {
    const { sessions, storage, again } = house()
    turn(await sessions.open(parent), 1)
    const middle = await sessions.fork(parent, { id: child })
    turn(middle, 2)
    const last = await sessions.fork(middle)
    expect((await storage.get(last.session.id))?.inherited).toHaveLength(2)
    const texts = textsOf(last)
    await sessions.close(last.session.id)
    await sessions.delete(child)
    await sessions.delete(parent)
    expect(textsOf(await again().open(last.session.id))).toEqual(texts)
  })

  it('[H5] a request of the past is asked for by a seq of the log', async () => {
    const { sessions } = house()
    const source = await sessions.open(parent)
    turn(source, 1)
    for (const seq of [-1, 1.5, NaN, source.session.length + 1]) {
      await expect(source.requestAt(seq)).rejects.toThrow(refused('not-resident'))
    }
    expect(await source.requestAt(0)).toBeNull()
  })

  it('[R7] of an empty session is empty', async () => {
    const { sessions } = house()
    await sessions.open(parent)
    const fork = await sessions.fork(parent, { id: child })
    expect(fork.session.length).toBe(1)
    expect(fork.session.eventAt(0)).toMatchObject({ type: 'session/end-seed', data: { inherited: true } })
  })

  it('[R7, case 79] that inherits nothing is empty but for its mark, whatever its parent has', async () => {
    const { sessions, storage, again } = house()
    const source = await sessions.open(parent)
    const { session } = source
    turn(source, 1)
    session.append('agent/inbox/spliced', { target: 'next-turn', start: 0, inserted: [user('later')] })
    append(session, turnStart(2))
    const fork = await sessions.fork(parent, { id: child, boundary: null })
    expect(fork.session.header).toMatchObject({ id: 'child', parentSession: 'parent', isSeeded: true })
    const mark = { type: 'session/end-seed', seq: 0, time: 5, data: { inherited: true } }
    expect(await eventsOf(fork)).toEqual([mark])
    expect([fork.session.inheritedEventCount, fork.session.deriveMessages()]).toEqual([0, []])
    expect(await storage.get(child)).toMatchObject({ inherited: [], nextSeq: 1 })
    expect(await fork.verify()).toBeNull()
    turn(fork, 1)
    await sessions.closeAll()
    const texts = ['be brief', 'question 1', 'answer 1']

    // It needs nothing of its parent, and its file is one of the format.
    await again().delete(parent)
    const reopened = again()
    const live = await reopened.open(child)
    expect([textsOf(live), live.session.inheritedEventCount]).toEqual([texts, 0])
    expect(validateLog({ header: live.session.header, events: await eventsOf(live) })).toEqual([])
    const elsewhere = house().sessions
    expect(await elsewhere.import(await reopened.export(child))).toMatchObject({ outcome: 'created', repairs: [] })
    expect(textsOf(await elsewhere.open(child))).toEqual(texts)
  })

  it('[R7] that inherits nothing can be made of stored sessions, forks and empty ones too', async () => {
    const { sessions, again } = house()
    turn(await sessions.open(parent), 1)
    await sessions.fork(parent, { id: child })
    await sessions.closeAll()
    const rest = again()
    for (const source of [parent, child]) {
      const fork = await rest.fork(source, { boundary: null })
      expect(await eventsOf(fork)).toMatchObject([{ type: 'session/end-seed', data: { inherited: true } }])
      expect(fork.session.header.parentSession).toBe(source)
      expect(rest.live(source)).toBeUndefined()
    }
    const empty = await rest.open(SessionId('empty'))
    expect((await rest.fork(empty, { boundary: null })).session.length).toBe(1)
    await expect(rest.fork(SessionId('nobody'), { boundary: null })).rejects.toThrow(refused('session-not-found'))
    await expect(rest.fork(parent, { id: child, boundary: null })).rejects.toThrow(refused('session-already-exists'))
    // Of one that is deleted there is nothing to branch off from.
    await rest.delete(child, { undoable: true })
    await expect(rest.fork(child, { boundary: null })).rejects.toMatchObject({ code: 'deleted' })
  })

  it('[R8] cancels what its parent had pending', async () => {
    const { sessions } = house()
    const source = await sessions.open(parent)
    turn(source, 1)
    source.session.append('agent/inbox/spliced', { target: 'next-turn', start: 0, inserted: [user('later')] })
    const fork = await sessions.fork(parent, { id: child })
    const [last] = await eventsOf(fork, fork.session.length - 1)
    expect(last).toMatchObject({
      type: 'agent/inbox/spliced',
      data: { target: 'next-turn', start: 0, removedCount: 1, inserted: [], outcome: 'canceled' },
    })
  })

  it('[R7] refuses in order: a taken id, no such source, a seq of no event, the middle of a turn', async () => {
    const { sessions } = house()
    const source = await sessions.open(parent)
    const end = turn(source, 1)
    append(source.session, turnStart(2))
    const trial = (...args: Parameters<Sessions['fork']>) => sessions.fork(...args)
    await expect(trial(SessionId('nobody'), { id: parent })).rejects.toThrow(refused('session-already-exists'))
    await expect(trial(SessionId('nobody'), { id: child, boundary: -1 })).rejects.toThrow(refused('session-not-found'))
    for (const boundary of [-1, -0, 0.5, NaN, end + 2]) {
      await expect(trial(parent, { id: child, boundary })).rejects.toThrow(refused('invalid-boundary'))
    }
    await expect(trial(parent, { id: child })).rejects.toThrow(refused('open-turn'))
    await expect(trial(parent, { id: child, boundary: 0 })).rejects.toThrow(refused('open-turn'))
    await sessions.close(parent)
    await expect(trial(source, { id: child })).rejects.toThrow(refused('session-not-found'))
    await sessions.open(parent)
    await expect(trial(source, { id: child })).rejects.toThrow(refused('session-not-live'))
    // Nothing was left behind.
    expect((await sessions.list()).map(({ id }) => id)).toEqual(['parent'])
    expect((await sessions.fork(parent, { id: child, boundary: end })).session.length).toBe(end + 2)
  })

  it('[R7, W7] that cannot be stored is none, and may be tried again', async () => {
    const { sessions, storage } = house()
    turn(await sessions.open(parent), 1)
    await sessions.live(parent)?.flush()
    storage.beforeAppend = () => {
      throw new Error('disk gone')
    }
    await expect(sessions.fork(parent, { id: child })).rejects.toThrow()
    expect(sessions.live(child)).toBeUndefined()
    storage.beforeAppend = () => undefined
    expect(textsOf(await sessions.fork(parent, { id: child }))).toHaveLength(3)
  })
})

describe('extensions', () => {
  const noted = defineEvent<{ readonly note: string }>('acme/noted')

  it('[L18, M2] are known to every session of a house, forks and reopened ones too', async () => {
    const { sessions, storage, again } = house({
      eventTypes: [noted, toolResultTrim],
      projections: [toolResultTrimming],
    })
    const { session } = await sessions.open(parent)
    session.append(noted, { note: 'hi' })
    const fork = await sessions.fork(parent, { id: child })
    fork.session.append(noted, { note: 'there' })
    await sessions.closeAll()
    const [first] = await eventsOf(await again().open(child))
    expect(first).toMatchObject({ type: 'acme/noted', data: { note: 'hi' } })
    const bare = new Sessions({ storage, lease: memoryLease(), now: () => 5, newId: countedIds() })
    await expect(bare.open(parent)).rejects.toThrow(refused('unknown-type'))
  })

  it('[I1, I4, REP-10] a second result is refused where live rules are kept; a stored log that has one opens', async () => {
    const { sessions, storage } = house()
    const source = await sessions.open(parent)
    const asked = answered([toolCall('c')])
    for (const draft of [turnStart(1), stepStart(1, 1), asked, called('c'), returned('c')])
      append(source.session, draft)
    append(source.session, returned('c', 'again'))
    await sessions.closeAll()

    const options = { storage, lease: memoryLease(), now: () => 5, newId: countedIds() }
    const strict = new Sessions({ ...options, liveInvariants: [sessionInvariant] })
    const { session } = await strict.open(parent)
    // What is sent holds one result for the call.
    expect(requestMessages(session.messages).messages.filter(({ source }) => source.kind === 'tool')).toHaveLength(1)
    for (const draft of [turnStart(2), stepStart(2, 1), { ...asked, data: { ...(asked.data as object), turn: 2 } }]) {
      append(session, draft)
    }
    append(session, called('c', 2))
    append(session, returned('c', 'ok', {}, 2))
    const { length } = session
    expect(() => append(session, returned('c', 'again', {}, 2))).toThrow(refused('invariant'))
    expect(session.length).toBe(length)
    await expect(strict.live(parent)?.verify()).rejects.toThrow(
      expect.objectContaining({ code: 'invariant', index: 5 }) as Error,
    )
  })

  it('[I1] of a house that vetoes are asked in every session', async () => {
    const invariant = { key: 'quiet', problem: () => 'nothing may be said' }
    const { session } = await house({ invariants: [invariant] }).sessions.open(parent)
    expect(() => session.append('turn/start', { turn: 1 })).toThrow(refused('invariant'))
    expect(session.length).toBe(0)
  })
})
