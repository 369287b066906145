/** Images and files in a prompt: what is read, what is sent, and what goes over the wire. */
import { describe, expect, it, vi } from 'vitest'
import { assistant, system, toolCall, toolResult, user } from '../core/builders.ts'
import type { ContentBlock, FileBlock, ImageBlock, Message, ToolResultMessage } from '../core/events.ts'
import { anthropicAnswerOf, anthropicKit } from '../testing/anthropic-kit.ts'
import { chunksOf, handMade, requestTo } from '../testing/ai-sdk-kit.ts'
import { answerOf, openAiKit } from '../testing/openai-kit.ts'
import { base64 } from './ai-sdk-attachments.ts'
import { sizeText } from './ai-sdk-fields.ts'
import { type AiSdkModelOptions, aiSdkModel } from './ai-sdk.ts'
import type { AiSdkLanguageModel } from './ai-sdk-types.ts'

const stop = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} }
const pixels = Uint8Array.of(137, 80, 78, 71, 0, 255)
const pixelsInBase64 = 'iVBORwD/'
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

const text = (said: string): ContentBlock => ({ type: 'text', text: said })
const image = (attachmentId: string, name?: string): ImageBlock => ({
  type: 'image',
  attachment: {
    ...{ attachmentId, mediaType: 'image/png' as const, bytes: 6, width: 1, height: 1 },
    ...(name === undefined ? {} : { name }),
  },
})
const file = (name: string, bytes = 3): FileBlock => ({
  type: 'file',
  attachment: { attachmentId: `id of ${name}`, name, bytes },
})
const result = (content: readonly ContentBlock[], callId = 'a'): ToolResultMessage => toolResult(callId, content)
const failed = (content: readonly ContentBlock[], callId = 'a'): ToolResultMessage => {
  const message = result(content, callId)
  return { ...message, content: [{ ...message.content[0], isError: true }] }
}

type Blobs = Readonly<Record<string, Uint8Array>>

async function promptOf(
  messages: readonly Message[],
  blobs: Blobs = {},
  { version = 'v3', ...options }: AiSdkModelOptions & { version?: AiSdkLanguageModel['specificationVersion'] } = {},
) {
  const made = { ...handMade([stop], version), provider: 'hand.messages' }
  const model = aiSdkModel(made, options)
  const readBlob = vi.fn(async (id: string) => blobs[id] ?? null)
  await chunksOf(model, requestTo(model, messages, { readBlob }))
  return { prompt: made.calls[0]?.prompt, read: readBlob.mock.calls.map(([id]) => id) }
}
/** The parts a single message of a person is sent as. */
const partsOf = async (content: readonly ContentBlock[], blobs: Blobs = {}) =>
  (await promptOf([user(content)], blobs)).prompt?.[0]?.content
/** The output a single result is sent with, after the call it answers. */
const outputOf = async (
  message: ToolResultMessage,
  blobs: Blobs = {},
  options: Parameters<typeof promptOf>[2] = {},
) => {
  const { prompt } = await promptOf([assistant([toolCall('a')]), message], blobs, options)
  const [, sent, ...rest] = prompt ?? []
  return { output: sent?.role === 'tool' ? sent.content[0]?.output : sent, rest }
}

