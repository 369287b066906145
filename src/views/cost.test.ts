import { describe, expect, it } from 'vitest'
import type { Usage } from '../core/events.ts'
import { costOf, type Prices } from './cost.ts'
import { usageFold, type UsageState } from './usage.ts'

const spent = (...models: readonly (readonly [name: string, total: Partial<Usage>])[]): UsageState => ({
  ...usageFold.initial(),
  byModel: models.map(([name, total]) => {
    const [provider = '', model = ''] = name.split('/')
    return { provider, model, calls: 1, total: { inputTokens: 0, outputTokens: 0, ...total } }
  }),
})
const table =
  (prices: Readonly<Record<string, Prices>>) =>
  (provider: string, model: string): Prices | null =>
    new Map(Object.entries(prices)).get(`${provider}/${model}`) ?? null

describe('costOf', () => {
  it('[V8] is nothing without calls', () => {
    expect(costOf(spent(), () => null)).toEqual({ amount: 0, currency: null, unpriced: [] })
  })

  it('[V8] is tokens times prices per million, each count once', () => {
    const total = { inputTokens: 200_000, outputTokens: 50_000, cacheReadTokens: 1_000_000, cacheWriteTokens: 40_000 }
    const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, currency: 'USD' }
    // 0.6 + 0.75 + 0.3 + 0.15; reasoning is part of the output, and the total is a sum.
    const usage = spent(['p/m', { ...total, reasoningTokens: 20_000, totalTokens: 1_290_000 }])
    const { amount, ...rest } = costOf(usage, table({ 'p/m': prices }))
    expect(amount).toBeCloseTo(1.8, 12)
    expect(rest).toEqual({ currency: 'USD', unpriced: [] })
  })

  it('[V8] what comes from a cache or goes there costs as input, unless it has a price', () => {
    const usage = spent(['p/m', { inputTokens: 1e6, cacheReadTokens: 1e6, cacheWriteTokens: 1e6 }])
    expect(costOf(usage, () => ({ input: 2, output: 0 })).amount).toBe(6)
    expect(costOf(usage, () => ({ input: 2, output: 0, cacheRead: 0 })).amount).toBe(4)
    expect(costOf(usage, () => ({ input: 2, output: 0, cacheWrite: 2.5 })).amount).toBe(6.5)
  })

  it('[V8] adds up over models, and names those without a price', () => {
    const usage = spent(
      ['p/big', { inputTokens: 1e6 }],
      ['q/own', { outputTokens: 9 }],
      ['p/small', { outputTokens: 1e6 }],
    )
    const prices = { 'p/big': { input: 5, output: 25, currency: 'EUR' }, 'p/small': { input: 0.25, output: 1.25 } }
    expect(costOf(usage, table(prices))).toEqual({
      amount: 6.25,
      currency: 'EUR',
      unpriced: [{ provider: 'q', model: 'own' }],
    })
    expect(costOf(usage, () => null).unpriced).toHaveLength(3)
  })

  it('[V8] money of two currencies is not added up', () => {
    const usage = spent(['a/m', { inputTokens: 1e6 }], ['b/m', { inputTokens: 1e6 }], ['c/m', { inputTokens: 1e6 }])
    const prices = (currency: string): Prices => ({ input: 1, output: 1, currency })
    expect(
      costOf(usage, table({ 'a/m': { input: 0, output: 0 }, 'b/m': prices('USD'), 'c/m': prices('EUR') })),
    ).toEqual({
      amount: 1,
      currency: 'USD',
      unpriced: [{ provider: 'c', model: 'm' }],
    })
  })

  it('[V14] a price that is no number is none', () => {
    const usage = spent(['a/m', { inputTokens: 1 }], ['b/m', { inputTokens: 1e6 }])
    expect(
      costOf(usage, table({ 'a/m': { input: NaN, output: 1, currency: 'EUR' }, 'b/m': { input: 1, output: 1 } })),
    ).toEqual({
      amount: 1,
      currency: null,
      unpriced: [{ provider: 'a', model: 'm' }],
    })
  })
})
