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
  /** The headers of the response, where the error does not have them itself. */
  readonly headers?: unknown
  /** The answer had begun. */
  readonly begun: boolean
}

/** Any error of a call, or error part of its stream, as the failure that is logged. */
export function callFailure(error: unknown, context: FailureContext): LlmFailure {
  const bodies = bodiesOf(error)
  const facts = factsOf(error, bodies)
  const { status } = facts
  const code = codeOf(facts)
  const message = maskedText(wordsOf(facts, context, fieldOf(error, 'url')), context.secrets)
  const headers = fieldOf(error, 'responseHeaders')
  const mayWait = /^(RATE_LIMIT|OVERLOADED|SERVER)$/.test(code)
  return defined({
    code,
    message,
    status,
    providerRetryAfterMs: mayWait ? retryAfterOf(headers ?? context.headers) : undefined,
    requestId:
      requestIdOf({ headers, bodies, secrets: context.secrets }) ??
      requestIdOf({ headers: context.headers, secrets: context.secrets }),
  })
}

/** The name a provider has for a request, from its headers or what it said; undefined unless it looks like one. */
export function requestIdOf({
  headers,
  bodies = [],
  secrets,
}: {
  readonly headers: unknown
  readonly bodies?: readonly unknown[]
  readonly secrets: readonly string[]
}): string | undefined {
  const named = ['x-request-id', 'request-id'].map(name => textField(headers, name))
  const said = bodies.flatMap(body =>
    [body, fieldOf(body, 'error')].flatMap(each => [textField(each, 'request_id'), textField(each, 'requestId')]),
  )
  return [...named, ...said].find(id => /^[\w.:/+=-]{1,128}$/.test(id) && maskedText(id, secrets) === id)
}

function factsOf(error: unknown, bodies: readonly unknown[]): Facts {
  const name = textField(error, 'name')
  const inners = bodies.map(body => (typeof fieldOf(body, 'error') === 'object' ? fieldOf(body, 'error') : body))
  const marks = [error, ...inners]
    .flatMap(each => ['statusCode', 'status', 'code', 'type'].map(key => fieldOf(each, key)))
    .filter(mark => typeof mark === 'string' || typeof mark === 'number')
  const status = marks.map(Number).find(value => Number.isInteger(value) && value >= 400 && value < 600)
  const said = bodies.map((body, at) => textField(inners[at], 'message') || bodyText(body)).find(Boolean) ?? ''
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

/** What a body says outside of an `error` object; frameworks put a list of findings there. */
function bodyText(body: unknown): string {
  const detail = fieldOf(body, 'detail')
  const first: unknown = Array.isArray(detail) ? detail[0] : detail
  return textField(body, 'message') || textField(body, 'detail') || textField(first, 'msg') || textField(body, 'error')
}

/**
 * The provider's answer: what the SDK parsed, which may leave out what it has no name for, then the raw body when that
 * is JSON, or the event that it did not understand; else the error itself. Some send an error as a list of one.
 */
function bodiesOf(error: unknown): readonly unknown[] {
  const event = /TypeValidation/.test(textField(error, 'name')) ? fieldOf(error, 'value') : undefined
  const found = [fieldOf(error, 'data'), jsonOf(textField(error, 'responseBody')), event]
    .map((body: unknown): unknown => (Array.isArray(body) ? body[0] : body))
    .filter(body => typeof body === 'object' && body !== null)
  return found.length > 0 || !fieldOf(error, 'error') ? found : [error]
}

/**
 * The first rule that fits decides. It is tried on status and types in the first line, in lower case, and what was said
 * after it; `.` stays in the first line, `[^]` does not.
 */
const rules: readonly (readonly [RegExp, string])[] = [
  [
    /^402|^.*(insufficient_quota|billing)|^4.. .*\n[^]*(credit balance|insufficient (balance|credits))/,
    'INSUFFICIENT_QUOTA',
  ],
  [/^429|^.*(rate_?limit|resource_exhausted)/, 'RATE_LIMIT'],
  [
    /^.*(context_length|exceed_context)|^(4(00|13|22)|500)? .*\n[^]*(context (length|window|limit)|exceeds the maximum number of tokens|maximum prompt length|(prompt|input) (is )?too long|too many tokens|available context)/,
    'CONTEXT_WINDOW_EXCEEDED',
  ],
  [/^.*(content_(filter|policy)|responsibleai)|^403 .*\n[^]*(flagged|moderation)/, 'CONTENT_FILTER'],
  [/^40[13]|^.*(authentication|unauthenticated|permission|api_?key)|^400 .*\n[^]*api key/, 'AUTH'],
  [/^(498|529)|^.*overloaded|^(5..)? .*\n[^]*overloaded/, 'OVERLOADED'],
  [
    /^.*(model_not_found|nosuchmodel|deploymentnotfound|invalid_model)|^404 .*\n[^]*(\bmodels?\b|no endpoints)|^400 .*\n[^]*not a valid model/,
    'MODEL_NOT_FOUND',
  ],
  [/^408|^504|^.*(timeout|deadline_exceeded)/, 'TIMEOUT'],
  [/^4|^ .*(invalid_?(request|prompt|argument)|unsupported|failed_precondition)/, 'INVALID_REQUEST'],
  [/^5|^ .*((server|api|internal|unavailable)_error|\b(internal|unavailable)\b)/, 'SERVER'],
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
function retryAfterOf(headers: unknown): number | undefined {
  const milliseconds = (name: string, unit: number): number | undefined => {
    const result = Math.ceil(Number.parseFloat(textField(headers, name)) * unit)
    return Number.isSafeInteger(result) && result >= 0 ? result : undefined
  }
  return milliseconds('retry-after-ms', 1) ?? milliseconds('retry-after', 1_000)
}