describe('images', () => {
  it.each(['v2', 'v3'] as const)(
    'A9 of a person are sent as bytes with their type, in their place: spec %s',
    async version => {
      const { prompt, read } = await promptOf(
        [user([text('see'), image('i', 'a.png'), text('this')])],
        { i: pixels },
        { version },
      )
      expect(prompt).toEqual([
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'file', mediaType: 'image/png', data: pixels, filename: 'a.png' },
            { type: 'text', text: 'this' },
          ],
        },
      ])
      expect(read).toEqual(['i'])
    },
  )

  it('A9 have their bytes wrapped for spec v4', async () => {
    const { prompt } = await promptOf([user([image('i')])], { i: pixels }, { version: 'v4' })
    expect(prompt?.[0]?.content).toEqual([
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: pixels } },
    ])
  })

  it.each([
    ['v2', { type: 'media', mediaType: 'image/png', data: pixelsInBase64 }],
    ['v3', { type: 'image-data', mediaType: 'image/png', data: pixelsInBase64 }],
    ['v4', { type: 'file', mediaType: 'image/png', data: { type: 'data', data: pixelsInBase64 } }],
  ] as const)('A9 of a tool are content of its result: spec %s', async (version, part) => {
    const { output, rest } = await outputOf(result([text('Here:'), image('i'), text('')]), { i: pixels }, { version })
    expect(output).toEqual({ type: 'content', value: [{ type: 'text', text: 'Here:' }, part] })
    expect(rest).toEqual([])
  })

  it('A9 of a tool follow all results where a result cannot hold them, or is an error', async () => {
    const calls = assistant([toolCall('a', '{}', 'snap'), toolCall('b', '{}', 'list')])
    const messages = [
      calls,
      result([text('Two:'), image('i', 'a.png'), image('j')]),
      result([text('x')], 'b'),
      user('so?'),
    ]
    const following = [
      { type: 'text', text: 'The image a.png that snap returned:' },
      { type: 'file', mediaType: 'image/png', data: pixels, filename: 'a.png' },
      { type: 'text', text: 'The image that snap returned:' },
      { type: 'file', mediaType: 'image/png', data: pixels },
    ]
    const value = 'Two:\n[image a.png, in the next message]\n[image, in the next message]'
    const blobs = { i: pixels, j: pixels }
    const { prompt } = await promptOf(messages, blobs, { imagesInToolResults: false })
    expect(prompt?.slice(1)).toEqual([
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'a', toolName: 'snap', output: { type: 'text', value } },
          { type: 'tool-result', toolCallId: 'b', toolName: 'list', output: { type: 'text', value: 'x' } },
        ],
      },
      { role: 'user', content: following },
      { role: 'user', content: [{ type: 'text', text: 'so?' }] },
    ])
    const error = await promptOf([calls, failed([image('i', 'a.png')]), result([text('x')], 'b')], blobs)
    expect(error.prompt?.slice(1)).toMatchObject([
      { role: 'tool', content: [{ output: { type: 'error-text', value: '[image a.png, in the next message]' } }, {}] },
      { role: 'user', content: following.slice(0, 2) },
    ])
  })

  it('A9 that were offloaded, or are not here, say so; nobody looks for those that were offloaded', async () => {
    const offloaded: ImageBlock = { ...image('i', 'a.png'), offloaded: true }
    const { prompt, read } = await promptOf([user([offloaded, image('gone', 'b.png'), image('gone')])], { i: pixels })
    expect(prompt?.[0]?.content).toEqual([
      { type: 'text', text: '[image a.png, left out to save room]' },
      { type: 'text', text: '[image b.png, not available here]' },
      { type: 'text', text: '[image, not available here]' },
    ])
    expect(read).toEqual(['gone'])
    const { output } = await outputOf(result([offloaded, image('gone')]), { i: pixels })
    expect(output).toEqual({ type: 'text', value: '[image a.png, left out to save room]\n[image, not available here]' })
  })

  it('A9 of the model, and in a system prompt, are named only', async () => {
    const messages = [system([text('Look.'), image('i', 'a.png')]), user('hi'), assistant([image('i', 'a.png')])]
    const { prompt, read } = await promptOf(messages, { i: pixels })
    expect(prompt).toEqual([
      { role: 'system', content: 'Look.\n[image a.png]' },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: '[image a.png]' }] },
    ])
    expect(read).toEqual([])
  })
})

