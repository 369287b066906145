/** Token counts of the AI SDK as disjoint counts: spec v2 reports them flat, v3 and v4 nested. */
import type { Usage } from '../core/events.ts'
import { fieldOf } from './ai-sdk-fields.ts'

/** The usage of a `finish` part; undefined when it counts nothing. */
export function usageOf(value: unknown): Usage | undefined {
  const input = fieldOf(value, 'inputTokens')
  const output = fieldOf(value, 'outputTokens')
  const isNested = typeof input === 'object' || typeof output === 'object'
  const cacheReadTokens = count(isNested ? fieldOf(input, 'cacheRead') : fieldOf(value, 'cachedInputTokens'))
  const cacheWriteTokens = count(fieldOf(input, 'cacheWrite'))
  const reasoningTokens = count(isNested ? fieldOf(output, 'reasoning') : fieldOf(value, 'reasoningTokens'))
  const totalTokens = count(fieldOf(value, 'totalTokens'))

  const allInput = count(isNested ? fieldOf(input, 'total') : input)
  const cached = (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)
  // Some providers of spec v2 report an input that leaves the cache out already; then it may be the smaller one.
  const rest = allInput === undefined ? undefined : allInput >= cached ? allInput - cached : allInput
  const inputTokens = count(fieldOf(input, 'noCache')) ?? rest
  const text = count(fieldOf(output, 'text'))
  const outputTokens =
    count(isNested ? fieldOf(output, 'total') : output) ??
    (text === undefined && reasoningTokens === undefined ? undefined : (text ?? 0) + (reasoningTokens ?? 0))

  if (inputTokens === undefined && outputTokens === undefined) return undefined
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    ...(totalTokens === undefined ? {} : { totalTokens }),
    ...(cacheReadTokens === undefined ? {} : { cacheReadTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
  }
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : value === 0 ? 0 : undefined
