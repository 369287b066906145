/** Failures as the bodies and headers of each provider tell them. */
import { APICallError } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { chunksOf, handMade } from '../testing/ai-sdk-kit.ts'
import { aiSdkModel } from './ai-sdk.ts'
import { callFailure } from './ai-sdk-failure.ts'

const failureOf = (thrown: unknown) => callFailure(thrown, { secrets: ['hunter2'], begun: false })

type Facts = { data?: unknown; responseBody?: string; headers?: Record<string, string> }
const apiError = (statusCode: number | undefined, { headers, ...facts }: Facts) =>
  new APICallError({
    message: '',
    url: 'https://api.example.com/v1',
    requestBodyValues: {},
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(headers === undefined ? {} : { responseHeaders: headers }),
    ...facts,
  })

/** Bodies as providers document them: who and what, status, body, code. Without a status it came within a stream. */
// biome-ignore format: a table
const bodies: [string, number | undefined, unknown, string][] = [
  ['OpenAI: a key', 401, { error: { message: 'Incorrect API key', type: 'invalid_request_error', code: 'invalid_api_key' } }, 'AUTH'],
  ['OpenAI: a country', 403, { error: { message: 'Country not supported', type: 'request_forbidden', code: 'unsupported_country_region_territory' } }, 'AUTH'],
  ['OpenAI: a quota', 429, { error: { message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' } }, 'INSUFFICIENT_QUOTA'],
  ['OpenAI: billing', 429, { error: { message: 'Your account is not active', type: 'billing_not_active', code: 'billing_not_active' } }, 'INSUFFICIENT_QUOTA'],
  ['OpenAI: a rate', 429, { error: { message: 'Request too large on tokens per min', type: 'tokens', code: 'rate_limit_exceeded' } }, 'RATE_LIMIT'],
  ['OpenAI: a window', 400, { error: { message: 'Your input exceeds the context window of this model', code: 'context_length_exceeded' } }, 'CONTEXT_WINDOW_EXCEEDED'],
  ['OpenAI: a policy', 400, { error: { message: 'Rejected by our safety system', code: 'content_policy_violation' } }, 'CONTENT_FILTER'],
  ['OpenAI: a server', 500, { error: { message: 'The server had an error', type: 'server_error', code: null } }, 'SERVER'],
  ['OpenAI: an engine', 503, { error: { message: 'The engine is currently overloaded', type: 'server_error' } }, 'OVERLOADED'],
  ['Anthropic: a key', 401, { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } }, 'AUTH'],
  ['Anthropic: a right', 403, { type: 'error', error: { type: 'permission_error', message: 'no' } }, 'AUTH'],
  ['Anthropic: a balance', 400, { type: 'error', error: { type: 'invalid_request_error', message: 'Your credit balance is too low to access the Anthropic API.' } }, 'INSUFFICIENT_QUOTA'],
  ['Anthropic: billing', 402, { type: 'error', error: { type: 'billing_error', message: 'no' } }, 'INSUFFICIENT_QUOTA'],
  ['Anthropic: a window', 400, { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' } }, 'CONTEXT_WINDOW_EXCEEDED'],
  ['Anthropic: a window with its answer', 400, { type: 'error', error: { type: 'invalid_request_error', message: 'input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000' } }, 'CONTEXT_WINDOW_EXCEEDED'],
  ['Anthropic: a body', 413, { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum allowed number of bytes.' } }, 'INVALID_REQUEST'],
  ['Anthropic: a model', 404, { type: 'error', error: { type: 'not_found_error', message: 'model: claude-9' } }, 'MODEL_NOT_FOUND'],
  ['Anthropic: a rate', 429, { type: 'error', error: { type: 'rate_limit_error', message: 'no' } }, 'RATE_LIMIT'],
  ['Anthropic: a time', 504, { type: 'error', error: { type: 'timeout_error', message: 'no' } }, 'TIMEOUT'],
  ['Anthropic: an overload', 529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'OVERLOADED'],
  ['Anthropic: an event', undefined, { type: 'api_error', message: 'Internal server error' }, 'SERVER'],
  ['Google: a rate', 429, { error: { code: 429, message: 'Resource has been exhausted', status: 'RESOURCE_EXHAUSTED' } }, 'RATE_LIMIT'],
  ['Google: an argument', 400, { error: { code: 400, message: 'Invalid value at tools[0]', status: 'INVALID_ARGUMENT' } }, 'INVALID_REQUEST'],
  ['Google: a window', 400, { error: { code: 400, message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', status: 'INVALID_ARGUMENT' } }, 'CONTEXT_WINDOW_EXCEEDED'],
  ['Google: a key', 400, { error: { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' } }, 'AUTH'],
  ['Google: a right', 403, { error: { code: 403, message: 'no', status: 'PERMISSION_DENIED' } }, 'AUTH'],
  ['Google: an overload', 503, { error: { code: 503, message: 'The model is overloaded. Please try again later.', status: 'UNAVAILABLE' } }, 'OVERLOADED'],
  ['Google: a pause', 503, { error: { code: 503, message: 'The service is currently unavailable.', status: 'UNAVAILABLE' } }, 'SERVER'],
  ['Google: a pause without a status', undefined, { error: { message: 'no', status: 'UNAVAILABLE' } }, 'SERVER'],
  ['Google: a deadline', undefined, { error: { message: 'no', status: 'DEADLINE_EXCEEDED' } }, 'TIMEOUT'],
  ['Google: an argument without a status', undefined, { error: { message: 'no', status: 'INVALID_ARGUMENT' } }, 'INVALID_REQUEST'],
  ['Google: a model', 404, { error: { code: 404, message: 'models/gemini-9 is not found for API version v1beta', status: 'NOT_FOUND' } }, 'MODEL_NOT_FOUND'],
  ['Google: a list of one', 429, [{ error: { code: 429, message: 'exhausted', status: 'RESOURCE_EXHAUSTED' } }], 'RATE_LIMIT'],
  ['Mistral: a key', 401, { message: 'Unauthorized', request_id: 'abc' }, 'AUTH'],
  ['Mistral: a field', 422, { object: 'error', message: { detail: [] }, type: 'invalid_request_error' }, 'INVALID_REQUEST'],
  ['Mistral: findings', 422, { detail: [{ type: 'missing', loc: ['body', 'messages'], msg: 'Field required' }] }, 'INVALID_REQUEST'],
  ['Mistral: a model', 400, { object: 'error', message: 'Invalid model: mistral-9', type: 'invalid_model', code: '1500' }, 'MODEL_NOT_FOUND'],
  ['Mistral: a window', 400, { object: 'error', message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length', type: 'invalid_request_error', code: '3051' }, 'CONTEXT_WINDOW_EXCEEDED'],
  ['Mistral: a rate', 429, { message: 'Requests rate limit exceeded' }, 'RATE_LIMIT'],
  ['Mistral: capacity', 429, { object: 'error', message: 'Service tier capacity exceeded for this model.', code: '3505' }, 'RATE_LIMIT'],
  ['Azure: a key', 401, { statusCode: 401, message: 'Access denied due to invalid subscription key or wrong API endpoint.' }, 'AUTH'],
  ['Azure: a rate', 429, { error: { code: '429', message: 'Requests have exceeded call rate limit' } }, 'RATE_LIMIT'],
  ['Azure: a deployment', 404, { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } }, 'MODEL_NOT_FOUND'],
  ['Azure: a filter', 400, { error: { code: 'content_filter', status: 400, message: 'The response was filtered', innererror: { code: 'ResponsibleAIPolicyViolation' } } }, 'CONTENT_FILTER'],
  ['OpenRouter: credits', 402, { error: { code: 402, message: 'Insufficient credits' } }, 'INSUFFICIENT_QUOTA'],
  ['OpenRouter: a moderator', 403, { error: { code: 403, message: 'Your input was flagged', metadata: { reasons: ['x'] } } }, 'CONTENT_FILTER'],
  ['OpenRouter: no endpoint', 404, { error: { code: 404, message: 'No endpoints found for a/b.' } }, 'MODEL_NOT_FOUND'],
  ['OpenRouter: a name', 400, { error: { code: 400, message: 'a/b is not a valid model ID' } }, 'MODEL_NOT_FOUND'],
  ['OpenRouter: a time', 408, { error: { code: 408, message: 'Timed out' } }, 'TIMEOUT'],
  ['OpenRouter: its provider', 502, { error: { code: 502, message: 'Provider returned error' } }, 'SERVER'],
  ['OpenRouter: its provider, in the stream', undefined, { code: 'server_error', message: 'Provider disconnected' }, 'SERVER'],
  ['DeepSeek: a balance', 402, { error: { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' } }, 'INSUFFICIENT_QUOTA'],
  ['Groq: a rate', 413, { error: { message: 'Request too large', type: 'tokens', code: 'rate_limit_exceeded' } }, 'RATE_LIMIT'],
  ['Groq: capacity', 498, { error: { message: 'Flex tier capacity exceeded' } }, 'OVERLOADED'],
  ['xAI: a window', 400, { error: "This model's maximum prompt length is 131072 but the request contains 540999 tokens." }, 'CONTEXT_WINDOW_EXCEEDED'],
  ['Ollama: a model', 404, { error: { message: 'model "x" not found, try pulling it first', type: 'api_error' } }, 'MODEL_NOT_FOUND'],
  ['Ollama: a model, in short', 404, { error: "model 'x' not found" }, 'MODEL_NOT_FOUND'],
  ['Ollama: tools', 400, { error: { message: 'x does not support tools', type: 'api_error' } }, 'INVALID_REQUEST'],
  ['Ollama: memory', 500, { error: 'model requires more system memory (8.0 GiB) than is available' }, 'SERVER'],
  ['llama.cpp: a window', 400, { error: { code: 400, message: 'too many', type: 'exceed_context_size_error' } }, 'CONTEXT_WINDOW_EXCEEDED'],
  ['llama.cpp: loading', 503, { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } }, 'SERVER'],
]

/** All texts an error may have been told in. */
function wordsOf(body: unknown): unknown[] {
  const each = (Array.isArray(body) ? body : [body]) as { error?: { message?: unknown }; message?: unknown }[]
  return each.flatMap(({ error, message }) => [error, error?.message, message]).filter(said => typeof said === 'string')
}

describe('bodies', () => {
  it.each(bodies)('A10 %s is told, in the words of the provider', (_what, status, body, code) => {
    const thrown = status === undefined ? body : apiError(status, { responseBody: JSON.stringify(body) })
    const failure = failureOf(thrown)
    expect([failure.code, failure.status]).toEqual([code, status])
    const words = wordsOf(body)
    if (words.length > 0) expect(words).toContain(failure.message)
  })

  it('A10 what the SDK leaves out of a body is read from the body itself', async () => {
    const data = { error: { message: 'no' } }
    const whole = { error: { message: 'no', status: 'RESOURCE_EXHAUSTED', request_id: 'r1' } }
    expect(failureOf(apiError(undefined, { data, responseBody: JSON.stringify(whole) }))).toEqual({
      code: 'RATE_LIMIT',
      message: 'no',
      requestId: 'r1',
    })
    expect(failureOf(apiError(422, { responseBody: '{"detail":[{"msg":"Field required"}]}' }))).toMatchObject({
      message: 'Field required',
    })
  })

  it.each<[string, Facts, string | undefined]>([
    ['a header', { headers: { 'x-request-id': 'req_1' } }, 'req_1'],
    ['another header', { headers: { 'request-id': 'req_011CQ-x.y:z/1=' } }, 'req_011CQ-x.y:z/1='],
    ['a body', { responseBody: '{"error":{"message":"x"},"request_id":"req_2"}' }, 'req_2'],
    ['an error in a body', { responseBody: '{"error":{"message":"x","request_id":"req_3"}}' }, 'req_3'],
    ['the header first', { headers: { 'request-id': 'req_4' }, responseBody: '{"request_id":"req_5"}' }, 'req_4'],
    ['the body when the header is odd', { headers: { 'request-id': 'a b' }, responseBody: '{"request_id":"r"}' }, 'r'],
    ['nothing that is no id', { headers: { 'x-request-id': 'a<b>' } }, undefined],
    ['nothing without end', { headers: { 'x-request-id': 'x'.repeat(129) } }, undefined],
    ['all that is not too long', { headers: { 'x-request-id': 'x'.repeat(128) } }, 'x'.repeat(128)],
    ['nothing that holds a secret', { headers: { 'x-request-id': 'id-hunter2' } }, undefined],
    ['nothing that looks like a key', { headers: { 'x-request-id': 'sk-abcdefgh' } }, undefined],
    ['nothing that is no text', { responseBody: '{"request_id":7}' }, undefined],
    ['nothing where there is nothing', {}, undefined],
  ])('A10 the id of a request is that of %s', async (_what, facts, requestId) => {
    const failure = failureOf(apiError(400, facts))
    expect(failure.requestId).toBe(requestId)
  })

  it('A10 an error in a stream has the id and the wait of the response it came with', async () => {
    const parts = [
      { type: 'text-delta', id: '0', delta: 'x' },
      { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down' } },
    ]
    const made = handMade(parts)
    const headers = { 'request-id': 'req_9', 'retry-after': '2' }
    const chunks = await chunksOf(
      aiSdkModel({
        ...made,
        doStream: async options => ({ ...(await made.doStream(options)), response: { headers } }),
      }),
    )
    expect(chunks.at(-1)).toEqual({
      type: 'finish',
      reason: {
        kind: 'error',
        failure: { code: 'RATE_LIMIT', message: 'Slow down', requestId: 'req_9', providerRetryAfterMs: 2_000 },
      },
    })
  })
})
