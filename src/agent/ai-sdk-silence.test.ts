/** Providers that fall silent. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { StreamChunk } from '../core/events.ts'
import { handMade, requestTo } from '../testing/ai-sdk-kit.ts'
import { type AiSdkModelOptions, aiSdkModel } from './ai-sdk.ts'
import type { AiSdkLanguageModel } from './ai-sdk-types.ts'

const stop = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} }
const hello = { type: 'text-delta', id: '0', delta: 'hi' }

/** A language model whose stream a test writes by hand, and that heeds no signal. */
function byHand(headers?: Record<string, string>) {
  let controller: ReadableStreamDefaultController<unknown> | undefined
  const seen = { cancelled: 0, signal: undefined as AbortSignal | undefined }
  const stream = new ReadableStream<unknown>({
    start: each => void (controller = each),
    cancel: () => void (seen.cancelled += 1),
  })
  let begin = (): void => undefined
  const begun = new Promise<void>(resolve => (begin = resolve))
  const languageModel: AiSdkLanguageModel = {
    ...handMade([]),
    doStream: async ({ abortSignal }) => {
      seen.signal = abortSignal
      await begun
      return { stream, ...(headers === undefined ? {} : { response: { headers } }) }
    },
  }
  return {
    ...{ languageModel, stream, seen, begin },
    write: (part: unknown) => controller?.enqueue(part),
    close: () => controller?.close(),
  }
}

/** What a call yields, while it does. */
function listen(languageModel: AiSdkLanguageModel, options: AiSdkModelOptions, signal?: AbortSignal) {
  const model = aiSdkModel(languageModel, options)
  const heard = { chunks: [] as StreamChunk[], isOver: false }
  const run = async () => {
    const request = requestTo(model, [], signal === undefined ? {} : { signal })
    for await (const chunk of model.stream(request)) heard.chunks.push(chunk)
    heard.isOver = true
  }
  return { heard, over: run() }
}

