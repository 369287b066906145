/** What went wrong in a call, as a failure with a stable code: from its status, type and text; no more is kept. */
import type { LlmFailure } from '../core/events.ts'
import { defined, fieldOf, jsonOf, textField } from './ai-sdk-fields.ts'
import { maskedText, originOf } from './ai-sdk-masking.ts'

/** The facts of an error that decide its code. */
type Facts = {
  readonly status: number | undefined
  /** Names and types the SDK and the provider gave it. */
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
  const message = maskedText(wordsOf(facts, context, fieldOf(error, 'url')), context.secrets)
  const mayWait = /^(RATE_LIMIT|OVERLOADED|SERVER)$/.test(code)
  return defined({ code, message, status, providerRetryAfterMs: mayWait ? retryAfterOf(error) : undefined })
}

function factsOf(error: unknown): Facts {
  const name = textField(error, 'name')
  const body = bodyOf(error)
  const nested = fieldOf(body, 'error')
  const inner = typeof nested === 'object' ? nested : body
  const marks = [error, inner]
    .flatMap(each => ['statusCode', 'status', 'code', 'type'].map(key => fieldOf(each, key)))
    .filter(mark => typeof mark === 'string' || typeof mark === 'number')
  const status = marks.map(Number).find(value => Number.isInteger(value) && value >= 400 && value < 600)
  const said =
    textField(inner, 'message') || textField(body, 'message') || textField(body, 'detail') || textField(body, 'error')
  const text = said || textField(error, 'message') || (typeof error === 'string' ? error : '')
  const isFetch = name === 'TypeError' && /fetch|network|load failed|terminated/i.test(text)
  const isUnanswered = name === 'AI_APICallError' && said === ''
  return {
    status,
    type: [name, ...marks].join(' '),
    text,
    isTransport: status === undefined && (isFetch || isUnanswered),
  }
}

/** The provider's answer: what the SDK parsed, else the raw body when that is JSON, else the error itself. */
function bodyOf(error: unknown): unknown {
  const body = fieldOf(error, 'data') ?? jsonOf(textField(error, 'responseBody'))
  return body ?? (fieldOf(error, 'error') && error)
}

/**
 * The first rule that fits decides. It is tried on status and types in the first line, in lower case, and what was said
 * after it; `.` stays in the first line, `[^]` does not.
 */
const rules: readonly (readonly [RegExp, string])[] = [
  [/^402|^.*insufficient_quota/, 'INSUFFICIENT_QUOTA'],
  [/^429|^.*(rate_?limit|resource_exhausted)/, 'RATE_LIMIT'],
  [
    /^.*context_length|^(4(00|13|22)|500)? .*\n[^]*(context (length|window)|(prompt|input) (is )?too long|too many tokens|available context)/,
    'CONTEXT_WINDOW_EXCEEDED',
  ],
  [/^40[13]|^.*(authentication|permission|api_?key)|^400 .*\n[^]*api key/, 'AUTH'],
  [/^529|^.*overloaded|^(5..)? .*\n[^]*overloaded/, 'OVERLOADED'],
  [/^.*(model_not_found|nosuchmodel)|^404 .*\n[^]*\bmodels?\b/, 'MODEL_NOT_FOUND'],
  [/^408|^504|^.*timeout/, 'TIMEOUT'],
  [/^4|^ .*(invalid_?(request|prompt|argument)|unsupported)/, 'INVALID_REQUEST'],
  [/^5|^ .*(server|api|internal)_error/, 'SERVER'],
]

function codeOf({ status, type, text, isTransport }: Facts): string {
  const facts = `${status ?? ''} ${type}\n${text}`.toLowerCase()
  return (!isTransport && rules.find(([pattern]) => pattern.test(facts))?.[1]) || 'TRANSPORT'
}

/** A browser tells a page nothing more of a failed fetch than that it failed. */
function wordsOf({ status, text, isTransport }: Facts, { begun, address }: FailureContext, url: unknown): string {
  if (!isTransport)
    return text.trim() || `The provider answered with ${status === undefined ? 'an error' : `status ${status}`}.`
  const what = begun
    ? 'The connection broke off before the answer was finished'
    : `${originOf(url) || originOf(address) || 'The provider'} could not be reached: no network, a wrong address, or it does not admit this page (CORS)`
  return `${what}. ${text && `(${text})`}`
}

/** How long the provider asks to wait, ms. Dates are not read: the clocks need not agree. */
function retryAfterOf(error: unknown): number | undefined {
  const headers = fieldOf(error, 'responseHeaders')
  const milliseconds = (name: string, unit: number): number | undefined => {
    const result = Math.ceil(Number.parseFloat(textField(headers, name)) * unit)
    return Number.isSafeInteger(result) && result >= 0 ? result : undefined
  }
  return milliseconds('retry-after-ms', 1) ?? milliseconds('retry-after', 1_000)
}
