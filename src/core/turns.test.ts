import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  answered,
  called,
  log,
  logFrom,
  loopLog,
  over,
  returned,
  said,
  stepEnd,
  stepStart,
  throughJson,
  toolCall,
  turnEnd,
  turnStart,
} from './builders.ts'
import type { SessionEvent } from './events.ts'
import { evolveTurns, foldTurns, turnsFold, type TurnsState } from './turns.ts'

const asked = (...ids: readonly string[]): ReturnType<typeof answered> => answered(ids.map(id => toolCall(id)))
const pending = (state: TurnsState): [string, number | null][] =>
  state.pendingCalls.map(({ callId, callSeq }) => [callId, callSeq])

describe('turns and steps', () => {
  it('[T1] nothing is open in an empty log', () => {
    const nothing = { openTurn: null, openStep: null, lastTurn: 0, lastStep: 0, pendingCalls: [], unaskedCalls: [] }
    expect(foldTurns([])).toEqual(nothing)
  })

  it('[T1] follows turns and steps', () => {
    const states = [
      turnStart(1),
      stepStart(1, 1),
      stepEnd(1, 1),
      stepStart(1, 2),
      stepEnd(1, 2),
      turnEnd(1),
      turnStart(2),
    ]
      .map((_, index, drafts) => foldTurns(log(...drafts.slice(0, index + 1))))
      .map(({ openTurn, openStep, lastTurn, lastStep }) => [openTurn, openStep, lastTurn, lastStep])
    expect(states).toEqual([
      [1, null, 1, 0],
      [1, 1, 1, 1],
      [1, null, 1, 1],
      [1, 2, 1, 2],
      [1, null, 1, 2],
      [null, null, 1, 2],
      [2, null, 2, 0],
    ])
  })

  it('[T1] an end of a turn closes a step that was left open', () => {
    expect(foldTurns(log(turnStart(1), stepStart(1, 1), asked('a'), turnEnd(1)))).toMatchObject({
      openTurn: null,
      openStep: null,
      pendingCalls: [],
    })
  })
})

describe('pending calls', () => {
  const open = [turnStart(1), stepStart(1, 2)]

  it('[T1] are registered in the order the model asked, with name and step', () => {
    const state = foldTurns(
      log(...open, { ...asked('b', 'a'), data: answered([toolCall('b'), toolCall('a')], 1, 2).data }),
    )
    expect(state.pendingCalls).toEqual([
      { callId: 'b', name: 'read', step: 2, callSeq: null },
      { callId: 'a', name: 'read', step: 2, callSeq: null },
    ])
  })

  it('[T1] know when they were started, if the model asked for them', () => {
    const state = foldTurns(log(...open, asked('a', 'b'), called('b'), called('unknown')))
    expect(pending(state)).toEqual([
      ['a', null],
      ['b', 3],
    ])
  })

  it('[T1] are answered by an appended result', () => {
    expect(pending(foldTurns(log(...open, asked('a', 'b'), called('a'), returned('a'))))).toEqual([['b', null]])
    expect(pending(foldTurns(log(...open, asked('a', 'b'), returned('other'))))).toHaveLength(2)
  })

  it('[T1] are not answered by the rewrite of an older result of the same id', () => {
    const events = log(
      turnStart(1),
      stepStart(1, 1),
      asked('a'),
      called('a'),
      returned('a', 'long'),
      stepEnd(1, 1),
      stepStart(1, 2),
      asked('a'),
      called('a'),
      over(returned('a', 'short'), 4, 4, [4]),
    )
    expect(pending(foldTurns(events))).toEqual([['a', 8]])
  })

  it.each([
    ['step/end', [stepEnd(1, 2)]],
    ['turn/end', [turnEnd(1)]],
    ['turn/start', [turnStart(2)]],
  ])('[T1] are forgotten at %s', (_name, drafts) => {
    expect(foldTurns(log(...open, asked('a', 'b'), called('a'), ...drafts)).pendingCalls).toEqual([])
  })

  it('[T1] asked for again in one step keep their place and stay started', () => {
    const state = foldTurns(log(...open, asked('a', 'b'), called('a'), asked('a')))
    expect(pending(state)).toEqual([
      ['a', 3],
      ['b', null],
    ])
  })
})

describe('the fold', () => {
  it('[T1] gives the same object for events that are not about turns', () => {
    const state = foldTurns(log(turnStart(1), stepStart(1, 1), asked('a')))
    const others = logFrom(
      3,
      said('x'),
      answered('no calls'),
      returned('unknown'),
      { type: 'session/title', data: {} },
      { type: 'other/thing', data: { turn: 9 }, ignorable: true },
    )
    for (const event of others) expect(evolveTurns(state, event)).toBe(state)
  })

  it('[T1, R1] a call that is asked for again stays started, and a result answers it however often it was asked for', () => {
    const events = log(turnStart(1), stepStart(1, 1), called('x'), asked('x'), called('x'), asked('x'))
    expect(foldTurns(events)).toMatchObject({ pendingCalls: [{ callId: 'x', callSeq: 4 }], unaskedCalls: ['x'] })
    expect(foldTurns([...events, ...logFrom(6, returned('x'))])).toMatchObject({ pendingCalls: [], unaskedCalls: [] })
  })

  it('[T1] knows a started call that no message asks for until it is answered or its step ends', () => {
    const started = log(turnStart(1), stepStart(1, 1), called('stray'), called('stray'))
    expect(foldTurns(started)).toMatchObject({ pendingCalls: [], unaskedCalls: ['stray'] })
    expect(foldTurns([...started, ...logFrom(4, returned('stray'))]).unaskedCalls).toEqual([])
    expect(foldTurns([...started, ...logFrom(4, stepEnd(1, 1))]).unaskedCalls).toEqual([])
  })

  it('[T1] never changes an earlier state', () => {
    const state = foldTurns(log(turnStart(1), stepStart(1, 1), asked('a', 'b')))
    const before = structuredClone(state)
    for (const event of logFrom(3, called('a'), returned('a'), asked('c'), stepEnd(1, 1))) evolveTurns(state, event)
    expect(state).toEqual(before)
  })

  it('[L15] folded in two parts with JSON between them is folded whole', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 60 }), fc.nat(), (choices, at) => {
        const events = log(...loopLog(choices).drafts)
        const cut = at % (events.length + 1)
        const context = { nodes: [], projected: new Map(), eventAt: (): SessionEvent | undefined => undefined }
        let state = turnsFold.fromJSON(throughJson(turnsFold.toJSON(foldTurns(events.slice(0, cut)))), context)
        for (const event of events.slice(cut)) {
          state = turnsFold.evolve(state, { event, surfaceChange: { kind: 'none' } })
        }
        expect(state).toEqual(foldTurns(events))
      }),
    )
  })
})
