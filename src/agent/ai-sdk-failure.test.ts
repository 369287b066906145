/** Failures of a call: stable codes, readable texts, no secret. */
import { APICallError } from '@ai-sdk/provider'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LlmFailure } from '../core/events.ts'
import { chunksOf, handMade } from '../testing/ai-sdk-kit.ts'
import { type AiSdkModelOptions, aiSdkModel } from './ai-sdk.ts'

/** The failure of a call whose `doStream` rejects with `thrown`. */
async function failureOf(thrown: unknown, options: AiSdkModelOptions = {}, more: object = {}): Promise<LlmFailure> {
  const doStream = async (): Promise<never> => {
    throw thrown
  }
  const made = { ...handMade([]), ...more, doStream }
  const chunks = await chunksOf(aiSdkModel(made, options))
  const [chunk] = chunks
  if (chunks.length !== 1 || chunk?.type !== 'finish' || chunk.reason.kind !== 'error')
    throw new TypeError('no failure')
  return chunk.reason.failure
}

type ErrorFacts = {
  message?: string
  data?: unknown
  responseBody?: string
  headers?: Record<string, string>
  url?: string
}
const apiError = (statusCode: number | undefined, facts: ErrorFacts = {}) =>
  new APICallError({
    message: facts.message ?? '',
    url: facts.url ?? 'https://api.example.com/v1/chat/completions',
    requestBodyValues: { secret: 'in the body' },
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(facts.headers === undefined ? {} : { responseHeaders: facts.headers }),
    ...(facts.responseBody === undefined ? {} : { responseBody: facts.responseBody }),
    ...(facts.data === undefined ? {} : { data: facts.data }),
  })
const says = (message: string, more: object = {}) => ({ data: { error: { message, ...more } } })

describe('codes', () => {
  it.each<[number | undefined, string, ErrorFacts?]>([
    [401, 'AUTH'],
    [403, 'AUTH'],
    [429, 'RATE_LIMIT'],
    [429, 'RATE_LIMIT', says('Too many tokens per minute')],
    [429, 'INSUFFICIENT_QUOTA', says('You exceeded your quota', { code: 'insufficient_quota' })],
    [402, 'INSUFFICIENT_QUOTA'],
    [400, 'INVALID_REQUEST', says('bad tool')],
    [404, 'INVALID_REQUEST', says('Not found')],
    [404, 'MODEL_NOT_FOUND', says('The model `x` does not exist')],
    [404, 'MODEL_NOT_FOUND', says('nope', { code: 'model_not_found' })],
    [413, 'INVALID_REQUEST'],
    [422, 'INVALID_REQUEST'],
    [400, 'CONTEXT_WINDOW_EXCEEDED', says('too long', { code: 'context_length_exceeded' })],
    [400, 'CONTEXT_WINDOW_EXCEEDED', says("This model's maximum context length is 8192 tokens")],
    [400, 'CONTEXT_WINDOW_EXCEEDED', says('prompt is too long: 210000 tokens > 200000 maximum')],
    [400, 'CONTEXT_WINDOW_EXCEEDED', says('the request exceeds the available context size')],
    [413, 'CONTEXT_WINDOW_EXCEEDED', says('Input is too long for requested model.')],
    [400, 'AUTH', says('API key not valid. Please pass a valid API key.')],
    [408, 'TIMEOUT'],
    [504, 'TIMEOUT'],
    [500, 'SERVER'],
    [502, 'SERVER'],
    [503, 'SERVER'],
    [529, 'OVERLOADED'],
    [503, 'OVERLOADED', says('Model is overloaded')],
    [500, 'OVERLOADED', says('x', { type: 'overloaded_error' })],
    [418, 'INVALID_REQUEST'],
    [undefined, 'TRANSPORT', { message: 'Cannot connect to API: ECONNREFUSED' }],
  ])('A10 status %s is %s', async (status, code, facts = {}) => {
    const failure = await failureOf(apiError(status, facts))
    expect(failure).toMatchObject({ code, ...(status === undefined ? {} : { status }) })
    expect(failure.message).not.toBe('')
    expect(Object.keys(failure).filter(key => !['code', 'message', 'status'].includes(key))).toEqual([])
  })

  it.each<[string, unknown, string]>([
    ['a rate limit in the stream', { type: 'rate_limit_error', message: 'Slow down' }, 'RATE_LIMIT'],
    ['an overload in the stream', { type: 'overloaded_error', message: 'Overloaded' }, 'OVERLOADED'],
    ['a gateway in the stream', { code: 502, message: 'Provider returned error' }, 'SERVER'],
    ['a status as text', { error: { code: '429', message: 'x' } }, 'RATE_LIMIT'],
    ['a status in words', { error: { status: 'RESOURCE_EXHAUSTED', message: 'x' } }, 'RATE_LIMIT'],
    ['an internal error', { type: 'api_error', message: 'Internal' }, 'SERVER'],
    ['a key that is not set', Object.assign(new Error('no key'), { name: 'AI_LoadAPIKeyError' }), 'AUTH'],
    ['a prompt the SDK refuses', Object.assign(new Error('no'), { name: 'AI_InvalidPromptError' }), 'INVALID_REQUEST'],
    ['an empty body', Object.assign(new Error('no'), { name: 'AI_EmptyResponseBodyError' }), 'TRANSPORT'],
    ['a timeout', new DOMException('too slow', 'TimeoutError'), 'TIMEOUT'],
    ['somebody else’s abort', new DOMException('aborted', 'AbortError'), 'TRANSPORT'],
    ['a plain error', new Error('what'), 'TRANSPORT'],
    ['text', 'what', 'TRANSPORT'],
    ['null', null, 'TRANSPORT'],
    ['undefined', undefined, 'TRANSPORT'],
  ])('A10 %s', async (_what, thrown, code) => {
    expect(await failureOf(thrown)).toMatchObject({ code })
  })

  it.each<[Record<string, string>, number | undefined]>([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '1.5' }, 1_500],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, undefined],
    [{ 'retry-after': '-1' }, undefined],
    [{ 'retry-after': '1e99' }, undefined],
    [{ 'retry-after': '9'.repeat(30) }, undefined],
    [{}, undefined],
  ])('A10 %j asks to wait %s ms', async (headers, wait) => {
    const failure = await failureOf(apiError(429, { headers }))
    expect(failure.providerRetryAfterMs).toBe(wait)
    expect((await failureOf(apiError(400, { headers }))).providerRetryAfterMs).toBeUndefined()
  })
})

