/** What went wrong in a call, as a failure with a stable code: from its status, type and text; no more is kept. */
import type { LlmFailure } from '../core/events.ts'
import { fieldOf, textField } from './ai-sdk-fields.ts'
import { maskedText, originOf } from './ai-sdk-masking.ts'

/** The facts of an error that decide its code. */
type Facts = {
  readonly status: number | undefined
  /** Names and types the SDK and the provider gave it, in lower case. */
  readonly type: string
  /** What the provider or the platform said. */
  readonly text: string
  /** The platform's fetch failed: nobody answered, or the answer broke off. */
  readonly isTransport: boolean
}

export type FailureContext = {
  readonly secrets: readonly string[]
  /** Where the request went, when known. */
  readonly address?: unknown
  /** The answer had begun. */
  readonly begun: boolean
}

/** Any error of a call, or error part of its stream, as the failure that is logged. */
export function callFailure(error: unknown, context: FailureContext): LlmFailure {
  const facts = factsOf(error)
  const { status } = facts
  const code = codeOf(facts)
  const retryAfter = /^(RATE_LIMIT|OVERLOADED|SERVER)$/.test(code) ? retryAfterOf(error) : undefined
  return {
    code,
    message: maskedText(wordsOf(facts, context, fieldOf(error, 'url')), context.secrets),
    ...(status === undefined ? {} : { status }),
    ...(retryAfter === undefined ? {} : { providerRetryAfterMs: retryAfter }),
  }
}

function factsOf(error: unknown): Facts {
  const name = textField(error, 'name')
  const body = bodyOf(error)
  const nested = fieldOf(body, 'error')
  const inner = typeof nested === 'object' ? nested : body
  const status = [error, inner]
    .flatMap(each => [fieldOf(each, 'statusCode'), fieldOf(each, 'status'), fieldOf(each, 'code')])
    .map(value => (typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN))
    .find(value => Number.isInteger(value) && value >= 400 && value < 600)
  const types = [error, inner].flatMap(each => ['type', 'code', 'status'].map(key => textField(each, key)))
  const said =
    textField(inner, 'message') || textField(body, 'message') || textField(body, 'detail') || textField(body, 'error')
  const text = said || textField(error, 'message') || (typeof error === 'string' ? error : '')
  const isFetch = name === 'TypeError' && /fetch|network|load failed|terminated/i.test(text)
  const isUnanswered = name === 'AI_APICallError' && said === ''
  return {
    status,
    type: [name, ...types].join(' ').toLowerCase(),
    text,
    isTransport: status === undefined && (isFetch || isUnanswered),
  }
}

/** The provider's answer: what the SDK parsed, else the raw body when that is JSON, else the error itself. */
function bodyOf(error: unknown): unknown {
  const data = fieldOf(error, 'data')
  if (typeof data === 'object' && data !== null) return data
  const raw = textField(error, 'responseBody')
  try {
    const parsed: unknown = JSON.parse(raw)
    if (typeof parsed === 'object' && parsed !== null) return parsed
  } catch {
    // Not JSON: a page of some proxy, which says nothing to a person.
  }
  return fieldOf(error, 'error') === undefined ? undefined : error
}

const tooLong =
  /context[ _-]?(length|window)|maximum context|(prompt|input) is too long|input too long|too many (input )?tokens|exceeds? the (available )?context/
const wrongKey = /\b(invalid|incorrect) api key|api key (is )?(not valid|invalid)/
const overloaded = /overloaded|\bat capacity\b/
const ofRequest = /invalid_request|ai_(invalidprompt|invalidargument|unsupportedfunctionality)/

function codeOf({ status, type, text, isTransport }: Facts): string {
  const words = text.toLowerCase()
  if (isTransport) return 'TRANSPORT'
  if (status === 402 || type.includes('insufficient_quota')) return 'INSUFFICIENT_QUOTA'
  if (status === 429 || /rate_?limit|resource_exhausted/.test(type)) return 'RATE_LIMIT'
  const isOfInput = status === undefined || [400, 413, 422, 500].includes(status)
  if (type.includes('context_length_exceeded') || (isOfInput && tooLong.test(words))) return 'CONTEXT_WINDOW_EXCEEDED'
  if (status === 401 || status === 403 || /authentication|permission|api_?key/.test(type)) return 'AUTH'
  if (isOfInput && wrongKey.test(words)) return 'AUTH'
  if (status === 529 || overloaded.test(type) || ((status ?? 500) >= 500 && overloaded.test(words))) return 'OVERLOADED'
  if (/model_not_found|nosuchmodel/.test(type) || (status === 404 && /\bmodels?\b/.test(words)))
    return 'MODEL_NOT_FOUND'
  if (status === 408 || status === 504 || type.includes('timeout')) return 'TIMEOUT'
  if (status !== undefined) return status < 500 ? 'INVALID_REQUEST' : 'SERVER'
  if (ofRequest.test(type)) return 'INVALID_REQUEST'
  if (/emptyresponsebody|nocontentgenerated/.test(type)) return 'EMPTY_RESPONSE'
  return /(server|api|internal)_error/.test(type) ? 'SERVER' : 'TRANSPORT'
}

/** A browser tells a page nothing more of a failed fetch than that it failed. */
function wordsOf({ status, text, isTransport }: Facts, { begun, address }: FailureContext, url: unknown): string {
  if (!isTransport) {
    return text || (status === undefined ? 'The model call failed.' : `The provider answered with status ${status}.`)
  }
  const detail = text === '' ? '' : ` (${text})`
  if (begun) return `The connection broke off before the answer was finished.${detail}`
  const who = originOf(url) || originOf(address) || 'The provider'
  return (
    `${who} could not be reached: the network is down, the address is wrong, or it does not allow requests ` +
    `from this page (CORS).${detail}`
  )
}

/** How long the provider asks to wait, ms. Dates are not read: the clocks need not agree. */
function retryAfterOf(error: unknown): number | undefined {
  const headers = fieldOf(error, 'responseHeaders')
  const inMs = milliseconds(fieldOf(headers, 'retry-after-ms'), 1)
  return inMs ?? milliseconds(fieldOf(headers, 'retry-after'), 1_000)
}

function milliseconds(value: unknown, unit: number): number | undefined {
  if (typeof value !== 'string' || !/^\s*\d+(\.\d+)?\s*$/.test(value)) return undefined
  const result = Math.ceil(Number(value) * unit)
  return Number.isSafeInteger(result) ? result : undefined
}
