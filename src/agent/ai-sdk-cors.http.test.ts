/** The recorded case ant-08: an API that answers pages only when they say that they are pages, and what is made of it. */
import http from 'node:http'
import { createAnthropic } from '@ai-sdk/anthropic'
import { afterEach, expect, it } from 'vitest'
import { SessionId } from '../core/ids.ts'
import { agentKit, type AgentKit } from '../testing/agent-kit.ts'
import { anthropicAnswerOf } from '../testing/anthropic-kit.ts'
import { type HttpAnswer, type HttpKit, httpKit } from '../testing/http-kit.ts'
import { aiSdkModel } from './ai-sdk.ts'

const apiKey = 'key-of-this-very-test'
const optIn = 'anthropic-dangerous-direct-browser-access'
const page = 'https://page.test'

/** Headers a page may send without asking first, and those it may read without being told so. */
const safeToSend = /^(accept|accept-language|content-language)$/
const safeToRead = /^(cache-control|content-language|content-length|content-type|expires|last-modified|pragma)$/

/** A fetch that keeps to the rules a browser has for pages of another origin. */
const pageFetch: typeof fetch = async (input, init) => {
  const blocked = () => new TypeError('Failed to fetch')
  const admits = ({ headers }: Response) =>
    /^(\*|https:\/\/page\.test)$/.test(headers.get('access-control-allow-origin') ?? '')
  const listed = ({ headers }: Response, name: string) => (headers.get(name) ?? '').toLowerCase().split(/\s*,\s*/)
  const headers = new Headers(init?.headers)
  const toAsk = [...headers.keys()].filter(name => !safeToSend.test(name))
  const preflight = await fetch(input, {
    method: 'OPTIONS',
    headers: {
      origin: page,
      'access-control-request-method': init?.method ?? 'GET',
      'access-control-request-headers': toAsk.join(','),
    },
  })
  const allowed = listed(preflight, 'access-control-allow-headers')
  if (!preflight.ok || !admits(preflight) || !toAsk.every(name => allowed.includes(name))) throw blocked()
  headers.set('origin', page)
  const response = await fetch(input, { ...init, headers })
  if (!admits(response)) throw blocked()
  const exposed = listed(response, 'access-control-expose-headers')
  const readable = [...response.headers].filter(([name]) => safeToRead.test(name) || exposed.includes(name))
  return new Response(response.body, { status: response.status, headers: readable })
}

/** The API as it is; `forbids`: an organisation that lets no page in. */
const api =
  ({ forbids = false } = {}) =>
  (_count: number, { method, headers }: HttpKit['requests'][number]): HttpAnswer => {
    const cors = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'request-id, retry-after' }
    if (method === 'OPTIONS') {
      const names = `content-type, user-agent, x-api-key, anthropic-version, ${optIn}`
      return { headers: { ...cors, 'access-control-allow-headers': names } }
    }
    const refusal = (status: number, type: string, message: string, more: Record<string, string> = {}): HttpAnswer => ({
      status,
      headers: { 'content-type': 'application/json', 'request-id': 'req_1', 'retry-after': '3', ...more },
      pieces: [JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_body' })],
    })
    if (forbids || headers[optIn] !== 'true')
      return refusal(401, 'authentication_error', 'CORS requests are not allowed')
    const key = headers['x-api-key']
    if (key === 'busy') return refusal(429, 'rate_limit_error', 'slow down', cors)
    if (key === 'quiet') return refusal(429, 'rate_limit_error', 'slow down', { 'access-control-allow-origin': page })
    if (key !== apiKey) return refusal(401, 'authentication_error', `invalid x-api-key ${String(key)}`, cors)
    return { headers: cors, pieces: anthropicAnswerOf('ok') }
  }

let server: HttpKit | undefined
afterEach(() => server?.close())

async function kitOn(answer: ReturnType<typeof api>, headers: Record<string, string>, key = apiKey): Promise<AgentKit> {
  server = await httpKit(http, answer)
  const provider = createAnthropic({ baseURL: `${server.origin}/v1`, apiKey: key, headers, fetch: pageFetch })
  return agentKit({ model: aiSdkModel(provider('demo-claude'), { secrets: [key] }) })
}
const withOptIn = { [optIn]: 'true' }

it('A10 [ant-08] a page that says so is answered, by an address that hears it with every request', async () => {
  const kit = await kitOn(api(), withOptIn)
  expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
  expect(await kit.agent.send({ text: 'ho' }).done).toEqual({ kind: 'completed' })
  const posts = server?.requests.filter(({ method }) => method === 'POST') ?? []
  expect(posts.map(({ headers }) => headers[optIn])).toEqual(['true', 'true'])
})

it.each<[string, Parameters<typeof api>[0], Record<string, string>]>([
  ['does not say so', {}, {}],
  ['is of an organisation that admits none', { forbids: true }, withOptIn],
])(
  'A10 [ant-08] a page that %s could not reach it, and may be told why: no word of a key',
  async (_who, options, headers) => {
    const kit = await kitOn(api(options), headers)
    const reason = await kit.agent.send({ text: 'hi' }).done
    expect(reason).toEqual({
      kind: 'error',
      error: {
        code: 'TRANSPORT',
        message: `${server?.origin} could not be reached: no network, a wrong address, or it does not admit this page (CORS). (Failed to fetch)`,
      },
    })
    // It was asked, and did answer: the page could not see it.
    expect(server?.requests.some(({ method }) => method === 'POST')).toBe(true)
  },
)

it('A10 [ant-08] a wrong key is another kind of failure, and no key is in what is kept', async () => {
  const kit = await kitOn(api(), withOptIn, 'wrong-key')
  const reason = await kit.agent.send({ text: 'hi' }).done
  expect(reason).toEqual({
    kind: 'error',
    error: { code: 'AUTH', status: 401, message: 'invalid x-api-key •••', requestId: 'req_1' },
  })
  const stored = await kit.stored()
  const exported = await new Response(await kit.sessions.export(SessionId('s'))).text()
  expect(exported).toContain('x-api-key')
  expect(JSON.stringify([stored, kit.frames, kit.statuses, reason]) + exported).not.toContain('wrong-key')
})

it('A10 [ant-08] the wait and the id of a request are read where the page may read them', async () => {
  const exposed = await kitOn(api(), withOptIn, 'busy')
  expect(await exposed.agent.send({ text: 'hi' }).done).toMatchObject({
    error: { code: 'RATE_LIMIT', providerRetryAfterMs: 3_000, requestId: 'req_1' },
  })
  await server?.close()
  const hidden = await kitOn(api(), withOptIn, 'quiet')
  // What the body says of it is not a header.
  expect(await hidden.agent.send({ text: 'hi' }).done).toEqual({
    kind: 'error',
    error: { code: 'RATE_LIMIT', status: 429, message: 'slow down', requestId: 'req_body' },
  })
})