describe('texts', () => {
  it.each<[string, ErrorFacts, string]>([
    ['the message the SDK found', { message: 'from sdk' }, 'from sdk'],
    ['the message of the provider', { message: 'x', ...says('from provider') }, 'from provider'],
    ['the raw body', { responseBody: '{"error":{"message":"raw"}}' }, 'raw'],
    ['a body of another shape', { responseBody: '{"detail":"fastapi"}' }, 'fastapi'],
    ['an error that is text', { responseBody: '{"error":"plain"}' }, 'plain'],
    ['a page of a proxy', { responseBody: '<html>no</html>' }, 'The provider answered with status 500.'],
  ])('A10 shows %s', async (_what, facts, message) => {
    expect((await failureOf(apiError(500, facts))).message).toBe(message)
  })

  it('A10 says that an address could not be reached, and what that may mean', async () => {
    const { code, message } = await failureOf(
      apiError(undefined, { message: 'Cannot connect to API: refused', url: 'https://u:p@api.example.com/v1?key=k' }),
    )
    expect([code, message]).toEqual([
      'TRANSPORT',
      'https://api.example.com could not be reached: no network, a wrong address, or it does not admit this page (CORS). (Cannot connect to API: refused)',
    ])
  })

  it('A10 names the origin when only the language model knows it', async () => {
    const fetchFailed = new TypeError('Failed to fetch')
    const byUrl = { config: { url: ({ path }: { path: string }) => `http://localhost:11434/v1${path}?k=1` } }
    expect((await failureOf(fetchFailed, {}, byUrl)).message).toContain('http://localhost:11434 could not')
    expect((await failureOf(fetchFailed, {}, { config: { baseURL: 'https://b.test/v1' } })).message).toContain(
      'https://b.test could',
    )
    expect((await failureOf(fetchFailed)).message).toContain('The provider could not be reached')
    const url = () => {
      throw fetchFailed
    }
    expect((await failureOf(fetchFailed, {}, { config: { url } })).code).toBe('TRANSPORT')
  })

  it('A10 a stream that breaks says so', async () => {
    const model = aiSdkModel(handMade([{ type: 'text-delta', id: '0', delta: 'x' }, new TypeError('network error')]))
    expect((await chunksOf(model)).at(-1)).toEqual({
      type: 'finish',
      reason: {
        kind: 'error',
        failure: {
          code: 'TRANSPORT',
          message: 'The connection broke off before the answer was finished. (network error)',
        },
      },
    })
  })

  it.each([
    ['a known secret', 'Bad key hunter2 (hunter2)', 'Bad key ••• (•••)'],
    ['a known secret in an address', 'GET https://a.test/bot/hunter2/x failed', 'GET https://a.test/bot/•••/x failed'],
    ['the longer of two secrets', 'hunter2-long and hunter2', '••• and •••'],
    ['a secret as an address spells it', 'k=p%40ss%2Fword', 'k=•••'],
    ['a header', 'Authorization: Bearer abc.def-ghi', 'Authorization: Bearer •••'],
    ['a key of the usual shape', 'Incorrect API key provided: sk-proj-abcd1234.', 'Incorrect API key provided: •••'],
    ['a key starred out', 'Incorrect key: sk-ab***************wxyz. See', 'Incorrect key: ••• See'],
    [
      'credentials and query',
      'at https://u:p@a.test:8080/v1/chat?key=1#x, sorry',
      'at https://a.test:8080/v1/chat sorry',
    ],
    ['an address that is none', 'at https://[ and', 'at https://[ and'],
    ['nothing where nothing is', 'task-force risk-based ask-me', 'task-force risk-based ask-me'],
  ])('A10 hides %s', async (_what, text, shown) => {
    const secrets = ['hunter2', 'hunter2-long', 'p@ss/word', '', ' ']
    expect((await failureOf(apiError(401, says(text)), { secrets })).message).toBe(shown)
  })

  it('A10 keeps nothing else of the error, and no text without end', async () => {
    const failure = await failureOf(apiError(400, { ...says('x'.repeat(1_000_000)), headers: { cookie: 'c' } }))
    expect(Object.keys(failure).sort()).toEqual(['code', 'message', 'status'])
    expect(failure.message.length).toBeLessThanOrEqual(1_000)
    expect((await failureOf(new Error('a\ud800'))).message).toBe('a\ufffd')
  })

  it.each([' ', '\n\t', ''])('A10 an error without words gets some: %j', async thrown => {
    expect((await failureOf(thrown)).message).toBe('The provider answered with an error.')
  })

  it('A10 no error whatever shows a secret, or keeps the adapter from answering', async () => {
    const secret = 'S3cr3t-Key/42+'
    const leaky = fc.tuple(fc.string(), fc.constantFrom(secret, encodeURIComponent(secret)), fc.string()).map(each => each.join(' ')) // biome-ignore format: one line
    const fields = fc.record(
      {
        name: fc.constantFrom('AI_APICallError', 'TypeError', 'Error', ''),
        message: leaky,
        statusCode: fc.oneof(fc.constantFrom(400, 401, 404, 429, 500, 529), fc.anything()),
        url: leaky.map(text => `https://user:${secret}@a.test/${text}`),
        responseBody: fc.oneof(
          leaky,
          leaky.map(message => JSON.stringify({ error: { message } })),
        ),
        responseHeaders: fc.anything(),
        data: fc.oneof(fc.anything(), fc.record({ error: fc.record({ message: leaky, type: fc.string() }) })),
        code: fc.anything(),
        cause: fc.anything(),
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(fc.oneof(fields, fc.anything(), leaky), async thrown => {
        const failure = await failureOf(thrown, { secrets: [secret] })
        expect(JSON.stringify(failure)).not.toContain(secret)
        expect(JSON.stringify(failure)).not.toContain(encodeURIComponent(secret))
        expect(failure.code).toMatch(/^[A-Z_]+$/)
        expect(failure.message).not.toBe('')
      }),
      { numRuns: 500 },
    )
  })
})
