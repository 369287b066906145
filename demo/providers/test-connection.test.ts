import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createEmbeddedFetch, embeddedBaseURL } from '../provider/fetch.ts'
import type { ProviderConfig } from './config.ts'
import type { PlainFetch } from './reply.ts'
import { testConnection, type TestContext } from './test-connection.ts'

const key = 'sk-live-0123456789'
const openAi: ProviderConfig = { kind: 'openai-compatible', baseURL: 'https://api.test/v1', apiKey: key, model: 'm-1' }
const anthropic: ProviderConfig = { kind: 'anthropic', apiKey: key, model: 'claude-haiku-4-5' }
const page = { origin: 'https://page.test', protocol: 'https:' }
const networkError = () => Promise.reject(new TypeError('Failed to fetch'))

type Asked = { readonly route: string; readonly init: RequestInit; readonly hasKey: boolean }
type Answers = (asked: Asked) => Response | Promise<Response>

/** A server by routes (`GET /models`); the requests it got. */
function server(answers: Answers): { fetch: PlainFetch; asked: Asked[] } {
  const asked: Asked[] = []
  const fetch: PlainFetch = async (url, init = {}) => {
    const headers = new Headers(init.headers)
    const hasKey = headers.has('authorization') || headers.has('x-api-key')
    const path = new URL(url).pathname.replace(/^\/v1/, '')
    const each = { route: `${init.mode ?? init.method ?? 'GET'} ${path}`, init, hasKey }
    asked.push(each)
    return answers(each)
  }
  return { fetch, asked }
}

const run = (config: ProviderConfig, answers: Answers, context: TestContext = {}) => {
  const { fetch, asked } = server(answers)
  return testConnection(config, { fetch, page, isOnline: () => true, ...context }).then(verdict => ({
    verdict,
    asked,
    routes: asked.map(each => each.route),
  }))
}

const error = (status: number, message: string, marks: object = {}, headers: HeadersInit = {}) =>
  Response.json({ error: { message, ...marks } }, { status, headers })
const listing = (...ids: string[]) => Response.json({ object: 'list', data: ids.map(id => ({ id })) })
const completion = () => Response.json({ choices: [{ message: { content: 'Hi' } }] })
/** A response that a browser would only let through as a redirect or opaque one. */
const special = (type: ResponseType) => {
  const response = Response.error()
  Object.defineProperty(response, 'type', { value: type })
  return response
}

afterEach(() => {
  vi.useRealTimers()
})

