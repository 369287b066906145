import type { ModelUsage, UsageState } from 'palimpsest/views'
import { describe, expect, test } from 'vitest'
import { modelCostWords, modelName, money, spentWords } from './spent-words.ts'

const small: ModelUsage = {
  ...{ provider: 'demo.chat', model: 'embedded-small', calls: 2 },
  total: { inputTokens: 10_000, outputTokens: 2_000, cacheReadTokens: 50_000 },
}
const other: ModelUsage = {
  ...{ provider: 'elsewhere', model: 'embedded-small', calls: 1 },
  total: { inputTokens: 300, outputTokens: 20, cacheWriteTokens: 40 },
}

const usageOf = (...byModel: readonly ModelUsage[]): UsageState => {
  const sum = (key: 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens') =>
    byModel.reduce((all, { total }) => all + (total[key] ?? 0), 0)
  const total = {
    ...{ inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens') },
    ...{ cacheReadTokens: sum('cacheReadTokens'), cacheWriteTokens: sum('cacheWriteTokens') },
  }
  const calls = byModel.reduce((all, each) => all + each.calls, 0)
  return { provider: null, model: null, contextWindow: null, calls, total, byModel, last: null }
}

test.each([
  [0, 'USD', '$0.00'],
  [0.0042, 'USD', '$0.0042'],
  [0.00004567, 'USD', '$0.000046'],
  [0.5, 'USD', '$0.50'],
  [1, 'USD', '$1.00'],
  [1234.567, 'EUR', '€1,234.57'],
  [0.25, null, '0.25'],
  [0.1, 'USD', '$0.10'],
  [0.00999, 'USD', '$0.01'],
  [1e-15, 'USD', '$0.00'],
  [1_234_567, 'CHF', 'CHF 1,234,567.00'],
])('[demo] %d %s is written %j', (amount, currency, words) => {
  expect(money(amount, currency)).toBe(words)
})

describe('[demo] what a session has spent', () => {
  test('is calls, tokens and a cost at example prices', () => {
    const usage = usageOf(small)
    expect(spentWords(usage)).toBe('2 calls · 60k tokens read, 2.0k written · $0.0046 at example prices')
    expect(modelCostWords(usage, small)).toBe('$0.0046')
  })

  test('has no cost where no price is known', () => {
    const usage = usageOf(other)
    expect(spentWords(usage)).toBe('1 call · 340 tokens read, 20 written · no price known')
    expect(modelCostWords(usage, other)).toBe('no price known')
  })

  test('says of how many models the cost is not known', () => {
    const usage = usageOf(small, other)
    expect(spentWords(usage)).toMatch(/^3 calls · .* · \$0\.0046 at example prices, 1 model without a price$/)
    expect(modelCostWords(usage, other)).toBe('no price known')
  })

  test('names a model with whose it is', () => {
    expect(modelName(small)).toBe('embedded-small, demo.chat')
    expect(modelName({ provider: '', model: '' })).toBe('not known')
    expect(modelName({ provider: '', model: 'parrot' })).toBe('parrot')
  })
})
