/** Stream parts of every spec as our chunks. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assistant, toolCall, toolResult } from '../core/builders.ts'
import type { AssistantMessage, StreamChunk } from '../core/events.ts'
import { snapshotJson } from '../core/json.ts'
import { assembleStream, StreamAssembler } from '../core/stream.ts'
import { chunksOf, handMade, requestTo } from '../testing/ai-sdk-kit.ts'
import { aiSdkModel } from './ai-sdk.ts'
import type { AiSdkLanguageModel } from './ai-sdk-types.ts'

const usageV3 = {
  inputTokens: { total: 100, noCache: 30, cacheRead: 60, cacheWrite: 10 },
  outputTokens: { total: 9, text: 4, reasoning: 5 },
}
const finishV3 = (unified: string, raw?: string) => ({ type: 'finish', finishReason: { unified, raw }, usage: usageV3 })
const stop = finishV3('stop')
const say = (text: string, id = '0') => [
  { type: 'text-start', id },
  { type: 'text-delta', id, delta: text },
  { type: 'text-end', id },
]
const callPart = (toolCallId: string, input: unknown = '{}', toolName = 'read') => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input,
})
const assembled = async (parts: readonly unknown[], version: AiSdkLanguageModel['specificationVersion'] = 'v3') =>
  assembleStream(await chunksOf(aiSdkModel(handMade(parts, version))))
const finishOf = async (...parts: readonly unknown[]) => (await assembled(parts)).finish
const failureOf = async (...parts: readonly unknown[]) => {
  const finish = await finishOf(...parts)
  return finish.kind === 'error' ? finish.failure.code : finish.kind
}

describe('stream parts', () => {
  it('A9 maps text, reasoning, a call, usage and finish, in this order and under stable indexes', async () => {
    const parts = [
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'r' },
      { type: 'reasoning-start', id: 'r0' },
      { type: 'reasoning-delta', id: 'r0', delta: 'h' },
      { type: 'reasoning-delta', id: 'r0', delta: 'm' },
      { type: 'reasoning-end', id: 'r0' },
      { type: 'text-start', id: 't0' },
      { type: 'text-delta', id: 't0', delta: 'So' },
      { type: 'tool-input-start', id: 'c', toolName: 'read' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a"' },
      { type: 'text-delta', id: 't0', delta: '.' },
      { type: 'tool-input-delta', id: 'c', delta: ':1}' },
      { type: 'tool-input-end', id: 'c' },
      callPart('c', '{"a":1}'),
      { type: 'text-end', id: 't0' },
      finishV3('tool-calls'),
    ]
    expect(await chunksOf(aiSdkModel(handMade(parts)))).toEqual<StreamChunk[]>([
      { type: 'block-start', index: 0, blockType: 'reasoning' },
      { type: 'reasoning-delta', index: 0, text: 'h' },
      { type: 'reasoning-delta', index: 0, text: 'm' },
      { type: 'block-end', index: 0, block: { type: 'reasoning', text: 'hm' } },
      { type: 'block-start', index: 1, blockType: 'text' },
      { type: 'text-delta', index: 1, text: 'So' },
      { type: 'block-start', index: 2, blockType: 'tool-call' },
      { type: 'tool-call-delta', index: 2, id: 'c', name: 'read', argumentsDelta: '{"a"' },
      { type: 'text-delta', index: 1, text: '.' },
      { type: 'tool-call-delta', index: 2, id: 'c', name: 'read', argumentsDelta: ':1}' },
      { type: 'block-end', index: 2, block: toolCall('c', '{"a":1}') },
      { type: 'block-end', index: 1, block: { type: 'text', text: 'So.' } },
      {
        type: 'usage',
        usage: { inputTokens: 30, outputTokens: 9, cacheReadTokens: 60, cacheWriteTokens: 10, reasoningTokens: 5 },
      },
      { type: 'finish', reason: { kind: 'tool-calls' } },
    ])
  })

  it('A9 an id that is used again is a new block', async () => {
    const think = [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'b' },
      { type: 'reasoning-end', id: 'r' },
    ]
    const { blocks } = await assembled([...say('a'), ...think, ...say('c'), ...think, stop])
    expect(blocks.map(block => 'text' in block && block.text)).toEqual(['a', 'b', 'c', 'b'])
  })

  it('A9 a call needs no input parts, and what it says at its end counts', async () => {
    expect((await assembled([callPart('c', '{"a":1}'), stop])).blocks).toEqual([toolCall('c', '{"a":1}')])
    const { blocks } = await assembled([
      { type: 'tool-input-start', id: 'c', toolName: 'read' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a":' },
      callPart('c', '{"a":2}', 'write'),
      stop,
    ])
    expect(blocks).toEqual([toolCall('c', '{"a":2}', 'write')])
    expect((await assembled([callPart('c', { a: 1 }), callPart('d', null), callPart('', ''), stop])).blocks).toEqual([
      toolCall('c', '{"a":1}'),
      toolCall('d', ''),
      toolCall('call-2', ''),
    ])
  })

  it('A9 calls the provider made itself are not ours to run', async () => {
    const { blocks, finish } = await assembled([
      { type: 'tool-input-start', id: 'w', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-input-delta', id: 'w', delta: '{}' },
      { ...callPart('w', '{}', 'web_search'), providerExecuted: true },
      { type: 'tool-result', toolCallId: 'w', toolName: 'web_search', result: {} },
      ...say('found'),
      stop,
    ])
    expect(blocks).toEqual([{ type: 'text', text: 'found' }])
    expect(finish).toEqual({ kind: 'stop' })
  })

  it('A9 keeps what a provider wants back, merged, as JSON only', async () => {
    const { replayState, blocks } = await assembled([
      { type: 'reasoning-start', id: 'r', providerMetadata: { anthropic: { a: 1, gone: undefined } } },
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'reasoning-delta', id: 'r', delta: '', providerMetadata: { anthropic: { signature: 'xyz' } } },
      { type: 'reasoning-end', id: 'r', providerMetadata: { bad: () => 1, worse: 'text' } },
      ...say('so'),
      { ...callPart('c'), providerMetadata: { google: { thoughtSignature: 'abc' } } },
      { ...callPart('d'), providerMetadata: { big: { n: 1n } } },
      stop,
    ])
    expect(blocks).toHaveLength(4)
    expect(replayState).toEqual({
      blocks: [{ anthropic: { a: 1, signature: 'xyz' } }, null, { google: { thoughtSignature: 'abc' } }, null],
    })
    expect(await assembled([...say('plain'), stop])).not.toHaveProperty('replayState')
  })

  it('A9 an answer goes back as it came: parts, log, prompt', async () => {
    const metadata = { anthropic: { signature: 'xyz' } }
    const made = handMade([
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'reasoning-end', id: 'r', providerMetadata: metadata },
      ...say(' \n', 'blank'),
      callPart('c', '{"a":1}'),
      stop,
    ])
    const model = aiSdkModel(made)
    const answer = await chunksOf(model)
    const assembler = new StreamAssembler()
    for (const chunk of answer) assembler.push(chunk)
    const { blocks, replayState } = assembler.assemble({ dropBlankText: true })
    const source = { kind: 'model' as const, provider: 'hand.chat', model: 'made-1', replayState: replayState ?? null }
    const message: AssistantMessage = { ...assistant(blocks), source }
    await chunksOf(model, requestTo(model, [message, toolResult('c')]))
    expect(made.calls[1]?.prompt[0]).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: metadata },
        { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: { a: 1 } },
      ],
    })
  })

  it.each<[string, unknown, object | undefined]>([
    [
      'v2',
      { inputTokens: 100, outputTokens: 9, totalTokens: 109 },
      { inputTokens: 100, outputTokens: 9, totalTokens: 109 },
    ],
    [
      'v2, cached and reasoning',
      { inputTokens: 100, outputTokens: 9, totalTokens: 109, cachedInputTokens: 60, reasoningTokens: 5 },
      { inputTokens: 40, outputTokens: 9, totalTokens: 109, cacheReadTokens: 60, reasoningTokens: 5 },
    ],
    [
      'v2, an input without its cache',
      { inputTokens: 10, outputTokens: 9, totalTokens: undefined, cachedInputTokens: 60 },
      { inputTokens: 10, outputTokens: 9, cacheReadTokens: 60 },
    ],
    [
      'v3, no split',
      { inputTokens: { total: 100, cacheRead: 60 }, outputTokens: { total: 9, reasoning: 5 } },
      { inputTokens: 40, outputTokens: 9, cacheReadTokens: 60, reasoningTokens: 5 },
    ],
    [
      'v3, a cache under a name of its own',
      {
        inputTokens: { total: 120, noCache: 120, cacheRead: 0 },
        outputTokens: { total: 40, reasoning: 12 },
        raw: { prompt_tokens: 120, prompt_cache_hit_tokens: 100, prompt_cache_miss_tokens: 20 },
      },
      { inputTokens: 20, outputTokens: 40, cacheReadTokens: 100, reasoningTokens: 12 },
    ],
    [
      'v3, a cache under both names',
      {
        inputTokens: { total: 120, noCache: 50, cacheRead: 70 },
        outputTokens: { total: 4 },
        raw: { prompt_cache_hit_tokens: 100 },
      },
      { inputTokens: 50, outputTokens: 4, cacheReadTokens: 70 },
    ],
    ['v3, zeros', { inputTokens: { total: 0 }, outputTokens: { total: 0 } }, { inputTokens: 0, outputTokens: 0 }],
    ['v3, input only', { inputTokens: { total: 7 }, outputTokens: {} }, { inputTokens: 7, outputTokens: 0 }],
    ['nothing', { inputTokens: { total: undefined }, outputTokens: {} }, undefined],
    ['null', null, undefined],
    ['nonsense', { inputTokens: Number.NaN, outputTokens: -3, totalTokens: '7' }, undefined],
  ])('A9 counts tokens apart: %s', async (_what, usage, expected) => {
    expect((await assembled([...say('x'), { ...stop, usage }])).usage).toEqual(expected)
  })

  it.each([
    ['stop', 'stop'],
    ['length', 'max-tokens'],
    ['other', 'stop'],
    ['unknown', 'stop'],
    ['tool-calls', 'stop'],
    ['something new', 'stop'],
    ['content-filter', 'CONTENT_FILTER'],
    ['error', 'SERVER'],
    ['interrupted', 'TRANSPORT'],
  ])('A9 finish %s after text is %s, in every spelling', async (reason, expected) => {
    expect(await failureOf(...say('x'), finishV3(reason))).toBe(expected)
    const { finish } = await assembled([...say('x'), { type: 'finish', finishReason: reason, usage: {} }], 'v2')
    expect(finish.kind === 'error' ? finish.failure.code : finish.kind).toBe(expected)
  })

  it.each([
    ['stop', 'stop'],
    ['length', 'max-tokens'],
    ['other', 'EMPTY_RESPONSE'],
    ['unknown', 'EMPTY_RESPONSE'],
    ['tool-calls', 'EMPTY_RESPONSE'],
    ['', 'EMPTY_RESPONSE'],
  ])('A9 finish %s after nothing is %s', async (reason, expected) => {
    expect(await failureOf(finishV3(reason))).toBe(expected)
    expect(await failureOf(...say(' \n'), finishV3(reason))).toBe(expected)
  })

  it('A9 a call decides, whatever the finish is called; a provider that gave up is not believed', async () => {
    for (const reason of ['stop', 'tool-calls', 'other']) {
      expect(await finishOf(callPart('c'), finishV3(reason))).toEqual({ kind: 'tool-calls' })
    }
    expect(await failureOf(...say('x'), finishV3('other', 'insufficient_system_resource'))).toBe('SERVER')
    expect(await failureOf(...say('x'), finishV3('other', 'eos'))).toBe('stop')
  })

  it('A9 half a call is a failure, except when it was cut by length', async () => {
    const half = [
      { type: 'tool-input-start', id: 'c', toolName: 'rm' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a":' },
    ]
    expect(await failureOf(...half, stop)).toBe('TRANSPORT')
    expect(await failureOf(...half, finishV3('tool-calls'))).toBe('TRANSPORT')
    const { finish, blocks } = await assembled([...say('x'), ...half, finishV3('length')])
    expect([finish, blocks]).toEqual([{ kind: 'max-tokens' }, [{ type: 'text', text: 'x' }]])
  })

  it('A9 an error part counts only when the answer ends in an error, or not at all', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    expect(await failureOf(error, ...say('x'), stop)).toBe('stop')
    expect(await failureOf(...say('x'), error, finishV3('error'))).toBe('OVERLOADED')
    expect(await failureOf(...say('x'), error)).toBe('OVERLOADED')
    expect(await failureOf(...say('x'))).toBe('TRANSPORT')
    expect(await failureOf()).toBe('EMPTY_RESPONSE')
    expect(await failureOf({ type: 'stream-start', warnings: [] })).toBe('EMPTY_RESPONSE')
    expect(await failureOf({ type: 'response-metadata', id: 'r' })).toBe('TRANSPORT')
    expect(await failureOf(...say('x'), new TypeError('network error'))).toBe('TRANSPORT')
  })

  it('A9 an answer with a part that could not be read is a failure, and no tool of it runs', async () => {
    const torn = { type: 'error', error: Object.assign(new SyntaxError('no JSON'), { name: 'AI_JSONParseError' }) }
    expect(await failureOf(...say('Do '), torn, ...say('delete it.'), stop)).toBe('TRANSPORT')
    expect(await failureOf(torn, callPart('c', '{"size":1}', 'rm'), finishV3('tool-calls'))).toBe('TRANSPORT')
    const unknown = { type: 'error', error: Object.assign(new TypeError('what?'), { name: 'AI_TypeValidationError' }) }
    expect(await failureOf(unknown, ...say('fine'), stop)).toBe('stop')
  })

  it.each([
    ['bytes', { mediaType: 'image/png', data: new Uint8Array(12_345) }, '[image/png, 12 kB, not kept]'],
    ['base64', { mediaType: 'image/png', data: 'AAAAAA==' }, '[image/png, 4 bytes, not kept]'],
    ['a data URL', { mediaType: 'audio/mpeg', data: 'data:audio/mpeg;base64,AAAA' }, '[audio/mpeg, 3 bytes, not kept]'],
    ['wrapped', { mediaType: 'image/png', data: { type: 'data', data: new Uint8Array(7) } }, '[image/png, 7 bytes, not kept]'], // biome-ignore format: one line
    ['elsewhere', { mediaType: 'image/png', data: { type: 'url', url: new URL('https://a.test/b.png') } }, '[image/png, https://a.test/b.png, not kept]'], // biome-ignore format: one line
    ['of no kind', {}, '[file, not kept]'],
  ])('A9 a file the model generates is named where it would stand: %s', async (_what, file, text) => {
    const warnings: string[] = []
    const parts = [...say('Look:'), { type: 'file', ...file }, { type: 'file', ...file }, ...say('Nice?'), stop]
    const chunks = await chunksOf(aiSdkModel(handMade(parts), { onWarning: warning => warnings.push(warning) }))
    const { blocks, finish } = assembleStream(chunks)
    expect(blocks).toEqual(['Look:', text, text, 'Nice?'].map(each => ({ type: 'text', text: each })))
    expect(finish).toEqual({ kind: 'stop' })
    expect(warnings).toEqual(Array(2).fill(`A file of the answer was not kept: ${text}`))
  })

  it('A9 an answer that is a file only is an answer', async () => {
    const parts = [{ type: 'file', mediaType: 'image/png', data: '' }, finishV3('other')]
    expect((await assembled(parts)).finish).toEqual({ kind: 'stop' })
  })

  it('A9 what a provider warns of, and sources, are told and change nothing', async () => {
    const warnings: string[] = []
    const parts = [
      {
        type: 'stream-start',
        warnings: [
          { type: 'unsupported', feature: 'seed', details: 'not by this model' },
          { type: 'unsupported-setting', setting: 'topK' },
          { type: 'other', message: 'Mind the key hunter2' },
          null,
        ],
      },
      { type: 'source', sourceType: 'url', id: '1', url: 'https://a.test/', title: 'A' },
      { type: 'source', sourceType: 'document', id: '2', mediaType: 'text/plain', title: 'B', filename: 'b.txt' },
      { type: 'reasoning-file', mediaType: 'image/png', data: 'AAAA' },
      ...say('x'),
      stop,
    ]
    const options = { secrets: ['hunter2'], onWarning: (warning: string) => warnings.push(warning) }
    const chunks = await chunksOf(aiSdkModel(handMade(parts), options))
    expect(chunks).toEqual(await chunksOf(aiSdkModel(handMade([...say('x'), stop]))))
    expect(warnings).toEqual([
      'unsupported: seed: not by this model',
      'unsupported-setting: topK',
      'Mind the key •••',
      'unknown',
      'A source of the answer was not kept: A, https://a.test',
      'A source of the answer was not kept: B, b.txt',
      'A file of the reasoning was not kept: [image/png, 3 bytes, not kept]',
    ])
    expect(await chunksOf(aiSdkModel(handMade(parts)))).toEqual(chunks)
  })

  it('A9 a body that is no stream is named by its type; an empty stream is empty', async () => {
    const incomplete = { type: 'error', error: Object.assign(new Error('x'), { name: 'AI_InvalidResponseDataError' }) }
    const failure = async (headers: Record<string, string>, parts: readonly unknown[]) => {
      const made = handMade(parts)
      const doStream: AiSdkLanguageModel['doStream'] = async options => ({
        ...(await made.doStream(options)),
        response: { headers },
      })
      const { finish } = assembleStream(await chunksOf(aiSdkModel({ ...made, doStream })))
      return finish.kind === 'error' ? finish.failure : finish.kind
    }
    for (const parts of [[incomplete, finishV3('error')], []]) {
      expect(await failure({ 'content-type': 'text/html; charset=utf-8', 'x-request-id': 'r-1' }, parts)).toEqual({
        code: 'SERVER',
        message: 'The provider answered with text/html; charset=utf-8, which is no stream.',
        requestId: 'r-1',
      })
      expect(await failure({ 'content-type': 'text/event-stream; charset=utf-8' }, parts)).toEqual({
        code: 'EMPTY_RESPONSE',
        message: 'The answer was empty: it ended before anything of it came.',
      })
    }
    expect(await failure({}, [...say('x'), incomplete, finishV3('error')])).toMatchObject({ code: 'TRANSPORT' })
  })

  it('A9 parts of spec v4 it has no use for change nothing', async () => {
    const { blocks, finish } = await assembled(
      [
        { type: 'ping' },
        { type: 'custom', kind: 'openai.compaction' },
        { type: 'reasoning-file', mediaType: 'image/png', data: '' },
        { type: 'tool-input-start', id: 'c', toolName: 'patch', inputEncoding: 'text' },
        { type: 'tool-input-delta', id: 'c', delta: 'raw text' },
        callPart('c', '{"patch":"raw text"}', 'patch'),
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'x' },
        { type: 'text-end', id: '1', citations: [] },
        stop,
      ],
      'v4',
    )
    expect(blocks).toEqual([toolCall('c', '{"patch":"raw text"}', 'patch'), { type: 'text', text: 'x' }])
    expect(finish).toEqual({ kind: 'tool-calls' })
  })

  it('A9 settles on any parts: one finish at the end, no throw, nothing open', async () => {
    const id = fc.constantFrom('0', '1', '', undefined, 7)
    const value = fc.oneof(fc.string(), fc.constantFrom(null, undefined, 1, {}, []), fc.anything())
    const type = fc.constantFrom(
      ...['stream-start', 'file', 'source', 'reasoning-file'],
      ...['text-start', 'text-delta', 'text-end', 'reasoning-start', 'reasoning-delta', 'reasoning-end'],
      ...['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call', 'tool-result'],
      ...['error', 'finish', 'raw', 'ping', 'new-thing', ''],
    )
    const part = fc.oneof(
      { weight: 9, arbitrary: fc.record({ type, id, toolCallId: id, toolName: value, delta: value, input: value, error: value, usage: value, data: value, mediaType: value, warnings: value, providerMetadata: value, finishReason: fc.oneof(fc.constantFrom('stop', 'length', 'error', 'tool-calls', 'other', { unified: 'stop' }), value) }, { requiredKeys: ['type'] }) }, // biome-ignore format: one line
      { weight: 1, arbitrary: fc.anything().filter(each => each !== undefined) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), async parts => {
        const chunks = await chunksOf(aiSdkModel(handMade(parts)))
        expect(chunks.filter(chunk => chunk.type === 'finish')).toHaveLength(1)
        expect(chunks.at(-1)?.type).toBe('finish')
        snapshotJson(chunks)
        assembleStream(chunks)
        for (const chunk of chunks) {
          if (chunk.type !== 'block-end' || chunk.block.type !== 'tool-call') continue
          expect(chunk.block.id).not.toBe('')
        }
      }),
      { numRuns: 300 },
    )
  })
})