describe('files', () => {
  it('A9 of text are quoted under their name, so that nothing in them can be taken for their end', async () => {
    const content = utf8('\ufeffone\n```\ntwo ````\n')
    expect(await partsOf([file('notes.md')], { 'id of notes.md': content })).toEqual([
      { type: 'text', text: 'File notes.md:\n\n`````\none\n```\ntwo ````\n`````' },
    ])
    expect(await partsOf([file('a.txt')], { 'id of a.txt': utf8('é') })).toEqual([
      { type: 'text', text: 'File a.txt:\n\n```\né\n```' },
    ])
  })

  it.each([
    'a.TXT',
    'b.json',
    'c.csv',
    'd.html',
    'e.xml',
    'f.yml',
    'src/g.tsx',
    'h.py',
    'Makefile',
    '.gitignore',
    'i.svg',
  ])('A9 %s is text by its name', async name => {
    expect(await partsOf([file(name)], { [`id of ${name}`]: utf8('x') })).toEqual([
      { type: 'text', text: `File ${name}:\n\n\`\`\`\nx\n\`\`\`` },
    ])
  })

  it.each([
    ['bytes that are no UTF-8', Uint8Array.of(0xff, 0xfe, 65)],
    ['UTF-16', Uint8Array.of(65, 0, 66, 0)],
  ])('A9 a text file with %s is named only', async (_what, bytes) => {
    expect(await partsOf([file('a.txt', 4_200)], { 'id of a.txt': bytes })).toEqual([
      { type: 'text', text: '[file a.txt, 4.2 kB, not text]' },
    ])
  })

  it('A9 of PDF are sent as bytes, and only named in the result of a tool', async () => {
    const blobs = { 'id of A.PDF': pixels }
    expect(await partsOf([file('A.PDF')], blobs)).toEqual([
      { type: 'file', mediaType: 'application/pdf', data: pixels, filename: 'A.PDF' },
    ])
    const { prompt, read } = await promptOf([assistant([toolCall('a')]), result([file('A.PDF', 9_960)])], blobs)
    expect(prompt?.[1]).toMatchObject({ content: [{ output: { type: 'text', value: '[file A.PDF, 10 kB]' } }] })
    expect(read).toEqual([])
  })

  it('A9 of other kinds are named with their size, and not read', async () => {
    const { prompt, read } = await promptOf([user([file('a.zip', 12_345), file('b', 1), file('c.txt.exe', 3e6)])])
    expect(prompt?.[0]?.content).toEqual([
      { type: 'text', text: '[file a.zip, 12 kB]' },
      { type: 'text', text: '[file b, 1 byte]' },
      { type: 'text', text: '[file c.txt.exe, 3 MB]' },
    ])
    expect(read).toEqual([])
  })

  it('A9 in the result of a tool are part of its text', async () => {
    const { output } = await outputOf(result([text('Read:'), file('a.txt'), file('b.bin')]), {
      'id of a.txt': utf8('hi\n'),
    })
    expect(output).toEqual({ type: 'text', value: 'Read:\nFile a.txt:\n\n```\nhi\n```\n[file b.bin, 3 bytes]' })
    const error = await outputOf(failed([file('a.txt')]))
    expect(error.output).toEqual({ type: 'error-text', value: '[file a.txt, 3 bytes, not available here]' })
  })

  it('A9 with a name of several lines stay on one', async () => {
    expect(await partsOf([file('a\n[b\u2028c].zip\u0007')])).toEqual([
      { type: 'text', text: '[file a [b c].zip, 3 bytes]' },
    ])
  })

  it('A9 of any length, with any fences and any name a log keeps, are quoted', async () => {
    const name = `${'n'.repeat(251)}.txt`
    const [part] = (await partsOf([file(name)], { [`id of ${name}`]: utf8('```\n'.repeat(300_000)) })) ?? []
    expect(part).toMatchObject({ text: expect.stringMatching(new RegExp(`^File ${name}:\n\n\`{4}\n`)) as string })
  })

  it('A9 that another program wrote without their facts are named as far as they can be', async () => {
    const odd = [
      { type: 'file' },
      { type: 'image', attachment: null },
      { type: 'file', attachment: { name: 7, bytes: '3' } },
    ]
    expect(await partsOf(odd as never)).toEqual([
      { type: 'text', text: '[file]' },
      { type: 'text', text: '[image, not available here]' },
      { type: 'text', text: '[file]' },
    ])
  })

  it.each([
    [0, '0 bytes'],
    [999, '999 bytes'],
    [1_000, '1 kB'],
    [1_234, '1.2 kB'],
    [9_949, '9.9 kB'],
    [12_345, '12 kB'],
    [2_500_000, '2.5 MB'],
    [1_234_567_890, '1235 MB'],
  ])('%s bytes are %s', (bytes, words) => {
    expect(sizeText(bytes)).toBe(words)
  })
})

