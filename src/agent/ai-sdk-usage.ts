/** Token counts of the AI SDK as disjoint counts: spec v2 reports them flat, v3 and v4 nested. */
import type { Usage } from '../core/events.ts'
import { defined, fieldOf } from './ai-sdk-fields.ts'

/** The usage of a `finish` part; undefined when it counts nothing. */
export function usageOf(value: unknown): Usage | undefined {
  const input = fieldOf(value, 'inputTokens')
  const output = fieldOf(value, 'outputTokens')
  const cacheRead = count(input, 'cacheRead') ?? count(value, 'cachedInputTokens')
  // DeepSeek tells it under a name of its own, which the SDK hands on without reading it.
  const cacheReadTokens = cacheRead || (count(fieldOf(value, 'raw'), 'prompt_cache_hit_tokens') ?? cacheRead)
  const cacheWriteTokens = count(input, 'cacheWrite')
  const reasoningTokens = count(output, 'reasoning') ?? count(value, 'reasoningTokens')
  const totalTokens = count(value, 'totalTokens')

  const allInput = count(input, 'total') ?? count(value, 'inputTokens')
  const cached = (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)
  // Some providers of spec v2 report an input that leaves the cache out already; then it may be the smaller one.
  const rest = allInput !== undefined && allInput >= cached ? allInput - cached : allInput
  const inputTokens = cacheReadTokens === cacheRead ? (count(input, 'noCache') ?? rest) : rest
  const outputTokens = count(output, 'total') ?? count(value, 'outputTokens')

  if (inputTokens === undefined && outputTokens === undefined) return undefined
  const counts = { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0 }
  return defined({ ...counts, totalTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens })
}

function count(value: unknown, key: string): number | undefined {
  const field = fieldOf(value, key)
  return typeof field === 'number' && field >= 0 && field < Infinity ? field + 0 : undefined
}