const failureOf = ({ chunks }: { readonly chunks: readonly StreamChunk[] }) => {
  const last = chunks.at(-1)
  return last?.type === 'finish' && last.reason.kind === 'error' ? last.reason.failure : last
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('silence', () => {
  it('A1 before the first part ends the call, with a signal, and a stream that comes too late is let go of', async () => {
    const { languageModel, seen, begin, stream } = byHand()
    const { heard, over } = listen(languageModel, { idleTimeoutMs: 2_000 })
    await vi.advanceTimersByTimeAsync(1_999)
    expect([heard.isOver, seen.signal?.aborted]).toEqual([false, false])
    await vi.advanceTimersByTimeAsync(1)
    await over
    expect(failureOf(heard)).toEqual({
      code: 'TIMEOUT',
      message: 'The provider sent nothing for 2 seconds, so the call was ended.',
    })
    expect(heard.chunks).toHaveLength(1)
    expect(seen.signal?.aborted).toBe(true)
    expect(seen.signal?.reason).toMatchObject({ name: 'TimeoutError' })
    expect(vi.getTimerCount()).toBe(0)
    begin()
    await vi.advanceTimersByTimeAsync(0)
    expect([seen.cancelled, stream.locked]).toEqual([1, false])
  })

  it('A1 between parts ends the call; each part starts it anew, whatever it is', async () => {
    const { languageModel, seen, begin, stream, write } = byHand({ 'x-request-id': 'req-7' })
    const { heard, over } = listen(languageModel, { idleTimeoutMs: 1_000 })
    begin()
    for (const part of [{ type: 'stream-start', warnings: [] }, hello, { type: 'ping' }, hello]) {
      await vi.advanceTimersByTimeAsync(900)
      write(part)
    }
    await vi.advanceTimersByTimeAsync(999)
    expect(heard.isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    await over
    expect(heard.chunks.map(chunk => chunk.type)).toEqual(['block-start', 'text-delta', 'text-delta', 'finish'])
    expect(failureOf(heard)).toEqual({
      code: 'TIMEOUT',
      message: 'The provider sent nothing for 1 second, so the call was ended.',
      requestId: 'req-7',
    })
    expect([seen.cancelled, stream.locked, seen.signal?.aborted]).toEqual([1, false, true])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('A1 is two minutes, unless another time or none is asked for', async () => {
    const usual = listen(byHand().languageModel, {})
    await vi.advanceTimersByTimeAsync(119_999)
    expect(usual.heard.isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(failureOf(usual.heard)).toMatchObject({ message: expect.stringContaining('120 seconds') as string })
    await usual.over

    for (const idleTimeoutMs of [0, Infinity, 2 ** 31]) {
      const { languageModel, begin, write } = byHand()
      const patient = listen(languageModel, { idleTimeoutMs })
      expect(vi.getTimerCount()).toBe(0)
      await vi.advanceTimersByTimeAsync(10_000_000)
      begin()
      write(hello)
      await vi.advanceTimersByTimeAsync(10_000_000)
      write(stop)
      await patient.over
      expect(patient.heard.chunks.at(-1)).toEqual({ type: 'finish', reason: { kind: 'stop' } })
    }
  })

  it.each([-1, Number.NaN])('A1 a time of %s makes no sense', idleTimeoutMs => {
    expect(() => aiSdkModel(handMade([]), { idleTimeoutMs })).toThrow(
      expect.objectContaining({ name: 'AgentError', code: 'setup' }),
    )
  })

  it.each([
    ['finishes', [hello, stop], 'finish'],
    ['breaks', [hello, new Error('broken')], 'finish'],
    ['ends early', [hello], 'finish'],
  ])('A1 a call that %s leaves no timer, no lock and no listener', async (_what, parts, last) => {
    const made = handMade(parts)
    const streams: ReadableStream<unknown>[] = []
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const { heard, over } = listen(
      {
        ...made,
        doStream: async options => {
          const answer = await made.doStream(options)
          streams.push(answer.stream)
          return answer
        },
      },
      {},
      signal,
    )
    await over
    expect(heard.chunks.at(-1)?.type).toBe(last)
    expect(vi.getTimerCount()).toBe(0)
    expect(streams.map(stream => stream.locked)).toEqual([false])
    const gone = removed.mock.calls.map(([, listener]) => listener)
    expect(added.mock.calls.length).toBeGreaterThan(0)
    expect(added.mock.calls.filter(([, listener]) => !gone.includes(listener))).toEqual([])
  })

  it('[A1, A7] an abort of the request reaches the provider with its reason, and is no failure', async () => {
    const abort = new AbortController()
    const { languageModel, seen, begin, write } = byHand()
    const { heard, over } = listen(languageModel, { idleTimeoutMs: 1_000 }, abort.signal)
    begin()
    write(hello)
    await vi.advanceTimersByTimeAsync(10)
    abort.abort('enough')
    await over
    expect(heard.chunks.map(chunk => chunk.type)).toEqual(['block-start', 'text-delta'])
    expect([seen.signal?.reason, seen.cancelled, vi.getTimerCount()]).toEqual(['enough', 1, 0])
  })

  it('A1 a reader that stops listening lets go of the stream, and nothing is aborted for it', async () => {
    const { languageModel, seen, begin, write, stream } = byHand()
    const model = aiSdkModel(languageModel)
    begin()
    write(hello)
    for await (const _chunk of model.stream(requestTo(model))) break
    await vi.advanceTimersByTimeAsync(0)
    expect([seen.cancelled, stream.locked, seen.signal?.aborted, vi.getTimerCount()]).toEqual([1, false, false, 0])
  })

  it('A1 time a listener takes is not silence', async () => {
    const { languageModel, begin, write } = byHand()
    const model = aiSdkModel(languageModel, { idleTimeoutMs: 1_000 })
    begin()
    write(hello)
    write(stop)
    const chunks = model.stream(requestTo(model))[Symbol.asyncIterator]()
    await chunks.next()
    await vi.advanceTimersByTimeAsync(5_000)
    const types: (string | undefined)[] = []
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) types.push(next.value.type)
    expect(types).toEqual(['text-delta', 'block-end', 'finish'])
  })
})
