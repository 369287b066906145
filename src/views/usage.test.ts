import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Draft, log, said, throughJson } from '../core/builders.ts'
import type { Usage } from '../core/events.ts'
import { evolveUsage, usageFold, type UsageState } from './usage.ts'
import { answer, attempted, eventsOf, streamed, talk } from './view-kit.ts'

const usageOf = (...drafts: readonly Draft[]): UsageState => log(...drafts).reduce(evolveUsage, usageFold.initial())
const context = (more: object = {}): Draft => ({
  type: 'request/context',
  data: { provider: 'p', model: 'm', ...more },
})
const reported = (usage: unknown): object => ({ type: 'chunk', time: 1, chunk: { type: 'usage', usage } })
const some = (inputTokens: number, more: Partial<Usage> = {}): Usage => ({ inputTokens, outputTokens: 1, ...more })

describe('usage', () => {
  it('[V8] is nothing at first, and the same object when an event is not about it', () => {
    const nothing = {
      provider: null,
      model: null,
      contextWindow: null,
      calls: 0,
      total: { inputTokens: 0, outputTokens: 0 },
      last: null,
    }
    expect(usageOf()).toEqual(nothing)
    expect(usageOf(said('x'))).toBe(usageFold.initial())
  })

  it('[V8] sums what calls reported and keeps the last', () => {
    const state = usageOf(
      answer('a', { usage: some(10, { cacheReadTokens: 5 }) }),
      answer('b', { usage: some(20, { reasoningTokens: 2 }) }),
      answer('c'),
    )
    expect(state).toMatchObject({
      calls: 3,
      total: { inputTokens: 30, outputTokens: 2, cacheReadTokens: 5, reasoningTokens: 2 },
      last: some(20, { reasoningTokens: 2 }),
    })
    expect(state.total).not.toHaveProperty('totalTokens')
  })

  it('[V8] counts failed calls by what their stream reported last', () => {
    const stream = [reported(some(1)), streamed('half'), reported(some(7)), streamed('more')]
    expect(usageOf(attempted(stream), attempted([]))).toMatchObject({ calls: 2, total: some(7), last: some(7) })
    expect(usageOf(answer('a', { stream })).last).toEqual(some(7))
    expect(usageOf(answer('a', { stream, usage: some(9) })).last).toEqual(some(9))
  })

  it('[V8] knows the window of the latest request', () => {
    expect(usageOf(context({ contextWindow: 1000 }))).toMatchObject({ provider: 'p', model: 'm', contextWindow: 1000 })
    expect(usageOf(context({ contextWindow: 1000 }), context({ model: 'n' }))).toMatchObject({
      model: 'n',
      contextWindow: null,
    })
  })

  it('[V14] counts of any shape are no fault', () => {
    const odd = [null, 'x', {}, { inputTokens: 'x', outputTokens: 1 }, { inputTokens: 1, outputTokens: null }]
    for (const usage of odd) {
      const state = usageOf(answer('a', { usage }), attempted([null, reported(usage), { type: 'chunk' }]))
      expect(state).toMatchObject({ calls: 2, total: { inputTokens: 0, outputTokens: 0 }, last: null })
    }
  })

  it('[V8] goes on from JSON as from itself', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 60, size: 'max' }), fc.nat(), (choices, at) => {
        const { entries } = talk(choices)
        const cut = at % (entries.length + 1)
        const half = entries.slice(0, cut).reduce((state, entry) => usageFold.evolve(state, entry), usageFold.initial())
        const back = usageFold.fromJSON(throughJson(usageFold.toJSON(half)), {
          nodes: [],
          projected: new Map(),
          eventAt: () => undefined,
        })
        const whole = eventsOf(entries).reduce(evolveUsage, usageFold.initial())
        expect(entries.slice(cut).reduce((state, entry) => usageFold.evolve(state, entry), back)).toEqual(whole)
      }),
    )
  })
})
