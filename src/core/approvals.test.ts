/** Questions about calls as a fold: what its events mean, and which are passed over. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ApprovalsState, approvalsFold, evolveApprovals, isPendingApproval } from './approvals.ts'
import { called, type Draft, log, over, returned, said, throughJson, turnEnd, turnStart } from './builders.ts'
import type { SessionEvent } from './events.ts'
import type { FoldContext } from './fold.ts'

const asked = (id: unknown, more: object = {}): Draft => ({
  type: 'approval/asked',
  data: { id, toolName: 'mail', ...more },
})
const decided = (id: unknown, outcome: unknown = 'allowed-once'): Draft => ({
  type: 'approval/decided',
  data: { id, outcome },
})
const evolve = (state: ApprovalsState, event: SessionEvent): ApprovalsState =>
  approvalsFold.evolve(state, { event, surfaceChange: { kind: 'none' } })
const folded = (...drafts: readonly Draft[]): ApprovalsState => log(...drafts).reduce(evolve, approvalsFold.initial())
const context: FoldContext = { nodes: [], projected: new Map(), eventAt: () => undefined }
const nothing = { pending: [], decided: [] }

describe('the approvals of the open turn', () => {
  it('[A23] wait from the question to the decision', () => {
    const question = asked('q', { callId: 'c', reason: 'it costs money' })
    const pending = { id: 'q', callId: 'c', toolName: 'mail', reason: 'it costs money', seq: 1 }
    expect(folded()).toEqual(nothing)
    expect(folded(turnStart(1), question)).toEqual({ pending: [pending], decided: [] })
    expect(folded(turnStart(1), question, decided('q', 'rejected'))).toEqual({
      pending: [],
      decided: [{ id: 'q', callId: 'c', outcome: 'rejected' }],
    })
  })

  it('[A23] are asked side by side and decided in any order', () => {
    const state = folded(asked('a', { callId: 'x' }), asked('b', { callId: 'y' }), asked('c'), decided('b'))
    expect(state.pending.map(({ id, callId, reason }) => [id, callId, reason])).toEqual([
      ['a', 'x', null],
      ['c', null, null],
    ])
    expect(['x', 'y', 'z'].map(callId => isPendingApproval(state, callId))).toEqual([true, false, false])
  })

  it.each(['allowed-once', 'rejected', 'cancelled', 'unavailable'])('[A23] %s is a decision', outcome => {
    expect(folded(asked('q'), decided('q', outcome)).decided).toEqual([{ id: 'q', callId: null, outcome }])
  })

  it('[A23] are over with the result of their call, undecided ones as cancelled', () => {
    const state = folded(turnStart(1), called('c'), asked('q', { callId: 'c' }), asked('r', { callId: 'd' }))
    const [result, other] = log(returned('c'), returned('e')) as [SessionEvent, SessionEvent]
    const after = evolve(state, result)
    expect(after.pending.map(({ id }) => id)).toEqual(['r'])
    expect(after.decided).toEqual([{ id: 'q', callId: 'c', outcome: 'cancelled' }])
    expect(evolve(after, log(decided('q'))[0] as SessionEvent)).toBe(after)
    expect(evolve(state, other)).toBe(state)
  })

  it('[A23] stay when an earlier result of that id is rewritten', () => {
    const events = log(said('x'), returned('c'), asked('q', { callId: 'c' }), over(returned('c', 'less'), 1, 1, [1]))
    expect(isPendingApproval(events.reduce(evolve, approvalsFold.initial()), 'c')).toBe(true)
  })

  it.each([turnStart(2), turnEnd(1)])('[A23] are gone with $type', draft => {
    const state = folded(turnStart(1), asked('q', { callId: 'c' }), asked('r'), decided('r'), draft)
    expect(state).toEqual(nothing)
    expect(state).toBe(approvalsFold.initial())
    // The same id may come again.
    expect(folded(asked('q'), decided('q'), draft, asked('q')).pending).toHaveLength(1)
  })

  it.each<[string, Draft]>([
    ['a question that waits already', asked('q', { callId: 'other' })],
    ['a question that was decided', asked('r')],
    ['a question without an id', asked('')],
    ['a question of an id that is none', asked(7)],
    ['a question about no tool', asked('x', { toolName: '' })],
    ['a question about a tool that is none', asked('x', { toolName: null })],
    ['a question about a call that is none', asked('x', { callId: 7 })],
    ['a question about a call without a name', asked('x', { callId: '' })],
    ['a question whose reason is none', asked('x', { reason: {} })],
    ['a question of no shape', { type: 'approval/asked', data: 'q' }],
    ['a decision about nothing', decided('unknown')],
    ['a second decision', decided('r', 'rejected')],
    ['a decision that is none', decided('q', 'allowed-always')],
    ['a decision without an outcome', decided('q', null)],
    ['a decision with the name of a member of objects', decided('q', 'constructor')],
    ['a decision about an id that is none', decided(['q'])],
    ['a decision of no shape', { type: 'approval/decided', data: null }],
    ['a result of a call nobody was asked about', returned('x')],
    ['a result of no shape', { type: 'tool/result', data: null, surfaceOp: 'append' }],
    ['anything else', said('x')],
  ])('[A23, I11] pass over %s', (_what, draft) => {
    const state = folded(turnStart(1), asked('q', { callId: 'c' }), asked('r'), decided('r'))
    const [event] = log(draft) as [SessionEvent]
    expect(evolve(state, event)).toBe(state)
  })

  it('[A23] an empty reason is none', () => {
    expect(folded(asked('q', { reason: '' })).pending[0]?.reason).toBeNull()
  })
})

describe('laws', () => {
  const id = fc.constantFrom('a', 'b', '__proto__')
  const any = fc.oneof(fc.jsonValue(), fc.constant(undefined))
  const draft: fc.Arbitrary<Draft> = fc.oneof(
    fc.record({ id, callId: id, isBare: fc.boolean() }).map(each => asked(each.id, each.isBare ? {} : each)),
    fc.record({ id, outcome: fc.constantFrom('allowed-once', 'rejected', 'other') }).map(each => {
      return decided(each.id, each.outcome)
    }),
    id.map(callId => returned(callId)),
    fc.constantFrom(turnStart(1), turnEnd(1), said('x'), called('a')),
    fc.record({ type: fc.constantFrom(...(approvalsFold.on as readonly string[])), data: any, surfaceOp: any }),
    fc
      .record({ type: fc.constantFrom('approval/asked', 'approval/decided'), id: any, rest: fc.object() })
      .map(each => ({ type: each.type, data: { toolName: 'mail', ...each.rest, id: each.id } })),
  )
  const drafts = fc.array(draft, { maxLength: 40 })

  /** What waits after `events`, worked out from nothing. */
  function scratch(events: readonly SessionEvent[]): string[] {
    const from = events.findLastIndex(({ type }) => type === 'turn/start' || type === 'turn/end') + 1
    const turn = events.slice(from)
    const isText = (value: unknown) => typeof value === 'string' && value !== ''
    const questions = turn.filter(event => {
      if (event.type !== 'approval/asked') return false
      const { id: own, toolName, callId, reason } = (event.data ?? {}) as Partial<Record<string, unknown>>
      const isCall = callId === undefined || callId === null || isText(callId)
      return isText(own) && isText(toolName) && isCall && typeof (reason ?? '') === 'string'
    }) as Extract<SessionEvent, { type: 'approval/asked' }>[]
    return questions
      .filter(({ seq, data }) => !questions.some(each => each.seq < seq && each.data.id === data.id))
      .filter(({ seq, data }) => {
        return !turn.some(event => {
          if (event.seq < seq) return false
          if (event.type === 'tool/result') {
            const result = event.data as { message?: { source?: { callId?: unknown } } } | null
            return (
              event.surfaceOp === 'append' && isText(data.callId) && result?.message?.source?.callId === data.callId
            )
          }
          if (event.type !== 'approval/decided') return false
          const decision = event.data as { id?: unknown; outcome?: unknown } | null
          return decision?.id === data.id && /^(allowed-once|rejected)$/.test(String(decision.outcome))
        })
      })
      .map(({ data }) => data.id)
  }

  it('[A23, I11, L15] any payloads leave what the whole log says, event by event and from JSON, and nothing is changed', () => {
    fc.assert(
      fc.property(drafts, fc.nat(), (each, at) => {
        const events = log(...each)
        let state = approvalsFold.initial()
        events.forEach((event, index) => {
          const before = JSON.stringify(state)
          const next = evolveApprovals(state, event)
          expect(JSON.stringify(state)).toBe(before)
          if (JSON.stringify(next) === before) expect(next).toBe(state)
          else expect(approvalsFold.on).toContain(event.type)
          state = next
          expect(state.pending.map(({ id: own }) => own)).toEqual(scratch(events.slice(0, index + 1)))
        })
        const cut = at % (events.length + 1)
        const half = events.slice(0, cut).reduce(evolveApprovals, approvalsFold.initial())
        const back = approvalsFold.fromJSON(throughJson(approvalsFold.toJSON(half)), context)
        expect(back).toEqual(half)
        expect(events.slice(cut).reduce(evolveApprovals, back)).toEqual(state)
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    null,
    [],
    'x',
    {},
    { pending: [] },
    { pending: [{ id: 'q', callId: null, toolName: 'mail', reason: null }], decided: [] },
    { pending: [{ id: '', callId: null, toolName: 'mail', reason: null, seq: 0 }], decided: [] },
    { pending: [], decided: [{ id: 'q', callId: null, outcome: 'maybe' }] },
    { pending: [], decided: null },
  ])('[K3] %j is no state to go on from', json => {
    expect(() => approvalsFold.fromJSON(json, context)).toThrow(TypeError)
  })
})
