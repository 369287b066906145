import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest'
import { bodyOf } from './collect-answer.ts'
import { createProviderHandler } from './http.ts'

let server: Server
let base: string
let bodies: unknown[]

beforeEach(async () => {
  bodies = []
  server = createServer(createProviderHandler({ onRequest: body => bodies.push(body) }))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

const post = (body: unknown, init: RequestInit = {}): Promise<Response> =>
  fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
  })
const ask = (text: string, init?: RequestInit): Promise<Response> =>
  post(bodyOf([{ role: 'user', content: text }]), init)
const recorded = async (query = ''): Promise<unknown[]> =>
  (await (await fetch(`${base}/__provider/requests${query}`)).json()) as unknown[]

/** The stream as it arrives, each piece with its time; an error ends it. */
async function readStream(
  response: Response,
): Promise<{ text: string; reads: number; times: number[]; failed: boolean }> {
  const times: number[] = []
  let text = ''
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
      if (done) return { text, reads: times.length, times, failed: false }
      text += value
      times.push(performance.now())
    }
  } catch {
    return { text, reads: times.length, times, failed: true }
  }
}

describe('POST /v1/chat/completions', () => {
  test('[demo] streams events one by one, at the pace the answer asks for', async () => {
    const started = performance.now()
    const response = await ask('make the page dark')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const { text, reads, times } = await readStream(response)
    expect(reads).toBeGreaterThan(5)
    expect((times[0] ?? 0) - started).toBeGreaterThanOrEqual(170)
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(150)
    const events = text.split('\n\n')
    expect(events.slice(-2)).toEqual(['data: [DONE]', ''])
    for (const event of events.slice(0, -2)) expect(JSON.parse(event.replace('data: ', ''))).toHaveProperty('choices')
  })

  test('[demo] a cut stream fails for the reader and keeps what was sent before it', async () => {
    const { text, failed } = await readStream(await ask('hello [fast] [fail:cut]'))
    expect(failed).toBe(true)
    expect(text).toContain('" wrote"')
    expect(text).not.toContain('[DONE]')
    expect(text.endsWith('\n\n')).toBe(false)
  })

  test('[demo] a closed stream ends in good order, unfinished', async () => {
    const { text, failed } = await readStream(await ask('hello [fast] [fail:close]'))
    expect(failed).toBe(false)
    expect(text).not.toContain('[DONE]')
    expect(text.endsWith('\n\n')).toBe(true)
  })

  test('[demo] stops when the client goes away', async () => {
    const abort = new AbortController()
    let write: MockInstance | undefined
    const closed = new Promise<number>(resolve => {
      server.once('request', (_, response) => {
        const spy = vi.spyOn(response, 'write')
        write = spy
        response.once('close', () => resolve(spy.mock.calls.length))
      })
    })
    const response = await ask('hello [slow]', { signal: abort.signal })
    await response.body?.getReader().read()
    abort.abort()
    const written = await closed
    await new Promise(resolve => setTimeout(resolve, 900))
    expect(write?.mock.calls.length).toBe(written)
  })

  test('[demo] answers with one object when no stream is wanted', async () => {
    const response = await post({ ...bodyOf([{ role: 'user', content: 'hi' }]), stream: false })
    expect(await response.json()).toMatchObject({ object: 'chat.completion', choices: [{ finish_reason: 'stop' }] })
  })

  test('[demo] errors carry their status, headers and reason', async () => {
    const limited = await ask('[fail:rate-limit]')
    expect(limited.status).toBe(429)
    expect(limited.headers.get('retry-after')).toBe('2')
    expect(await limited.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } })
    const denied = await ask('hi', { headers: { authorization: 'Bearer wrong-key' } })
    expect(denied.status).toBe(401)
    expect(await denied.text()).not.toContain('wrong-key')
    expect((await post('{"model":')).status).toBe(400)
    expect((await post(bodyOf([]))).status).toBe(400)
    expect((await fetch(`${base}/v1/embeddings`, { method: 'POST' })).status).toBe(404)
  })

  test('[demo] a body over 64 MB is refused', async () => {
    const response = await post(' '.repeat(64 * 1024 * 1024 + 1))
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: { code: 'request_too_large' } })
    expect(await recorded()).toEqual([])
  })

  test('[demo] counts attempts: a request that fails once succeeds when it is sent again', async () => {
    const statuses = []
    for (let attempt = 0; attempt < 3; attempt++) statuses.push((await ask('hi [fast] [fail:once:server]')).status)
    expect(statuses).toEqual([500, 200, 200])
  })

  test('[demo] pages of other origins may call it', async () => {
    const preflight = await fetch(`${base}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: {
        origin: 'http://elsewhere.test',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,x-extra',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization,content-type,x-extra')
    expect((await ask('[fail:server]')).headers.get('access-control-allow-origin')).toBe('*')
  })
})

describe('the rest', () => {
  test('[demo] lists its models', async () => {
    const { data } = (await (await fetch(`${base}/v1/models`)).json()) as { data: { id: string }[] }
    expect(data.map(model => model.id)).toEqual(['embedded-small', 'embedded-large'])
  })

  test('[demo] records bodies and never keys; filters; clears', async () => {
    await ask('one [fail:server]', { headers: { authorization: 'Bearer sk-secret' } })
    await ask('two [fail:rate-limit]')
    await post('{}')
    expect(await recorded()).toEqual([...bodies])
    expect(bodies).toHaveLength(3)
    expect(JSON.stringify(await recorded())).not.toContain('sk-secret')
    expect(await recorded('?contains=two')).toEqual([bodies[1]])
    expect(await recorded('?status=400')).toEqual([{}])
    expect((await fetch(`${base}/__provider/requests`)).headers.has('access-control-allow-origin')).toBe(false)
    expect((await fetch(`${base}/__provider/requests`, { method: 'DELETE' })).status).toBe(204)
    expect(await recorded()).toEqual([])
  })

  test('[demo] keeps the last 200 requests', async () => {
    for (let index = 0; index < 205; index++) await (await ask(`number ${index}. [fail:server]`)).text()
    const kept = await recorded()
    expect(kept).toHaveLength(200)
    expect(kept).toEqual(bodies.slice(5))
  })

  test('[demo] leaves other paths to the server it is mounted in', async () => {
    expect((await fetch(`${base}/`)).status).toBe(404)
    const handler = createProviderHandler()
    const outer = createServer((request, response) => handler(request, response, () => response.writeHead(418).end()))
    await new Promise<void>(resolve => outer.listen(0, '127.0.0.1', resolve))
    const { port } = outer.address() as AddressInfo
    expect((await fetch(`http://127.0.0.1:${port}/index.html`)).status).toBe(418)
    outer.closeAllConnections()
    await new Promise(resolve => outer.close(resolve))
  })
})
