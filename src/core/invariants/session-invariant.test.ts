import { describe, expect, it } from 'vitest'
import {
  append,
  answered,
  called,
  citing,
  type Draft,
  headed,
  header,
  log,
  over,
  prompted,
  returned,
  said,
  stepEnd,
  stepStart,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
} from '../builders.ts'
import type { Invariant } from '../invariant.ts'
import { Session } from '../session.ts'
import { reopened, tried, written } from './kit.ts'
import { sessionInvariant } from './session-invariant.ts'

const after = (...before: readonly Draft[]) => ({
  try: (draft: Draft) => tried(sessionInvariant, before, draft),
})
const attempt = (turn = 1, step = 1): Draft => ({ type: 'assistant/attempt', data: { turn, step, stream: [] } })
const asked = (...ids: readonly string[]): Draft => answered(ids.map(id => toolCall(id)))
const context: Draft = { type: 'request/context', data: { provider: 'demo', model: 'm' } }
const failed = (callId: string, code: string, turn = 1, step = 1): Draft => {
  const message = toolResult(callId, code)
  const content = [{ ...message.content[0], isError: true }]
  const data = { turn, step, message: { ...message, content }, error: { name: 'ToolError', code } }
  return { type: 'tool/result', data, surfaceOp: 'append' }
}