describe('success', () => {
  test('[demo] a model that is in a list only the key opens needs no further request', async () => {
    const { verdict, routes, asked } = await run(openAi, ({ hasKey }) =>
      hasKey ? listing('m-0', 'm-1') : error(401, 'no key'),
    )
    expect(verdict).toEqual({ ok: true, message: 'https://api.test answers and offers m-1.', models: ['m-0', 'm-1'] })
    expect(routes).toEqual(['GET /models', 'GET /models'])
    expect(asked[0]?.init).toMatchObject({
      redirect: 'manual',
      credentials: 'omit',
      headers: { authorization: `Bearer ${key}` },
    })
  })

  test('[demo] without a key the list is enough', async () => {
    const { verdict, routes } = await run({ ...openAi, apiKey: '' }, () => listing('m-1'))
    expect(verdict).toMatchObject({ ok: true })
    expect(routes).toEqual(['GET /models'])
  })

  test('[demo] a list that is open to all does not vouch for the key: one token does, and it is said', async () => {
    const { verdict, routes, asked } = await run(openAi, ({ route }) =>
      route === 'GET /models' ? listing('m-1') : completion(),
    )
    expect(verdict).toMatchObject({ ok: true, message: expect.stringContaining('single token') as string })
    expect(routes).toEqual(['GET /models', 'GET /models', 'POST /chat/completions'])
    expect(JSON.parse(asked[2]?.init.body as string)).toMatchObject({ model: 'm-1', max_tokens: 1 })
  })

  test.each([
    ['not offered', () => error(404, 'Not found')],
    ['refused to this key', () => error(403, 'Missing scopes: api.model.read')],
    ['closed to pages', networkError],
    ['broken', () => error(500, 'oops')],
    ['a web page', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
  ])('[demo] a list that is %s is done without', async (_, list) => {
    const { verdict } = await run(openAi, ({ route }) => (route === 'GET /models' ? list() : completion()))
    expect(verdict).toMatchObject({ ok: true, message: expect.stringContaining('single token') as string })
  })

  test('[demo] a model that takes no limit under this name is known all the same', async () => {
    const { verdict } = await run(openAi, ({ route }) =>
      route === 'GET /models' ? listing() : error(400, "Use 'max_completion_tokens' instead of 'max_tokens'."),
    )
    expect(verdict).toMatchObject({ ok: true, message: 'https://api.test answers, takes the request and knows m-1.' })
  })

  test('[demo] Anthropic is asked for the model itself, as a page asks', async () => {
    const { verdict, asked } = await run(anthropic, () => Response.json({ type: 'model', id: 'claude-haiku-4-5' }))
    expect(verdict).toMatchObject({ ok: true, message: expect.stringContaining('claude-haiku-4-5') as string })
    expect(asked).toHaveLength(1)
    expect(asked[0]?.route).toBe('GET /models/claude-haiku-4-5')
    expect(asked[0]?.init.headers).toEqual({
      'x-api-key': key,
      'anthropic-version': '2023-06-01',
      'anthropic-dangerous-direct-browser-access': 'true',
    })
  })

  test('[demo] a proxy of Anthropic without a list is asked for one token', async () => {
    const { verdict, routes } = await run({ ...anthropic, baseURL: 'https://proxy.test/v1' }, ({ route }) =>
      route === 'POST /messages'
        ? Response.json({ type: 'message', content: [] })
        : new Response('Cannot GET /v1/models', { status: 404 }),
    )
    expect(verdict).toMatchObject({ ok: true })
    expect(routes).toEqual(['GET /models/claude-haiku-4-5', 'POST /messages'])
  })

  test('[demo] the embedded provider needs no request, and over HTTP it is asked like any other', async () => {
    const { verdict, asked } = await run({ kind: 'embedded', model: 'embedded-small', via: 'worker' }, networkError)
    expect(verdict).toMatchObject({ ok: true })
    expect(asked).toHaveLength(0)
    const embedded = createEmbeddedFetch()
    const fetch = vi.fn<PlainFetch>((url, init) => embedded(url, init))
    const config: ProviderConfig = { kind: 'embedded', model: 'embedded-small', via: 'http' }
    expect(await testConnection(config, { fetch, page })).toMatchObject({
      ok: true,
      models: ['embedded-small', 'embedded-large'],
    })
    expect(fetch.mock.calls[0]?.[0]).toBe('https://page.test/v1/models')
  })

  test('[demo] the real endpoint of the embedded provider: key, model, all', async () => {
    const at = (apiKey: string, model: string) =>
      testConnection(
        { kind: 'openai-compatible', baseURL: embeddedBaseURL, apiKey, model },
        { fetch: createEmbeddedFetch(), page },
      )
    expect(await at('embedded', 'embedded-small')).toMatchObject({ ok: true })
    expect(await at('wrong-key', 'embedded-small')).toMatchObject({ ok: false, code: 'key' })
    expect(await at('embedded', 'no-such-model')).toMatchObject({
      ok: false,
      code: 'model',
      hint: 'It offers embedded-small, embedded-large.',
    })
  })
})

describe('failure', () => {
  const everywhere =
    (make: () => Response | Promise<Response>): Answers =>
    () =>
      make()
  test.each<[string, ProviderConfig, Answers, string, string]>([
    [
      '401',
      openAi,
      everywhere(() => error(401, 'Incorrect API key')),
      'key',
      'refused the key (status 401). It said: “Incorrect API key”',
    ],
    ['401 without a key', { ...openAi, apiKey: '' }, everywhere(() => error(401, '')), 'key', 'wants a key'],
    ['403', openAi, everywhere(() => error(403, 'Not you')), 'key', 'refused the key (status 403)'],
    ['402', openAi, everywhere(() => error(402, '')), 'quota', 'no quota left'],
    [
      '429 for quota',
      openAi,
      everywhere(() => error(429, 'You exceeded your current quota', { code: 'insufficient_quota' })),
      'quota',
      'no quota left',
    ],
    [
      '429',
      openAi,
      everywhere(() => error(429, 'Slow down', {}, { 'retry-after': '7' })),
      'rate-limit',
      'too many requests',
    ],
    ['500', openAi, everywhere(() => error(500, 'Oh no')), 'server', 'trouble of its own (status 500)'],
    ['404 everywhere', openAi, everywhere(() => error(404, 'Not Found')), 'not-an-api', 'answers with status 404'],
    [
      'a web page',
      openAi,
      everywhere(() => new Response('<p>hi', { headers: { 'content-type': 'text/html' } })),
      'not-an-api',
      'not as such a provider does',
    ],
    [
      'JSON of another kind',
      openAi,
      everywhere(() => Response.json({ ok: true })),
      'not-an-api',
      'not as such a provider does',
    ],
    [
      'an unknown model',
      openAi,
      ({ route }) => (route === 'GET /models' ? listing('a', 'b') : error(404, 'x', { code: 'model_not_found' })),
      'model',
      'does not have the model m-1',
    ],
    [
      'an invalid model',
      openAi,
      ({ route }) => (route === 'GET /models' ? listing('a', 'b') : error(400, 'm-1 is not a valid model ID')),
      'model',
      'does not have the model m-1',
    ],
    ['a redirect', openAi, everywhere(() => special('opaqueredirect')), 'not-an-api', 'sends requests on'],
    [
      'Anthropic: 401',
      anthropic,
      everywhere(() => error(401, 'invalid x-api-key', { type: 'authentication_error' })),
      'key',
      'refused the key',
    ],
    [
      'Anthropic: no model',
      anthropic,
      ({ route }) =>
        route === 'GET /models'
          ? listing('claude-a')
          : error(404, 'model: claude-haiku-4-5', { type: 'not_found_error' }),
      'model',
      'does not have the model',
    ],
    ['Anthropic: overloaded', anthropic, everywhere(() => error(529, 'Overloaded')), 'server', 'status 529'],
    [
      'Anthropic: no credit',
      anthropic,
      ({ route }) =>
        route === 'POST /messages' ? error(400, 'Your credit balance is too low') : error(404, 'Not found'),
      'quota',
      'no quota left',
    ],
  ])('[demo] %s', async (_, config, answers, code, words) => {
    const { verdict } = await run(config, answers)
    expect(verdict).toMatchObject({ ok: false, code, message: expect.stringContaining(words) as string })
    expect(verdict.ok ? '' : verdict.hint).not.toBe('')
    expect(JSON.stringify(verdict)).not.toContain(key)
  })

  test('[demo] hints say what to do', async () => {
    const hintOf = async (config: ProviderConfig, answers: Answers) => {
      const { verdict } = await run(config, answers)
      return verdict.ok ? '' : verdict.hint
    }
    const missing = everywhere(() => error(404, 'Not Found'))
    expect(await hintOf({ ...openAi, baseURL: 'https://api.test' }, missing)).toContain('try https://api.test/v1')
    expect(await hintOf({ ...openAi, baseURL: 'https://api.test/v1/chat/completions' }, missing)).toContain(
      'without its last part',
    )
    expect(
      await hintOf(
        openAi,
        everywhere(() => error(429, '', {}, { 'retry-after': '7' })),
      ),
    ).toContain('Wait 7 s')
    expect(
      await hintOf(anthropic, ({ route }) =>
        route === 'GET /models' ? listing('claude-a', 'claude-b') : error(404, 'model: x'),
      ),
    ).toBe('It offers claude-a, claude-b.')
  })

  test('[demo] nobody there and CORS are told apart by a request without key', async () => {
    const nobody = await run(openAi, networkError)
    expect(nobody.verdict).toMatchObject({ code: 'network-or-cors', message: 'https://api.test could not be reached.' })
    expect(nobody.routes).toEqual(['GET /models', 'POST /chat/completions', 'no-cors '])
    const closed = await run(openAi, ({ route }) => (route.startsWith('no-cors') ? special('opaque') : networkError()))
    expect(closed.verdict).toMatchObject({
      code: 'network-or-cors',
      message: expect.stringContaining('(CORS)') as string,
      hint: expect.stringContaining('https://page.test') as string,
    })
    expect(closed.asked.at(-1)).toMatchObject({ hasKey: false, init: { redirect: 'follow' } })
  })

  test('[demo] offline, and plain http from a published page', async () => {
    expect((await run(openAi, networkError, { isOnline: () => false })).verdict).toMatchObject({
      code: 'network-or-cors',
      message: 'This device is offline.',
    })
    const near: ProviderConfig = { ...openAi, baseURL: 'http://127.0.0.1:11434/v1' }
    const here = await run(near, networkError, { isOnline: () => false })
    expect(here.verdict).toMatchObject({ message: 'http://127.0.0.1:11434 could not be reached.' })
    const far: ProviderConfig = { ...openAi, baseURL: 'http://192.168.0.7:1234/v1' }
    const mixed = await run(far, networkError)
    expect(mixed.verdict).toMatchObject({ ok: false, code: 'mixed-content' })
    expect(mixed.asked).toHaveLength(0)
    const plain = { origin: 'http://page.test', protocol: 'http:' }
    expect((await run(far, networkError, { page: plain })).verdict).toMatchObject({
      code: 'network-or-cors',
      hint: expect.stringContaining('plain http only for') as string,
    })
  })

  /** Answers never; ends as fetch does when it is aborted. */
  const silence: Answers = ({ init }) =>
    new Promise((_, reject) => {
      const { signal } = init
      signal?.addEventListener('abort', () => reject(signal.reason as Error))
    })

  test('[demo] silence is given up', async () => {
    vi.useFakeTimers()
    const running = run(openAi, silence, { timeoutMs: 3_000 })
    await vi.advanceTimersByTimeAsync(3_000)
    expect((await running).verdict).toMatchObject({ ok: false, code: 'timeout' })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('[demo] a body that never ends is given up', async () => {
    vi.useFakeTimers()
    const running = run(openAi, ({ init }) => {
      const body = new ReadableStream({
        start: controller => init.signal?.addEventListener('abort', () => controller.error(init.signal?.reason)),
      })
      return new Response(body)
    })
    await vi.advanceTimersByTimeAsync(15_000)
    expect((await running).verdict).toMatchObject({ ok: false, code: 'timeout' })
  })

  test('[demo] a slow local model is fine when it is offered', async () => {
    vi.useFakeTimers()
    const running = run(openAi, asked => (asked.route === 'GET /models' ? listing('m-1') : silence(asked)))
    await vi.advanceTimersByTimeAsync(15_000)
    expect((await running).verdict).toMatchObject({
      ok: true,
      message: expect.stringContaining('could not be checked') as string,
    })
  })

  test('[demo] can be cancelled', async () => {
    const abort = new AbortController()
    const running = run(openAi, silence, { signal: abort.signal })
    abort.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    await expect(run(openAi, networkError, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    })
  })
})

test('[demo] the key is in no verdict and no address, whatever a provider says', async () => {
  const keys = fc.stringMatching(/^[\x21-\x7e]{12,60}$/)
  const statuses = fc.constantFrom(200, 400, 401, 402, 403, 404, 429, 500, 529)
  const wraps = fc.constantFrom<(text: string) => BodyInit>(
    text => JSON.stringify({ error: { message: text, code: text } }),
    text => JSON.stringify([{ error: { message: text } }]),
    text => JSON.stringify({ data: [{ id: text }, { id: text.slice(0, 30) }] }),
    text => JSON.stringify({ id: text, choices: [text], type: 'message' }),
    text => JSON.stringify({ detail: text }),
    text => text,
  )
  const texts = fc.array(fc.oneof(fc.constant('KEY'), fc.constant('ENCODED'), fc.string(), fc.constant('Bearer ')), {
    maxLength: 40,
  })
  await fc.assert(
    fc.asyncProperty(
      keys,
      fc.boolean(),
      fc.array(fc.tuple(statuses, wraps, texts, fc.boolean()), { minLength: 4, maxLength: 4 }),
      async (apiKey, isAnthropic, replies) => {
        const urls: string[] = []
        let count = 0
        const fetch: PlainFetch = url => {
          urls.push(url)
          const [status, wrap, parts, isDown] = replies[count++ % 4] ?? [500, String, [], false]
          const text = parts.join('').replaceAll('KEY', apiKey).replaceAll('ENCODED', encodeURIComponent(apiKey))
          if (isDown) return Promise.reject(new TypeError(`Failed: ${apiKey}`))
          return Promise.resolve(new Response(wrap(text), { status, headers: { 'content-type': 'text/plain' } }))
        }
        const config = { ...(isAnthropic ? anthropic : openAi), apiKey }
        const verdict = await testConnection(config, { fetch, page, isOnline: () => true })
        const shown = [...urls, verdict.message, verdict.ok ? (verdict.models ?? []).join('\n') : verdict.hint].join(
          '\n',
        )
        expect(shown).not.toContain(apiKey)
        expect(shown.replace(/https:\S*/g, '')).not.toContain(encodeURIComponent(apiKey))
        expect(verdict.message.length).toBeLessThan(500)
      },
    ),
    { numRuns: 300 },
  )
})
