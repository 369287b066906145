/** The adapter on the real `@ai-sdk/openai-compatible`, fed with bytes. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { validateOpenAiChat } from '../core/provider-rules.ts'
import { assembleStream } from '../core/stream.ts'
import { agentKit, tool, typesOf } from '../testing/agent-kit.ts'
import { chunksOf, requestTo } from '../testing/ai-sdk-kit.ts'
import { answerOf, delta, openAiKit, type Reply } from '../testing/openai-kit.ts'

const assembled = async (...reply: readonly string[]) => assembleStream(await chunksOf(openAiKit(() => reply).model))
const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })
const call = (part: object, index = 0) => delta({ tool_calls: [{ index, ...part }] })
const usage = (counts: object) => `data: ${JSON.stringify({ id: 'x', choices: [], usage: counts })}\n\n`

describe('bytes', () => {
  it('A9 reasoning, text, a call and usage become blocks in order', async () => {
    const result = await assembled(
      delta({ role: 'assistant', content: null, reasoning_content: 'First ' }),
      delta({ reasoning_content: 'think.' }),
      delta({ content: 'Then ' }),
      delta({ content: 'speak.' }),
      call({ id: 'c1', type: 'function', function: { name: 'get', arguments: '{"a"' } }),
      call({ function: { arguments: ':1}' } }),
      delta({}, 'tool_calls'),
      usage({
        prompt_tokens: 300,
        completion_tokens: 68,
        prompt_tokens_details: { cached_tokens: 256 },
        completion_tokens_details: { reasoning_tokens: 12 },
      }),
      'data: [DONE]\n\n',
    )
    expect(result).toEqual({
      blocks: [
        { type: 'reasoning', text: 'First think.' },
        { type: 'text', text: 'Then speak.' },
        { type: 'tool-call', id: 'c1', name: 'get', arguments: '{"a":1}' },
      ],
      finish: { kind: 'tool-calls' },
      usage: { inputTokens: 44, outputTokens: 68, cacheReadTokens: 256, reasoningTokens: 12 },
    })
  })

  it('A9 text after reasoning after text is three blocks; nothing is lost though the ids are used again', async () => {
    const { blocks } = await assembled(
      delta({ content: 'a' }),
      delta({ reasoning_content: 'b' }),
      delta({ content: 'c' }),
      delta({ reasoning_content: 'd' }, 'stop'),
    )
    expect(blocks).toEqual([
      { type: 'text', text: 'a' },
      { type: 'reasoning', text: 'b' },
      { type: 'text', text: 'c' },
      { type: 'reasoning', text: 'd' },
    ])
  })

  it('A9 characters cut by the network arrive whole', async () => {
    const bytes = new TextEncoder().encode(answerOf('你好 🌍 ñ').join(''))
    const pieces = Array.from(bytes, byte => Uint8Array.of(byte))
    const { blocks } = assembleStream(await chunksOf(openAiKit(() => pieces).model))
    expect(blocks).toEqual([{ type: 'text', text: '你好 🌍 ñ' }])
  })

  it.each<[string, readonly string[], object]>([
    ['an answer that breaks off', [delta({ content: 'The answer' })], { code: 'TRANSPORT' }],
    ['an answer without a word', [], { code: 'EMPTY_RESPONSE' }],
    ['comments only', [': ping\n\n', ': ping\n\n'], { code: 'EMPTY_RESPONSE' }],
    ['a finish that promises calls', [delta({ content: '' }), delta({}, 'tool_calls')], { code: 'EMPTY_RESPONSE' }],
    [
      'an error in the middle',
      [delta({ content: 'W' }), 'data: {"choices":[],"error":{"code":502,"message":"Provider returned error"}}\n\n'],
      { code: 'SERVER', status: 502, message: 'Provider returned error' },
    ],
    [
      'an error in a shape of its own',
      [delta({ content: 'W' }), 'data: {"object":"error","message":"Model is at capacity","code":503}\n\n'],
      { code: 'SERVER', status: 503, message: 'Model is at capacity' },
    ],
    ['an error in a word', ['data: {"error":"busy"}\n\n'], { code: 'TRANSPORT', message: 'busy' }],
    ['a filtered answer', [delta({ content: 'W' }), delta({}, 'content_filter')], { code: 'CONTENT_FILTER' }],
    [
      'a provider out of room',
      [delta({ content: 'W' }), delta({}, 'insufficient_system_resource')],
      { code: 'SERVER' },
    ],
    ['a body that is no stream', ['{"error":{"message":"busy"}}'], { code: 'EMPTY_RESPONSE' }],
  ])('A10 %s is a failure', async (_what, reply, expected) => {
    const { finish } = await assembled(...reply)
    expect(finish).toMatchObject({ kind: 'error', failure: expected })
  })

  it('A9 an event nobody knows does not spoil the answer after it', async () => {
    const { blocks, finish } = await assembled('data: {"surprise":true}\n\n', ...answerOf('fine'))
    expect([blocks, finish.kind]).toEqual([[{ type: 'text', text: 'fine' }], 'stop'])
  })

  it.each([
    ['oai-03-usage-tail', 'Hi', 'stop'],
    ['oai-05-empty-arguments', '', 'tool-calls'],
    ['oai-06-stop-with-tool', '', 'tool-calls'],
    ['oai-08-length-cut-args', 'I will write it. ', 'max-tokens'],
    ['oai-10-eof-after-finish', 'The answer is 42.', 'stop'],
    ['oai-16-sse-dialects', 'AB', 'stop'],
    ['oai-26-delta-and-message', 'Hello', 'stop'],
  ])('A9 the recorded case %s', async (name, text, finish) => {
    const bytes = new Uint8Array(readFileSync(new URL(`../../e2e/cases/${name}.sse`, import.meta.url)))
    const result = assembleStream(await chunksOf(openAiKit(() => [bytes]).model))
    expect(result.finish.kind).toBe(finish)
    expect(result.blocks.map(block => (block.type === 'text' ? block.text : '')).join('')).toBe(text)
  })
})

describe('refusals', () => {
  it('A10 a key that is echoed is never shown, logged or sent on', async () => {
    const apiKey = 'my-very-own-key'
    const echo = json(401, { error: { message: `Incorrect API key provided: ${apiKey}. Header: Bearer ${apiKey}` } })
    const { model, headers } = openAiKit(() => echo, { apiKey, secrets: [apiKey] })
    const kit = await agentKit({ model })
    const reason = await kit.agent.send({ text: 'hi' }).done
    expect(headers[0]?.get('authorization')).toBe(`Bearer ${apiKey}`)
    expect(reason).toEqual({
      kind: 'error',
      error: { code: 'AUTH', message: 'Incorrect API key provided: •••. Header: Bearer •••', status: 401 },
    })
    expect(JSON.stringify([await kit.stored(), kit.frames, reason])).not.toContain(apiKey)
    expect(typesOf(await kit.stored())).toContain('assistant/attempt')
  })

  it.each<[string, Reply, object]>([
    [
      'a rate limit',
      json(429, { error: { message: 'Slow down' } }, { 'retry-after': '3' }),
      { code: 'RATE_LIMIT', providerRetryAfterMs: 3_000 },
    ],
    [
      'an overflow',
      json(400, { error: { message: 'too long', code: 'context_length_exceeded' } }),
      { code: 'CONTEXT_WINDOW_EXCEEDED' },
    ],
    [
      'a model that is not there',
      json(404, { error: { message: 'The model `x` does not exist', code: 'model_not_found' } }),
      { code: 'MODEL_NOT_FOUND' },
    ],
    ['a broken server', new Response('<html>', { status: 502 }), { code: 'SERVER', status: 502 }],
    [
      'a blocked fetch',
      new TypeError('Failed to fetch'),
      {
        code: 'TRANSPORT',
        message: expect.stringMatching(/^https:\/\/fake\.test could not be reached.*network.*CORS/) as string,
      },
    ],
    [
      'a refused connection',
      new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') }),
      { code: 'TRANSPORT', message: expect.stringContaining('https://fake.test could') as string },
    ],
  ])('A10 %s', async (_what, reply, expected) => {
    const kit = openAiKit(() => reply)
    const [chunk, ...rest] = await chunksOf(kit.model)
    expect(chunk).toMatchObject({ type: 'finish', reason: { kind: 'error', failure: expected } })
    expect(rest).toEqual([])
    expect(kit.bodies).toHaveLength(1)
  })
})

describe('a conversation', () => {
  it('[A9, A4] goes to the wire and back, and every request passes the strict check', async () => {
    const replies = [
      [
        delta({ content: 'Looking. ', reasoning_content: 'hm' }),
        call({ id: 'c1', type: 'function', function: { name: 'read', arguments: '' } }),
        call({ id: 'c2', type: 'function', function: { name: 'no tool!', arguments: '{"a":' } }, 1),
        delta({}, 'tool_calls'),
      ],
      answerOf('Done.'),
      answerOf('Bye.'),
    ]
    const { model, bodies } = openAiKit(request => replies[request] ?? [], { temperature: 0, maxTokens: 50 })
    const kit = await agentKit({ model, system: 'Be brief.', tools: [tool('read', () => undefined)] })
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    expect(await kit.agent.send({ text: 'bye' }).done).toEqual({ kind: 'completed' })
    expect(bodies.map(validateOpenAiChat)).toEqual([[], [], []])
    expect(bodies[0]).toMatchObject({
      model: 'fake-1',
      temperature: 0,
      max_tokens: 50,
      tools: [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }],
    })
    expect((bodies[2] as { messages: unknown }).messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: 'Looking. ',
        reasoning_content: 'hm',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } },
          {
            id: 'c2',
            type: 'function',
            function: { name: 'no_tool_', arguments: '{"invalid_arguments":"{\\"a\\":"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: '(no output)' },
      { role: 'tool', tool_call_id: 'c2', content: 'There is no tool named no tool!.' },
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: 'bye' },
    ])
  })

  it('[A1, A7] is stopped at the network', async () => {
    const silent = new ReadableStream()
    const kit = openAiKit(() => new Response(silent, { headers: { 'content-type': 'text/event-stream' } }))
    const abort = new AbortController()
    const chunks = chunksOf(kit.model, requestTo(kit.model, [], { signal: abort.signal }))
    setTimeout(() => abort.abort(), 5)
    expect(await chunks).toEqual([])
    expect(kit.signals.map(signal => signal?.aborted)).toEqual([true])
  })
})