describe('turns and steps', () => {
  const turn1 = [turnStart(1), turnEnd(1)]
  const inStep = [turnStart(1), stepStart(1, 1)]

  it('[I1, case 39] refuses before the commit, in words', () => {
    const session = written([turnStart(1)], [sessionInvariant])
    const refused = () => session.append('turn/start', { turn: 2 })
    expect(refused).toThrow('turn/start at seq 1 breaks the invariant session: expected no open turn, found turn 1')
    expect(refused).toThrow(expect.objectContaining({ code: 'invariant', seq: 1, eventType: 'turn/start' }))
    expect(session.length).toBe(1)
    expect(session.append('turn/end', { turn: 1, reason: { kind: 'completed' } }).seq).toBe(1)
  })

  it('[I1] one that throws vetoes with its words, one that answers nothing does not, and none can change the log', () => {
    const throwing: Invariant = {
      key: 'broken',
      problem() {
        throw new TypeError('no idea')
      },
    }
    const session = written([], [throwing])
    expect(() => session.append('turn/start', { turn: 1 })).toThrow(
      expect.objectContaining({
        code: 'invariant',
        message: expect.stringContaining('could not be checked') as string,
      }),
    )
    expect(session.length).toBe(0)
    const vandal: Invariant = {
      key: 'vandal',
      problem(_committed, { nodes }) {
        ;(nodes as unknown as number[]).push(42)
        return null
      },
    }
    expect(() => written([said('x')], [vandal])).toThrow(expect.objectContaining({ code: 'invariant' }))
    const silent = { key: 'silent', problem: () => undefined } as unknown as Invariant
    expect(written([turnStart(1)], [silent]).length).toBe(1)
  })

  it('[I2, case 82] turns are numbered from 1, one after the other', () => {
    expect(after().try(turnStart(1))).toBe('accepted')
    expect(after().try(turnStart(0))).toBe('expected turn 1, found 0')
    expect(after().try(turnStart(2))).toBe('expected turn 1, found 2')
    expect(after(...turn1).try(turnStart(2))).toBe('accepted')
    expect(after(...turn1).try(turnStart(3))).toBe('expected turn 2, found 3')
    expect(after(...turn1).try(turnStart(1))).toBe('expected turn 2, found 1')
    expect(after(turnStart(1)).try(turnStart(2))).toBe('expected no open turn, found turn 1')
  })

  it('[I2, case 82] a turn is ended by its number', () => {
    expect(after(turnStart(1)).try(turnEnd(1))).toBe('accepted')
    expect(after(turnStart(1)).try(turnEnd(2))).toBe('expected turn 1, found 2')
    expect(after().try(turnEnd(1))).toBe('expected an open turn, found none')
    expect(after(...turn1).try(turnEnd(1))).toBe('expected an open turn, found none')
  })

  it('[I2, case 83] steps are numbered from 1 in each turn, and closed before it ends', () => {
    expect(after(turnStart(1)).try(stepStart(1, 1))).toBe('accepted')
    expect(after(turnStart(1)).try(stepStart(2, 1))).toBe('expected turn 1, found 2')
    expect(after(turnStart(1)).try(stepStart(1, 0))).toBe('expected step 1, found 0')
    expect(after().try(stepStart(1, 1))).toBe('expected an open turn, found none')
    expect(after(...inStep).try(stepStart(1, 2))).toBe('expected no open step, found step 1')
    expect(after(...inStep).try(stepStart(1, 1))).toBe('expected no open step, found step 1')
    expect(after(...inStep).try(turnEnd(1))).toBe('expected no open step, found step 1')
    expect(after(...inStep, stepEnd(1, 1)).try(stepStart(1, 2))).toBe('accepted')
    expect(after(...inStep, stepEnd(1, 1)).try(stepStart(1, 3))).toBe('expected step 2, found 3')
    expect(after(...inStep, stepEnd(1, 1)).try(turnEnd(1))).toBe('accepted')
    expect(after(...inStep, stepEnd(1, 1), turnEnd(1), turnStart(2)).try(stepStart(2, 1))).toBe('accepted')
  })

  it('[I2] a step is ended by its number', () => {
    expect(after(...inStep).try(stepEnd(1, 1))).toBe('accepted')
    expect(after(...inStep).try(stepEnd(1, 2))).toBe('expected step 1, found 2')
    expect(after(...inStep).try(stepEnd(2, 1))).toBe('expected turn 1, found 2')
    expect(after(...inStep, stepEnd(1, 1)).try(stepEnd(1, 1))).toBe('expected an open step, found none')
    expect(after().try(stepEnd(1, 1))).toBe('expected an open turn, found none')
  })

  it.each<[string, (turn: number, step: number) => Draft]>([
    ['assistant/message', (turn, step) => answered('hi', turn, step)],
    ['assistant/attempt', attempt],
    ['system/message', (turn, step) => prompted('be', turn, step)],
    ['tool/call', (turn, step) => called('a', turn, step)],
    ['tool/result', (turn, step) => failed('a', 'TOOL_NOT_STARTED', turn, step)],
  ])('[I3, case 83] %s names the open turn and step', (_type, draft) => {
    expect(after(...inStep).try(draft(1, 1))).toBe('accepted')
    expect(after(...inStep).try(draft(1, 2))).toBe('expected step 1, found 2')
    expect(after(...inStep).try(draft(2, 1))).toBe('expected turn 1, found 2')
    expect(after(turnStart(1)).try(draft(1, 1))).toBe('expected an open step, found none')
    expect(after(...inStep, stepEnd(1, 1)).try(draft(1, 1))).toBe('expected an open step, found none')
    expect(after().try(draft(1, 1))).toBe('expected an open turn, found none')
  })

  it('[I3] a prompt that replaces another one stands in a step as well', () => {
    const before = [...inStep, prompted('be')]
    expect(after(...before).try(over(prompted('be brief'), 2, 2, [2]))).toBe('accepted')
    expect(after(...before, stepEnd(1, 1)).try(over(prompted('be brief'), 2, 2, [2]))).toBe(
      'expected an open step, found none',
    )
  })

  it.each([
    ['request/header', headed()],
    ['request/context', context],
  ])('[I3] %s is logged in a turn', (_type, draft) => {
    expect(after(turnStart(1)).try(draft)).toBe('accepted')
    expect(after(...inStep).try(draft)).toBe('accepted')
    expect(after(...turn1).try(draft)).toBe('expected an open turn, found none')
  })

  it('[I3] leaves alone what people say, what plugins write and where a log was handed over', () => {
    const plugin: Draft = { type: 'todo/write', data: { todos: [] } }
    for (const before of [[], turn1, inStep]) {
      for (const draft of [said('hi'), plugin, reopened]) expect(after(...before).try(draft)).toBe('accepted')
    }
    expect(after(...inStep, reopened).try(answered('on'))).toBe('accepted')
  })
})

