import { MessageId } from 'palimpsest/core'
import { scriptedModel } from 'palimpsest/testing'
import { type Model, ModelFailure, type ModelRequest } from 'palimpsest/worker'
import { afterEach, expect, test, vi } from 'vitest'
import { lazyModel } from './lazy-model.ts'

const config = { provider: 'scripted', model: 'scripted-1' }
const request = (signal = new AbortController().signal): ModelRequest => ({
  sessionId: 's',
  header: { config },
  messages: [{ id: MessageId('m'), role: 'user', content: [{ type: 'text', text: 'hi' }], source: { kind: 'user' } }],
  signal,
  readBlob: () => Promise.resolve(null),
})
const chunksOf = async (model: Model, signal?: AbortSignal) => {
  const types: string[] = []
  for await (const chunk of model.stream(request(signal))) types.push(chunk.type)
  return types
}

afterEach(() => {
  vi.useRealTimers()
})

test('[demo] loads nothing until it is asked, then passes everything on', async () => {
  const load = vi.fn(() => Promise.resolve<Model>(scriptedModel([{ text: 'hello' }])))
  const model = lazyModel({ config, contextWindow: 5, load })
  expect(model).toMatchObject({ config, contextWindow: 5 })
  expect(load).not.toHaveBeenCalled()
  expect((await chunksOf(model)).at(-1)).toBe('finish')
})

test('[demo] code that cannot be loaded fails the call in words, and is loaded again for the next', async () => {
  const load = vi
    .fn<() => Promise<Model>>()
    .mockRejectedValueOnce(new TypeError('Failed to fetch dynamically imported module: https://x.test/a.js'))
    .mockResolvedValue(scriptedModel([{ text: 'here now' }]))
  const model = lazyModel({ config, load })
  const failed = await chunksOf(model).catch((error: unknown) => error)
  expect(failed).toBeInstanceOf(ModelFailure)
  expect(failed).toMatchObject({
    failure: {
      code: 'TRANSPORT',
      message: expect.stringContaining('could not be loaded. Check the network') as string,
    },
  })
  expect((await chunksOf(model)).at(-1)).toBe('finish')
})

test('[demo] code that never comes is given up', async () => {
  vi.useFakeTimers()
  const asked = chunksOf(lazyModel({ config, load: () => new Promise(() => {}), timeoutMs: 1_000 }))
  const failed = expect(asked).rejects.toMatchObject({ failure: { code: 'TIMEOUT' } })
  await vi.advanceTimersByTimeAsync(1_000)
  await failed
  expect(vi.getTimerCount()).toBe(0)
})

test('[demo] a turn that was stopped while code was loading asks no model', async () => {
  const abort = new AbortController()
  const inner = scriptedModel([{ text: 'unheard' }])
  const model = lazyModel({ config, load: () => Promise.resolve(inner) })
  abort.abort()
  expect(await chunksOf(model, abort.signal)).toEqual([])
  expect(inner.requests).toHaveLength(0)
})
