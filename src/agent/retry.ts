/** Whether and when a failed model call is tried again (SPEC A21). Pure: what was tried is read from the log. */
import type { LlmFailure } from '../core/events.ts'
import type { RetryPlan } from '../core/plugin-events.ts'
import type { RetryChain, RetryState } from '../core/invariants/retry-invariant.ts'
import type { StepPlace } from './request.ts'

export type RetryPolicy = {
  /** Names the policy in the log: retries under another name are counted apart. */
  readonly key: string
  /** `always` has no last retry. */
  readonly mode: 'normal' | 'always'
  /** Most retries of one step, in mode `normal`; 0 for none. */
  readonly maxRetries: number
  /** Codes of the failures that are tried again. */
  readonly codes: readonly string[]
  /** Wait before the first retry, ms; it doubles with each. */
  readonly baseDelayMs: number
  /** Longest wait, ms. A provider that asks for a longer one ends the retries, in mode `normal`. */
  readonly maxDelayMs: number
  /** How far a wait may be off, as a share of it. */
  readonly jitter: number
}

export const DEFAULT_RETRY: RetryPolicy = Object.freeze({
  key: 'default',
  mode: 'normal',
  maxRetries: 5,
  codes: Object.freeze(['EMPTY_RESPONSE', 'RATE_LIMIT', 'OVERLOADED', 'SERVER', 'TIMEOUT', 'TRANSPORT']),
  baseDelayMs: 500,
  maxDelayMs: 10_000,
  jitter: 0.1,
})

type Failed = StepPlace & { readonly provider: string; readonly failure: LlmFailure }

/** The retry due after a failure, for `llm/retry`; null when it is the last word. `random` is in 0…1. */
export function planRetry(
  { turn, step, provider, failure }: Failed,
  policy: RetryPolicy,
  { chains }: RetryState,
  { newId, random }: { readonly newId: () => string; readonly random: () => number },
): RetryPlan | null {
  const { key, mode, maxRetries, codes } = policy
  if (!codes.includes(failure.code)) return null
  const isSame = (chain: RetryChain) => chain.step === step && chain.provider === provider && chain.policyKey === key
  const chain = chains.find(isSame)
  const retry = (chain?.retry ?? 0) + 1
  if (mode === 'normal' && retry > maxRetries) return null
  const delayMs = delayOf(retry, policy, failure, random)
  if (delayMs === null) return null
  const plan = { retryId: chain?.retryId ?? newId(), turn, step, provider, policyKey: key, retry, delayMs, failure }
  return mode === 'normal' ? { ...plan, mode, maxRetries } : { ...plan, mode }
}

function delayOf(
  retry: number,
  { mode, baseDelayMs, maxDelayMs, jitter }: RetryPolicy,
  { providerRetryAfterMs: asked }: LlmFailure,
  random: () => number,
): number | null {
  if (asked !== undefined && asked <= maxDelayMs) return asked
  if (asked !== undefined && mode === 'normal') return null
  const backoff = Math.min(maxDelayMs, baseDelayMs * 2 ** (retry - 1))
  return Math.max(0, Math.min(maxDelayMs, Math.round(backoff * (1 + jitter * (2 * random() - 1))))) || 0
}