describe('reading', () => {
  it('A9 happens once for each attachment of a request, and anew for the next', async () => {
    const made = handMade([stop])
    const model = aiSdkModel(made)
    const readBlob = vi.fn(async () => pixels)
    const messages = [user([image('i'), image('i')]), assistant([toolCall('a')]), result([image('i'), image('j')])]
    await chunksOf(model, requestTo(model, messages, { readBlob }))
    expect(readBlob.mock.calls).toEqual([['i'], ['j']])
    await chunksOf(aiSdkModel(made), requestTo(model, messages, { readBlob }))
    expect(readBlob).toHaveBeenCalledTimes(4)
  })

  it('A1 is not waited for once the request is aborted, and no call is made', async () => {
    const made = handMade([stop])
    const model = aiSdkModel(made)
    const abort = new AbortController()
    const chunks = chunksOf(
      model,
      requestTo(model, [user([image('i')])], { signal: abort.signal, readBlob: () => new Promise(() => {}) }),
    )
    setTimeout(() => abort.abort(), 1)
    expect(await chunks).toEqual([])
    expect(made.calls).toEqual([])
  })

  it('A10 that fails is a failure of its own, without a call and without a secret', async () => {
    const made = handMade([stop])
    const model = aiSdkModel(made, { secrets: ['hunter2'] })
    const readBlob = () => Promise.reject(new TypeError('no disk hunter2'))
    expect(await chunksOf(model, requestTo(model, [user([image('i')])], { readBlob }))).toEqual([
      {
        type: 'finish',
        reason: {
          kind: 'error',
          failure: { code: 'UNKNOWN', message: 'An attachment could not be read: no disk •••' },
        },
      },
    ])
    expect(made.calls).toEqual([])
  })

  it('base64 is that of the platform, at any length', () => {
    for (const length of [0, 1, 2, 3, 0x2000, 0x2001, 100_000]) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 31) % 256)
      expect(Uint8Array.from(atob(base64(bytes)), each => each.charCodeAt(0))).toEqual(bytes)
    }
  })
})

describe('on the wire', () => {
  const messages = [
    user([text('see'), image('i', 'a.png'), file('b.pdf'), file('c.txt')]),
    assistant([toolCall('a', '{}', 'snap')]),
    result([text('Here:'), image('j', 'd.png')]),
  ]
  const blobs: Blobs = { i: pixels, j: pixels, 'id of b.pdf': utf8('%PDF'), 'id of c.txt': utf8('hi') }
  const readBlob = async (id: string) => blobs[id] ?? null

  it('A9 openai-compatible gets data URLs, and images of tools in a message of their own', async () => {
    const { model, bodies } = openAiKit(() => answerOf('ok'))
    await chunksOf(model, requestTo(model, messages, { readBlob }))
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${pixelsInBase64}` } }
    expect((bodies[0] as { messages: unknown }).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          picture,
          { type: 'file', file: { filename: 'b.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
          { type: 'text', text: 'File c.txt:\n\n```\nhi\n```' },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'snap', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'Here:\n[image d.png, in the next message]' },
      { role: 'user', content: [{ type: 'text', text: 'The image d.png that snap returned:' }, picture] },
    ])
  })

  it('A9 anthropic gets base64 sources, images of tools within their results', async () => {
    const { model, bodies } = anthropicKit(() => anthropicAnswerOf('ok'))
    await chunksOf(model, requestTo(model, messages, { readBlob }))
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixelsInBase64 } }
    expect((bodies[0] as { messages: unknown }).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          picture,
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
            title: 'b.pdf',
          },
          { type: 'text', text: 'File c.txt:\n\n```\nhi\n```' },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'snap', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'Here:' }, picture] }],
      },
    ])
  })
})
