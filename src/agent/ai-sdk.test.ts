/** The adapter as a model: what it takes, what it calls, how it stops. */
import type { LanguageModelV2, LanguageModelV3, LanguageModelV3CallOptions } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { user } from '../core/builders.ts'
import { anthropicKit } from '../testing/anthropic-kit.ts'
import { chunksOf, handMade, requestTo } from '../testing/ai-sdk-kit.ts'
import { openAiKit } from '../testing/openai-kit.ts'
import { aiSdkModel } from './ai-sdk.ts'
import type { AiSdkCallOptions, AiSdkLanguageModel } from './ai-sdk-types.ts'

const stop = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} }
const hello = { type: 'text-delta', id: '0', delta: 'hi' }

describe('the model', () => {
  it('A9 takes language models of spec v2 and v3 by their types, and its calls are theirs', () => {
    const fits = (model: LanguageModelV2 | LanguageModelV3): AiSdkLanguageModel => model
    const calls = (options: Omit<AiSdkCallOptions, 'reasoning'>): LanguageModelV3CallOptions => options
    expect([fits, calls]).toHaveLength(2)
  })

  it('A9 takes language models of spec v4, whose files are wrapped, by their types', () => {
    type Data = { type: 'data'; data: Uint8Array | string } | { type: 'url'; url: URL }
    type Text = { type: 'text'; text: string }
    type Result = Text | { type: 'file'; data: Data; mediaType: string }
    type Output = { type: 'text' | 'error-text'; value: string } | { type: 'content'; value: Result[] }
    type Message =
      | { role: 'system'; content: string }
      | { role: 'user'; content: (Text | { type: 'file'; data: Data; mediaType: string; filename?: string })[] }
      | { role: 'assistant'; content: ({ type: 'text' | 'reasoning'; text: string } | { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown })[] } // biome-ignore format: one line
      | { role: 'tool'; content: { type: 'tool-result'; toolCallId: string; toolName: string; output: Output }[] }
    type LanguageModelV4 = Pick<AiSdkLanguageModel, 'provider' | 'modelId'> & {
      readonly specificationVersion: 'v4'
      doStream(options: {
        prompt: Message[]
        abortSignal?: AbortSignal
      }): PromiseLike<{ stream: ReadableStream<object> }>
    }
    const fits = (model: LanguageModelV4): AiSdkLanguageModel => model
    expect(fits).toBeInstanceOf(Function)
  })

  it.each([
    ['a string', 'openai/gpt'],
    ['null', null],
    ['an unknown spec', { ...handMade([]), specificationVersion: 'v5' }],
    ['spec v1', { ...handMade([]), specificationVersion: 'v1' }],
    ['no doStream', { specificationVersion: 'v3', provider: 'p', modelId: 'm' }],
    ['no provider', { ...handMade([]), provider: '' }],
    ['no model id', { ...handMade([]), modelId: undefined }],
  ])('A9 refuses %s', (_what, model) => {
    expect(() => aiSdkModel(model as never)).toThrow(expect.objectContaining({ name: 'AgentError', code: 'model' }))
  })

  it('A1 is configured by its options, and by the language model where they are silent', () => {
    expect(aiSdkModel(handMade([])).config).toEqual({ provider: 'hand.chat', model: 'made-1' })
    const model = aiSdkModel(handMade([]), {
      provider: 'house',
      modelId: 'best',
      contextWindow: 8_000,
      maxTokens: 99,
      temperature: 0,
      reasoningEffort: 'low',
      stop: ['END'],
      systemPromptUpdate: 'in-history',
    })
    expect(model).toMatchObject({ contextWindow: 8_000, systemPromptUpdate: 'in-history' })
    expect(model.config).toEqual({
      provider: 'house',
      model: 'best',
      maxTokens: 99,
      temperature: 0,
      reasoningEffort: 'low',
      stop: ['END'],
    })
  })

  it('A9 calls doStream once, with everything of the request', async () => {
    const made = handMade([stop])
    const providerOptions = { hand: { user: 'u' }, other: { x: 1 } }
    const model = aiSdkModel(made, {
      maxTokens: 9,
      temperature: 1,
      reasoningEffort: 'low',
      stop: ['E'],
      providerOptions,
    })
    const inputSchema = { type: 'object' }
    const { signal } = new AbortController()
    await chunksOf(
      model,
      requestTo(model, [user('hi')], { signal, tools: [{ name: 't', description: 'd', inputSchema }] }),
    )
    expect(made.calls).toEqual([
      {
        prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
        tools: [{ type: 'function', name: 't', description: 'd', inputSchema }],
        maxOutputTokens: 9,
        temperature: 1,
        stopSequences: ['E'],
        providerOptions: { hand: { reasoningEffort: 'low', user: 'u' }, other: { x: 1 } },
        abortSignal: expect.any(AbortSignal) as AbortSignal,
        includeRawChunks: false,
      },
    ])
  })

  it('A1 gives the provider a signal of its own, which aborts with the request', async () => {
    const made = handMade([stop])
    const abort = new AbortController()
    const model = aiSdkModel(made)
    await chunksOf(model, requestTo(model, [], { signal: abort.signal }))
    expect(made.calls[0]?.abortSignal).not.toBe(abort.signal)
    expect(made.calls[0]?.abortSignal?.aborted).toBe(false)

    let given: AbortSignal | undefined
    const aborting = aiSdkModel({
      ...made,
      doStream: ({ abortSignal }) => {
        given = abortSignal
        abort.abort('enough')
        return Promise.reject(new DOMException('aborted', 'AbortError'))
      },
    })
    expect(await chunksOf(aborting, requestTo(aborting, [], { signal: abort.signal }))).toEqual([])
    expect([given?.aborted, given?.reason]).toEqual([true, 'enough'])
  })

  it.each([
    ['https://api.example.com/v1', true],
    ['http://192.168.0.7:11434/v1', true],
    ['http://localhost.example.com', true],
    ['http://127.example.com', true],
    ['/v1', true],
    [undefined, true],
    [7, true],
    ['http://localhost:11434/v1', false],
    ['http://models.localhost/v1', false],
    ['http://127.0.0.1:8080', false],
    ['http://127.9.9.9', false],
    ['http://[::1]:8080/v1', false],
    ['HTTP://LOCALHOST', false],
  ])('A1 a model at %s uses the network: %s', (baseURL, usesNetwork) => {
    const model = (config: object, options = {}) =>
      aiSdkModel({ ...handMade([]), config } as AiSdkLanguageModel, options)
    expect(model({ baseURL }).usesNetwork).toBe(usesNetwork)
    expect(model({ url: () => baseURL }).usesNetwork).toBe(usesNetwork)
    expect(model({ baseURL }, { usesNetwork: !usesNetwork }).usesNetwork).toBe(!usesNetwork)
  })

  it('A1 a model that does not say where it is uses the network, unless an option says otherwise', () => {
    const url = () => {
      throw new TypeError('which?')
    }
    expect(aiSdkModel(handMade([])).usesNetwork).toBe(true)
    expect(aiSdkModel(handMade([]), { usesNetwork: false }).usesNetwork).toBe(false)
    expect(aiSdkModel({ ...handMade([]), config: { url } } as AiSdkLanguageModel).usesNetwork).toBe(true)
    expect(openAiKit(() => []).model.usesNetwork).toBe(true)
    expect(anthropicKit(() => []).model.usesNetwork).toBe(true)
  })

  it('A9 leaves out what is not set, and gives spec v4 its reasoning level', async () => {
    const plain = handMade([stop])
    await chunksOf(aiSdkModel(plain))
    expect(Object.keys(plain.calls[0] ?? {}).sort()).toEqual(['abortSignal', 'includeRawChunks', 'prompt'])
    const made = handMade([stop], 'v4')
    await chunksOf(aiSdkModel(made, { reasoningEffort: 'high' }))
    expect(made.calls[0]).toMatchObject({ reasoning: 'high' })
    expect(made.calls[0]).not.toHaveProperty('providerOptions')
  })

  it('[A1, A7] ends without a word when it is aborted, before, while and after the call is made', async () => {
    const aborted = AbortSignal.abort({ kind: 'user' })
    const model = aiSdkModel(handMade([hello]))
    expect(await chunksOf(model, requestTo(model, [], { signal: aborted }))).toEqual([])

    for (const when of ['calling', 'reading']) {
      const abort = new AbortController()
      let cancelled = false
      const stream = new ReadableStream({ cancel: () => void (cancelled = true) })
      const hanging = aiSdkModel({
        ...handMade([]),
        doStream: async () => {
          if (when === 'calling') abort.abort()
          return { stream }
        },
      })
      const chunks = chunksOf(hanging, requestTo(hanging, [], { signal: abort.signal }))
      setTimeout(() => abort.abort(), 1)
      expect(await chunks).toEqual([])
      expect(cancelled).toBe(true)
    }

    const abort = new AbortController()
    const echo = aiSdkModel({
      ...handMade([]),
      doStream: () => {
        abort.abort()
        return Promise.reject(new DOMException('aborted', 'AbortError'))
      },
    })
    expect(await chunksOf(echo, requestTo(echo, [], { signal: abort.signal }))).toEqual([])
  })
})
