/** Our messages as an AI SDK prompt. */
import { describe, expect, it } from 'vitest'
import { assistant, system, toolCall, toolResult, user } from '../core/builders.ts'
import type { AssistantMessage, ContentBlock, Message } from '../core/events.ts'
import type { JsonValue } from '../core/json.ts'
import { chunksOf, handMade, requestTo } from '../testing/ai-sdk-kit.ts'
import { aiSdkModel } from './ai-sdk.ts'

const stop = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} }

describe('the prompt', () => {
  const own = (
    content: readonly ContentBlock[],
    replayState?: JsonValue,
    provider = 'hand.chat',
  ): AssistantMessage => ({
    ...assistant(content),
    source: { kind: 'model', provider, model: 'made-1', ...(replayState === undefined ? {} : { replayState }) },
  })
  const promptOf = async (...messages: readonly Message[]) => {
    const made = handMade([stop])
    const model = aiSdkModel(made)
    await chunksOf(model, requestTo(model, messages))
    return made.calls[0]?.prompt
  }
  const reasoning = (text: string): ContentBlock => ({ type: 'reasoning', text })
  const text = (said: string): ContentBlock => ({ type: 'text', text: said })

  it('A9 maps a whole conversation', async () => {
    const failed = toolResult('b', 'No such file')
    const error = { ...failed, content: [{ ...failed.content[0], isError: true }] as const }
    const prompt = await promptOf(
      system('Be brief.'),
      user('hi'),
      own([reasoning('hm'), text('Looking.'), toolCall('a', '{"p":1}'), toolCall('b', '', 'list')]),
      toolResult('a', [text('one'), text('two')]),
      error,
      own([text('Done.')]),
      user([text('thanks'), text('bye')]),
    )
    expect(prompt).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'Looking.' },
          { type: 'tool-call', toolCallId: 'a', toolName: 'read', input: { p: 1 } },
          { type: 'tool-call', toolCallId: 'b', toolName: 'list', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'a', toolName: 'read', output: { type: 'text', value: 'one\ntwo' } },
          {
            type: 'tool-result',
            toolCallId: 'b',
            toolName: 'list',
            output: { type: 'error-text', value: 'No such file' },
          },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'thanks' },
          { type: 'text', text: 'bye' },
        ],
      },
    ])
  })

  it.each([
    ['', {}],
    [' \n', {}],
    ['{"a":[1]}', { a: [1] }],
    ['{"a":', { invalid_arguments: '{"a":' }],
    ['Oslo', { invalid_arguments: 'Oslo' }],
    ['[1]', { invalid_arguments: '[1]' }],
    ['null', { invalid_arguments: 'null' }],
    ['7', { invalid_arguments: '7' }],
    ['{"a":"\\ud800"}', { a: '\ufffd' }],
  ])('A9 sends the arguments %j as an object', async (args, input) => {
    const prompt = await promptOf(own([toolCall('a', args)]), toolResult('a'))
    expect(prompt?.[0]).toMatchObject({ content: [{ input }] })
  })

  it('A9 an empty result says so, and what a tool returned that is no text leaves a trace', async () => {
    const image = { type: 'image', attachment: { attachmentId: 'i', mediaType: 'image/png', name: 'a.png' } }
    const prompt = await promptOf(
      own([toolCall('a'), toolCall('b')]),
      toolResult('a', []),
      toolResult('b', [image as never]),
    )
    expect(prompt?.[1]).toMatchObject({
      content: [{ output: { value: '(no output)' } }, { output: { value: '[image a.png, not available here]' } }],
    })
  })

  it('A9 pictures and files that are not here are named in their place', async () => {
    const image = { type: 'image', attachment: { attachmentId: 'i', mediaType: 'image/png' } }
    const file = { type: 'file', attachment: { attachmentId: 'f', name: 'notes.txt', bytes: 3 } }
    const prompt = await promptOf(user([text('see'), image as never, file as never]))
    expect(prompt).toEqual([
      {
        role: 'user',
        content: ['see', '[image, not available here]', '[file notes.txt, 3 bytes, not available here]'].map(text),
      },
    ])
  })

  it('A9 sends back what its provider wanted back, block by block', async () => {
    const blocks = [{ anthropic: { signature: 'xyz' } }, null, { google: { thoughtSignature: 'abc' } }]
    const content = [reasoning('hm'), text('so'), toolCall('a')]
    const [sent] = (await promptOf(own(content, { blocks }), toolResult('a'))) ?? []
    expect(sent?.content).toEqual([
      { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'xyz' } } },
      { type: 'text', text: 'so' },
      {
        type: 'tool-call',
        toolCallId: 'a',
        toolName: 'read',
        input: {},
        providerOptions: { google: { thoughtSignature: 'abc' } },
      },
    ])
    const [short] = (await promptOf(own(content, { blocks: [{ a: {} }] }), toolResult('a'))) ?? []
    expect(JSON.stringify(short)).not.toContain('providerOptions')
  })

  it('A9 leaves out what only another provider understands', async () => {
    const blocks = [{ anthropic: { signature: 'xyz' } }, null, null]
    const content = [reasoning('hm'), text('so'), toolCall('functions.read:0')]
    const prompt = await promptOf(own(content, { blocks }, 'elsewhere'), toolResult('functions.read:0'))
    const id = 'call_1_functionsread0'
    expect(prompt).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'so' },
          { type: 'tool-call', toolCallId: id, toolName: 'read', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: id, toolName: 'read', output: { type: 'text', value: 'ok' } }],
      },
    ])
    const back = await promptOf(own([toolCall('functions.read:0')]), toolResult('functions.read:0'))
    expect(JSON.stringify(back)).toContain('"toolCallId":"functions.read:0"')
  })

  it('A9 redacted reasoning goes back without text; reasoning alone is no message', async () => {
    const redacted = { anthropic: { redactedData: 'zzz' } }
    const prompt = await promptOf(
      user('hi'),
      own([reasoning(''), text('so')], { blocks: [redacted, null] }),
      own([reasoning('only')]),
      own([reasoning(''), text('x')]),
    )
    expect(prompt?.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: '', providerOptions: redacted },
          { type: 'text', text: 'so' },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'x' }] },
    ])
  })

  it('A9 a chat provider that reasons gets a message with calls but no reasoning with an empty one', async () => {
    const empty = { openaiCompatible: { reasoning_content: '' } }
    const silent = own([toolCall('b')])
    const messages = [
      own([reasoning('hm'), toolCall('a')]),
      toolResult('a'),
      silent,
      toolResult('b'),
      own([text('so')]),
    ]
    const options = async (...each: readonly Message[]) =>
      (await promptOf(...each))?.flatMap(message => (message.role === 'assistant' ? [message.providerOptions] : []))
    expect(await options(...messages)).toEqual([undefined, empty, undefined])
    expect(await options(...messages.slice(2))).toEqual([undefined, undefined])
    expect(await options(own([reasoning('hm'), text('x')], undefined, 'elsewhere'), silent)).toEqual([
      undefined,
      undefined,
    ])
    const made = { ...handMade([stop]), provider: 'hand.messages' }
    const model = aiSdkModel(made, { provider: 'hand.chat' })
    await chunksOf(model, requestTo(model, messages))
    expect(JSON.stringify(made.calls[0]?.prompt)).not.toContain('reasoning_content')
  })

  it('A9 names no provider would take are made plain, and calls come last', async () => {
    const long = 'x'.repeat(80)
    const prompt = await promptOf(
      own([toolCall('a', '{}', 'read file!'), text('after'), toolCall('b', '{}', ''), toolCall('c', '{}', long)]),
      ...['a', 'b', 'c'].map(id => toolResult(id)),
    )
    const names = ['read_file_', 'unknown', 'x'.repeat(64)]
    expect(prompt?.[0]?.content).toMatchObject([{ text: 'after' }, ...names.map(toolName => ({ toolName }))])
    expect(prompt?.[1]?.content).toMatchObject(names.map(toolName => ({ toolName })))
  })
})
