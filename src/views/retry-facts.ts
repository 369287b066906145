/** What an `llm/retry` tells. Admission does not look into it, so nothing here trusts its shape (SPEC V14). */
import type { LlmFailure } from '../core/events.ts'
import { isSafeNonNegativeInteger } from '../core/ids.ts'
import { fieldsOf, isText } from '../core/invariants/payload.ts'

export type PlannedRetry = {
  readonly retryId: string
  /** Counts from 1. */
  readonly retry: number
  /** Null when there is no last one. */
  readonly maxRetries: number | null
  /** How long is waited before it, ms. */
  readonly delayMs: number
  /** Why the try before it failed. */
  readonly failure: LlmFailure
}

/** The retry in the payload of an `llm/retry`; null when it is malformed. */
export function asRetry(data: unknown): PlannedRetry | null {
  const { retryId, retry, maxRetries = null, delayMs, failure } = fieldsOf(data)
  const isRetry =
    isText(retryId) &&
    isSafeNonNegativeInteger(retry) &&
    retry > 0 &&
    (maxRetries === null || isSafeNonNegativeInteger(maxRetries)) &&
    isAmount(delayMs) &&
    isFailure(failure)
  return isRetry ? { retryId, retry, maxRetries, delayMs, failure } : null
}

function isFailure(value: unknown): value is LlmFailure {
  const { message, code, status = 0, providerRetryAfterMs = 0, requestId = '', offloadImages = 0 } = fieldsOf(value)
  const texts = [message, requestId].every(each => typeof each === 'string')
  return texts && isText(code) && [status, providerRetryAfterMs, offloadImages].every(isAmount)
}

/** Jitter may leave a fraction. */
const isAmount = (value: unknown): value is number => Number.isFinite(value) && (value as number) >= 0
