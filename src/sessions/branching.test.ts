/** Where forks begin that say something again or go on from somewhere (SPEC R7, R8, R10). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answered,
  append,
  called,
  type Draft,
  headed,
  loopLog,
  over,
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
import type { SessionErrorCode } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import { SessionId } from '../core/ids.ts'
import { inboxFold } from '../core/inbox.ts'
import { foldTurns } from '../core/turns.ts'
import { type StorageCall, withFaults } from '../storage/faults.ts'
import { memoryStorage } from '../storage/memory.ts'
import { countedIds } from '../testing/agent-kit.ts'
import { type BranchSource, branchAfter, branchBefore, lastTurnStart } from './branching.ts'
import { memoryLease } from './lease.ts'
import type { LiveSession } from './live-session.ts'
import { Sessions } from './sessions.ts'

const cases: Record<string, string> = import.meta.glob('../../e2e/cases/frk-*.jsonl', {
  query: '?raw',
  import: 'default',
  eager: true,
})
const fileOf = (name: string): string => cases[`../../e2e/cases/${name}.jsonl`] as string

const a = SessionId('a')

function house() {
  const calls: StorageCall[] = []
  const storage = withFaults(memoryStorage(), (call, proceed) => {
    calls.push(call)
    return proceed()
  })
  const sessions = new Sessions({ storage, lease: memoryLease(), now: () => 5, newId: countedIds() })
  const holding = async (...drafts: readonly Draft[]) => {
    const live = await sessions.open(a)
    for (const draft of drafts) append(live.session, draft)
    await live.flush()
    return live
  }
  return { storage, calls, sessions, holding }
}
const refused = (code: SessionErrorCode, seq: number) =>
  expect.objectContaining({ name: 'SessionError', code, sessionId: 'a', seq }) as Error
const spliced = (data: object): Draft => ({ type: 'agent/inbox/spliced', data: { start: 0, inserted: [], ...data } })
const turn = (number: number, ...more: readonly Draft[]): readonly Draft[] => [
  turnStart(number),
  stepStart(number, 1),
  said(`question ${number}`),
  ...more,
  answered(`answer ${number}`, number),
  stepEnd(number, 1),
  turnEnd(number),
]
const idsOf = ({ session }: LiveSession) => session.deriveMessages().map(({ id }) => id as string)
const readAll = async (live: LiveSession) => {
  const events: SessionEvent[] = []
  for await (const event of live.readEvents()) events.push(event)
  return events
}
const seqOf = (events: readonly SessionEvent[], is: (event: SessionEvent) => boolean) =>
  events.find(is)?.seq ?? expect.fail('no such event')

describe('saying something again', () => {
  it('[R7] begins where the turn before ended, with ids as they were; the parent goes on', async () => {
    const { sessions, holding } = house()
    const live = await holding(...turn(1), ...turn(2), ...turn(3))
    const again = await lastTurnStart(live)
    expect(again).toBe(14)
    const { boundary, said: prompts } = await branchBefore(live, again ?? -1)
    expect(boundary).toBe(11)
    expect(prompts).toEqual([user('question 3')])
    const child = await sessions.fork(live, { boundary })
    expect(idsOf(child)).toEqual(idsOf(live).slice(0, 4))
    // Nothing in the way of the same message: the child has not said it.
    for (const message of prompts) child.session.append('user/message', message, { surfaceOp: 'append' })
    expect(idsOf(child)).toEqual(idsOf(live).slice(0, 5))
    expect(await child.verify()).toBeNull()
    expect((await branchBefore(live, 8)).boundary).toBe(5)
  })

  it('[R7] of the first turn inherits nothing, or what was noted before it', async () => {
    const { holding } = house()
    const live = await holding(...turn(1))
    expect(await branchBefore(live, 2)).toEqual({ boundary: null, said: [user('question 1')] })
    const other = await house().holding({ type: 'plan/mode', data: { active: true } }, ...turn(1))
    expect((await branchBefore(other, 3)).boundary).toBe(0)
  })

  it('[R7] has all that the turn began with, in order, whoever sent it', async () => {
    const note = { ...user('context', 'p'), source: { kind: 'plugin', plugin: 'test' } }
    const { holding } = house()
    const live = await holding(
      ...turn(1),
      turnStart(2),
      said('before the step'),
      stepStart(2, 1),
      prompted('prompt', 2),
      { type: 'user/message', data: note, surfaceOp: 'append' },
      over(said('so far', 'sum'), 2, 3, [2, 3]),
      said('last'),
      headed('change'),
      said('too late'),
      answered('x', 2),
    )
    const prompts = [user('before the step'), note, user('last')]
    for (const seq of [7, 10, 12]) expect(await branchBefore(live, seq)).toEqual({ boundary: 5, said: prompts })
    expect(await lastTurnStart(live)).toBe(7)
    // What takes the place of others nobody sent.
    await expect(branchBefore(live, 11)).rejects.toThrow(refused('invalid-boundary', 11))
    await expect(branchBefore(live, 14)).rejects.toThrow(refused('invalid-boundary', 14))
  })

  it('[R8] of a message that waited in an earlier turn cancels what the child would have waiting', async () => {
    const { sessions, holding } = house()
    const [second, third] = [user('second'), user('third')]
    const live = await holding(
      turnStart(1),
      stepStart(1, 1),
      said('first'),
      spliced({ target: 'next-turn', inserted: [second] }),
      answered('one'),
      stepEnd(1, 1),
      spliced({ target: 'next-turn', start: 1, inserted: [third] }),
      turnEnd(1),
      turnStart(2),
      spliced({ target: 'next-turn', removedCount: 1 }),
      stepStart(2, 1),
      said('second'),
      answered('two', 2),
      stepEnd(2, 1),
      turnEnd(2),
    )
    const { boundary, said: prompts } = await branchBefore(live, 11)
    expect([boundary, prompts]).toEqual([7, [second]])
    const child = await sessions.fork(live, { boundary })
    expect(child.session.fold(inboxFold)).toEqual({ nextTurn: [], nextStep: [], claimed: [] })
    expect((await readAll(child)).at(-1)).toMatchObject({
      type: 'agent/inbox/spliced',
      data: { target: 'next-turn', start: 0, removedCount: 2, inserted: [], outcome: 'canceled' },
    })
    expect(live.session.fold(inboxFold).nextTurn).toEqual([third])
  })

  it('[R7] is refused for what no turn began with, in words that say why', async () => {
    const { holding } = house()
    const live = await holding(
      said('before'),
      ...turn(1),
      turnStart(2),
      stepStart(2, 1),
      said('go'),
      answered([toolCall('c')], 2),
      called('c', 2),
      returned('c', 'ok', {}, 2),
      stepEnd(2, 1),
      stepStart(2, 2),
      said('and be quick'),
      answered('done', 2, 2),
      stepEnd(2, 2),
      turnEnd(2),
      said('between'),
    )
    const words = (seq: number) =>
      branchBefore(live, seq).then(
        () => expect.fail(`seq ${seq} was taken`),
        (error: unknown) => {
          expect(error).toEqual(refused('invalid-boundary', seq))
          return (error as Error).message
        },
      )
    expect(await words(15)).toMatch(/seq 15 was sent into a turn that had begun already/)
    for (const seq of [0, 19]) expect(await words(seq)).toMatch(/was sent outside any turn/)
    for (const seq of [1, 4, 12]) expect(await words(seq)).toMatch(/is no message that somebody sent/)
    for (const seq of [-1, 0.5, NaN, 20]) {
      await expect(branchBefore(live, seq)).rejects.toMatchObject({ code: 'invalid-boundary', sessionId: 'a' })
    }
    expect((await branchBefore(live, 9)).said).toEqual([user('go')])
  })

  it('[R7] is possible in a turn that has not ended: the child begins before it', async () => {
    const { sessions, holding } = house()
    const live = await holding(...turn(1), turnStart(2), stepStart(2, 1), said('go'))
    const { boundary } = await branchBefore(live, (await lastTurnStart(live)) ?? -1)
    expect(boundary).toBe(5)
    expect(idsOf(await sessions.fork(live, { boundary }))).toHaveLength(2)
  })

  it('[R7] of the latest turn is impossible where it began with nothing, or there is none', async () => {
    expect(await lastTurnStart(await house().holding())).toBeNull()
    expect(await lastTurnStart(await house().holding(said('x')))).toBeNull()
    expect(await lastTurnStart(await house().holding(...turn(1), turnStart(2), turnEnd(2)))).toBeNull()
  })
})

describe('going on from somewhere', () => {
  it('[R7] inherits the turn one points at whole, and between turns what came up to there', async () => {
    const { sessions, holding } = house()
    const live = await holding(...turn(1), said('between'), ...turn(2), turnStart(3), stepStart(3, 1), said('go'))
    for (const seq of [0, 1, 2, 3, 4, 5]) expect(await branchAfter(live, seq)).toBe(5)
    expect(await branchAfter(live, 6)).toBe(6)
    for (const seq of [7, 9, 12]) expect(await branchAfter(live, seq)).toBe(12)
    for (const seq of [13, 15]) await expect(branchAfter(live, seq)).rejects.toThrow(refused('open-turn', seq))
    await expect(branchAfter(live, 16)).rejects.toMatchObject({ code: 'invalid-boundary' })
    const child = await sessions.fork(live, { boundary: await branchAfter(live, 10) })
    expect(idsOf(child)).toEqual(idsOf(live).slice(0, 5))
  })

  it('[R7, FRK-01] of a compacted session reads as it did there', async () => {
    const { sessions } = house()
    const { id } = await sessions.import(fileOf('frk-01-parent'))
    const live = await sessions.open(id)
    const events = await readAll(live)
    const second = seqOf(events, event => event.type === 'user/message' && event.data.id === 'm-u14')
    const third = seqOf(events, event => event.type === 'user/message' && event.data.id === 'm-u25')
    const early = await sessions.fork(live, { boundary: await branchAfter(live, second) })
    expect(idsOf(early).slice(-8)).toEqual(['m-u2', 'm-a4', 'm-r6', 'm-a9', 'm-u14', 'm-a15', 'm-r17', 'm-a20'])
    // Before the third turn is after the second.
    expect((await branchBefore(live, third)).boundary).toBe(await branchAfter(live, second))
    const late = await sessions.fork(live)
    expect(idsOf(late)).toEqual(idsOf(live))
    for (const child of [early, late]) {
      const { inheritedEventCount } = child.session
      expect((await readAll(child)).slice(0, inheritedEventCount)).toEqual(events.slice(0, inheritedEventCount))
    }
    // Its last turn only compacted: nobody said anything that could be said again.
    expect(await lastTurnStart(live)).toBeNull()
  })

  it('[R7, FRK-03] in the middle of a tool call waits for the end of the turn', async () => {
    const { sessions } = house()
    const lines = fileOf('frk-03-mid-call').trimEnd().split('\n')
    await sessions.import(lines.slice(0, 7).join('\n'), { id: a, mode: 'recoverable' })
    const torn = await sessions.open(a)
    // Opening it ended the turn: the end is what a fork inherits.
    expect(await branchAfter(torn, 2)).toBe((await readAll(torn)).findIndex(({ type }) => type === 'turn/end'))
    const live = await house().holding(
      ...[turnStart(1), stepStart(1, 1), said('go'), answered([toolCall('c')]), called('c')],
    )
    await expect(branchAfter(live, 4)).rejects.toThrow(refused('open-turn', 4))
    expect((await branchBefore(live, 2)).boundary).toBeNull()
  })
})

describe('boundaries of turns', () => {
  it('[R7] are where a fold of the whole log finds them, whatever the log', async () => {
    const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 60, size: 'max' })
    await fc.assert(
      fc.asyncProperty(choices, fc.nat({ max: 6 }), async (list, cut) => {
        const { drafts } = loopLog(list)
        const live = await house().holding(...drafts.slice(0, Math.max(0, drafts.length - cut)))
        const events = await readAll(live)
        for (const { seq, type } of events) {
          const inside = foldTurns(events.slice(0, seq + 1)).openTurn !== null
          const end = events.find(event => event.seq >= seq && event.type === 'turn/end')?.seq
          if (!inside) expect(await branchAfter(live, seq)).toBe(seq)
          else if (end !== undefined) expect(await branchAfter(live, seq)).toBe(end)
          else await expect(branchAfter(live, seq)).rejects.toMatchObject({ code: 'open-turn' })
          if (type !== 'turn/start' || events[seq + 1]?.type !== 'user/message') continue
          const { boundary } = await branchBefore(live, seq + 1)
          expect(boundary).toBe(seq === 0 ? null : seq - 1)
          if (boundary !== null) expect(foldTurns(events.slice(0, boundary + 1)).openTurn).toBeNull()
        }
      }),
      { numRuns: 40 },
    )
  })

  it('[R10] are found in pages near to where one looks, in memory or not', async () => {
    const { sessions, holding } = house()
    const long = 'x'.repeat(20_000)
    const live = await holding(...Array.from({ length: 60 }, (_, at) => turn(at + 1, said(long, `l${at}`))).flat())
    const nodes = live.session.surface.nodes
    append(live.session, over(said('so far', 'sum'), nodes[0] as number, nodes.at(-1) as number, nodes))
    await live.flush()
    await sessions.close(a)
    const opened = await sessions.open(a)
    expect(opened.session.eventAt(100)).toBeUndefined()
    const read: number[] = []
    const observed: BranchSource = {
      session: opened.session,
      readEvents: async function* ({ from = 0, to = 0 } = {}) {
        read.push(to - from)
        yield* opened.readEvents({ from, to })
      },
    }
    expect(await branchBefore(observed, 7 * 30 + 2)).toMatchObject({ boundary: 7 * 30 - 1 })
    expect(await branchAfter(observed, 7 * 30 + 3)).toBe(7 * 30 + 6)
    expect(read.length).toBeLessThanOrEqual(6)
    expect(Math.max(...read)).toBeLessThanOrEqual(256)
    const child = await sessions.fork(opened, { boundary: 7 * 30 - 1 })
    expect(idsOf(child)).toHaveLength(90)
  })
})
