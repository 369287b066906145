import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { bodyOf } from './collect-answer.ts'
import { createEmbeddedFetch, type EmbeddedFetch, embeddedBaseURL } from './fetch.ts'
import { stallMs } from './stream.ts'

let embedded: EmbeddedFetch

beforeEach(() => {
  embedded = createEmbeddedFetch()
})
afterEach(() => {
  vi.useRealTimers()
})

const post = (body: unknown, init: RequestInit = {}) =>
  embedded(`${embeddedBaseURL}/chat/completions`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  })
const ask = (text: string, init?: RequestInit) => post(bodyOf([{ role: 'user', content: text }]), init)

/** Reads to the end; what came, when, and the error that ended it. */
async function readAll(response: Response): Promise<{ texts: string[]; times: number[]; error: unknown }> {
  const texts: string[] = []
  const times: number[] = []
  const decoder = new TextDecoder()
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      texts.push(decoder.decode(next.value))
      times.push(Date.now())
    }
    return { texts, times, error: null }
  } catch (error) {
    return { texts, times, error }
  }
}

describe('POST /v1/chat/completions', () => {
  test('[demo] streams one event at a time, in order, at the pace of the answer', async () => {
    vi.useFakeTimers()
    const response = await ask('make the page dark')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const started = Date.now()
    const reading = readAll(response)
    await vi.runAllTimersAsync()
    const { texts, times, error } = await reading
    expect(error).toBeNull()
    expect(texts.length).toBeGreaterThan(5)
    expect((times[0] ?? 0) - started).toBeGreaterThanOrEqual(180)
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(20)
    expect(texts.at(-1)).toBe('data: [DONE]\n\n')
    for (const text of texts.slice(0, -1))
      expect(JSON.parse(/^data: (.*)\n\n$/.exec(text)?.[1] ?? '')).toHaveProperty('choices')
  })

  test('[demo] makes nothing before it is read', async () => {
    vi.useFakeTimers()
    const response = await ask('hello')
    await vi.advanceTimersByTimeAsync(60_000)
    const reader = response.body?.getReader()
    let isRead = false
    void reader?.read().then(() => {
      isRead = true
    })
    await vi.advanceTimersByTimeAsync(100)
    expect(isRead).toBe(false)
    await vi.advanceTimersByTimeAsync(200)
    expect(isRead).toBe(true)
    await reader?.cancel()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('[demo] a cut stream fails for the reader and keeps what was sent before it', async () => {
    const { texts, error } = await readAll(await ask('hello [fast] [fail:cut]'))
    expect(error).toBeInstanceOf(TypeError)
    expect(texts.join('')).toContain('" wrote"')
    expect(texts.join('')).not.toContain('[DONE]')
    expect(texts.at(-1)).toMatch(/^data: .*[^\n]$/)
  })

  test('[demo] a closed stream ends in good order, unfinished', async () => {
    const { texts, error } = await readAll(await ask('hello [fast] [fail:close]'))
    expect(error).toBeNull()
    expect(texts.join('')).not.toContain('[DONE]')
    expect(texts.at(-1)).toMatch(/\n\n$/)
  })

  test('[demo] a stalled stream is silent, and can be aborted', async () => {
    vi.useFakeTimers()
    const abort = new AbortController()
    const reading = readAll(await ask('hello [fast] [fail:stall]', { signal: abort.signal }))
    await vi.advanceTimersByTimeAsync(stallMs / 2)
    abort.abort(new Error('enough'))
    const { texts, error } = await reading
    expect(texts).toHaveLength(4)
    expect(error).toMatchObject({ message: 'enough' })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('[demo] an aborted request rejects and is not answered', async () => {
    await expect(ask('hello [fast]', { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
    const abort = new AbortController()
    const asked = ask('hello [fast]', { signal: abort.signal })
    abort.abort()
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
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
    expect((await ask('hi', { headers: { authorization: 'Bearer wrong-key' } })).status).toBe(401)
    expect((await post('{"model":')).status).toBe(400)
    expect((await embedded(`${embeddedBaseURL}/embeddings`, { method: 'POST' })).status).toBe(404)
  })

  test('[demo] counts attempts: a request that fails once succeeds when it is sent again', async () => {
    const statuses = []
    for (let attempt = 0; attempt < 3; attempt++) statuses.push((await ask('hi [fast] [fail:once:server]')).status)
    expect(statuses).toEqual([500, 200, 200])
  })
})

test('[demo] lists its models', async () => {
  const response = await embedded(new Request(`${embeddedBaseURL}/models`))
  const { data } = (await response.json()) as { data: { id: string }[] }
  expect(data.map(model => model.id)).toEqual(['embedded-small', 'embedded-large'])
})

test('[demo] serves the AI SDK', async () => {
  const provider = createOpenAICompatible({ baseURL: embeddedBaseURL, name: 'embedded', fetch: embedded })
  const { content, finishReason } = await provider.chatModel('embedded-small').doGenerate({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
  })
  expect(content).toMatchObject([{ type: 'text' }])
  expect(finishReason.unified).toBe('stop')
})