describe('tool calls', () => {
  const inStep = [turnStart(1), stepStart(1, 1), asked('a', 'b')]

  it('[I4] a result answers a call that was started in its step', () => {
    expect(after(...inStep, called('a')).try(citing(returned('a'), [3]))).toBe('accepted')
    expect(after(...inStep, called('a'), called('b'), returned('b')).try(returned('a'))).toBe('accepted')
    expect(after(...inStep).try(returned('a'))).toBe('expected the id of a call that was started and not answered, found "a"') // biome-ignore format: one line
    expect(after(...inStep, called('a')).try(returned('b'))).toContain('found "b"')
    const later = [...inStep, called('a'), stepEnd(1, 1), stepStart(1, 2)]
    expect(after(...later).try(returned('a', 'ok', {}, 1, 2))).toContain('found "a"')
  })

  it('[I4] a call need not have been asked for', () => {
    expect(after(turnStart(1), stepStart(1, 1), called('x')).try(returned('x'))).toBe('accepted')
    expect(after(turnStart(1), stepStart(1, 1), called('x'), returned('x')).try(returned('x'))).toContain('found "x"')
  })

  it('[I4, REP-10] a second result of one call is refused', () => {
    const before = [...inStep, called('a'), returned('a')]
    expect(after(...before).try(returned('a', 'again'))).toContain('found "a"')
    expect(after(...before, called('a')).try(returned('a', 'again'))).toBe('accepted')
  })

  it('[I1, I4, REP-10] a stored log that broke the rule opens for who keeps it from now on only', () => {
    const broken = log(...inStep, called('a'), returned('a'), returned('a', 'again'), called('b'))
    const options = { header: header(), events: broken, now: () => 9, liveInvariants: [sessionInvariant] }
    const session = Session.fromRestore(options)
    expect(() => append(session, returned('a', 'again'))).toThrow('breaks the invariant session')
    expect(append(session, returned('b')).type).toBe('tool/result')
  })

  it('[I4, case 85] a call that never started may be answered so; at the end of a step calls may be left', () => {
    expect(after(...inStep).try(failed('a', 'TOOL_NOT_STARTED'))).toBe('accepted')
    expect(after(turnStart(1), stepStart(1, 1)).try(failed('x', 'TOOL_NOT_STARTED'))).toBe('accepted')
    expect(after(...inStep).try(failed('a', 'TOOL_OUTCOME_UNKNOWN'))).toContain('found "a"')
    expect(after(...inStep, called('a')).try(stepEnd(1, 1))).toBe('accepted')
  })

  it('[I4] a rewritten result only needs an open turn, whichever', () => {
    const before = [...inStep, called('a'), returned('a'), stepEnd(1, 1)]
    const pruned = over(returned('a', 'short'), 4, 4, [4])
    expect(after(...before).try(pruned)).toBe('accepted')
    expect(after(...before, turnEnd(1), turnStart(2)).try(pruned)).toBe('accepted')
    expect(after(...before, turnEnd(1)).try(pruned)).toBe('expected an open turn, found none')
  })

  it('[I4] repair answers what was cut off, and keeps the rules', () => {
    const session = written([...inStep, called('a')], [sessionInvariant])
    const restore = { header: session.header, events: session.snapshotEvents(), now: () => 9, repair: true }
    const repaired = Session.fromRestore({ ...restore, invariants: [sessionInvariant] })
    expect(repaired.snapshotEvents(4).map(event => event.type)).toEqual([
      'tool/result',
      'tool/result',
      'step/end',
      'turn/end',
      'session/end-seed',
    ])
  })
})
