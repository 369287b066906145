/**
 * The guard, as a law: whatever models, tools and people do in random turns, what is sent is what the log derives to,
 * nothing needs healing, and the strictest provider takes it.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Message, StreamChunk } from '../core/events.ts'
import { CallId } from '../core/ids.ts'
import { equalJson } from '../core/json.ts'
import { validateAnthropicMessages, validateOpenAiChat } from '../core/provider-rules.ts'
import type { LoggedRequest } from '../core/request.ts'
import { requestMessages } from '../core/request-messages.ts'
import { type AgentKit, agentKit, storedEvents, tool } from '../testing/agent-kit.ts'
import { requestTo } from '../testing/ai-sdk-kit.ts'
import { answerOf, openAiKit } from '../testing/openai-kit.ts'
import { type ScriptedItem, type ScriptedStep, scriptedModel } from '../testing/scripted-model.ts'
import type { AgentSetup } from './agent.ts'
import { promptOf } from './ai-sdk-prompt.ts'
import type { Model, ModelRequest } from './model.ts'

const words = fc.constantFrom('hi', '', ' \n', 'a\ud800b', '🌍', '{"a":', 'x'.repeat(300))
const ids = fc.constantFrom('c1', 'c2', 'c1_2', 'call-0', '', 'functions.read:0', '\ud800')
const names = fc.constantFrom('read', 'fail', 'odd', 'huge', 'stop', 'not there', '', 'ä', 'n'.repeat(90))
const args = fc.constantFrom('{}', '', '{"a":1}', '{"a":', 'null', '[]', '"text"', '{"a":"\\ud800"}', '\ud83d')

const blockChunks = (index: number) =>
  fc.oneof(
    words.map((text): StreamChunk[] => [{ type: 'text-delta', index, text }]),
    words.map((text): StreamChunk[] => [{ type: 'reasoning-delta', index, text }]),
    fc.tuple(ids, names, args).map(([id, name, argumentsDelta]): StreamChunk[] => [
      { type: 'tool-call-delta', index, id, name, argumentsDelta },
      { type: 'block-end', index, block: { type: 'tool-call', id: CallId(id), name, arguments: argumentsDelta } },
    ]),
    // A call left open.
    fc
      .tuple(ids, names, args)
      .map(([id, name, argumentsDelta]): StreamChunk[] => [
        { type: 'tool-call-delta', index, id, name, argumentsDelta },
      ]),
  )
const content: fc.Arbitrary<readonly ScriptedItem[]> = fc
  .integer({ min: 0, max: 4 })
  .chain(count => fc.tuple(...Array.from({ length: count }, (_, index) => blockChunks(index))))
  .map(blocks => blocks.flat())
const failure = { code: 'SERVER', message: 'no' }
const finish = fc
  .constantFrom('stop' as const, 'tool-calls' as const, 'max-tokens' as const)
  .map((kind): StreamChunk => ({ type: 'finish', reason: { kind } }))

/** What the model does with one request; `cancel` marks where a person stops the turn. */
const step: fc.Arbitrary<ScriptedStep> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(content, finish).map(([items, end]) => [...items, end]) },
  { weight: 1, arbitrary: content.map(after => ({ fail: failure, after })) },
  { weight: 1, arbitrary: content.map(after => ({ throws: new Error('no'), after })) },
  { weight: 1, arbitrary: content },
  { weight: 2, arbitrary: content.map(after => ({ hang: true as const, after })) },
)
const turns = fc.array(
  fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 3 }),
    system: fc.constantFrom('', ' \n', 'Be brief.', 'Be \ud800 long.'),
    inHistory: fc.boolean(),
    reopen: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
)

const tools = () => [
  tool('read', () => 'ok'),
  tool('fail', () => {
    throw new Error('no')
  }),
  tool('odd', () => ({ content: [{ type: '' }, { type: 'text', text: '\ud800' }] })),
  tool('huge', () => 'x'.repeat(20_000)),
  tool('stop', () => new Promise(() => undefined)),
]

/** The bodies the real provider package would send for these messages, of this model and of another one. */
async function bodiesOf(messages: readonly Message[]): Promise<readonly unknown[]> {
  const bodies: unknown[] = []
  for (const provider of ['scripted', 'other']) {
    const kit = openAiKit(() => answerOf('ok'), { provider })
    for await (const _chunk of kit.model.stream(requestTo(kit.model, messages))) continue
    bodies.push(...kit.bodies)
  }
  return bodies
}

function expectLawful(messages: readonly Message[]): void {
  const { messages: sent, changes } = requestMessages(messages)
  expect(changes).toEqual([])
  expect(sent).toEqual(messages)
  const messageIds = messages.map(message => message.id)
  expect(new Set(messageIds).size).toBe(messageIds.length)
  const callIds = messages.flatMap(({ content: blocks }) =>
    blocks.flatMap(block => (block.type === 'tool-call' ? [block.id] : [])),
  )
  expect(new Set(callIds).size).toBe(callIds.length)
}

describe('the guard', () => {
  it('[A3, A4, H5] sends what the log derives to, unchanged, and every provider takes it', async () => {
    await fc.assert(
      fc.asyncProperty(turns, async script => {
        let kit: AgentKit | null = null
        const sent: { readonly at: number; readonly request: ModelRequest }[] = []
        let setup: AgentSetup = { model: scriptedModel([]) }
        for (const { steps, system, inHistory, reopen } of script) {
          const scripted = scriptedModel(steps, inHistory ? { systemPromptUpdate: 'in-history' } : {})
          // Compared when it is sent: later the log has moved on.
          const model: Model = {
            ...scripted,
            stream(request) {
              const session = (kit as AgentKit).live.session
              sent.push({ at: session.length, request })
              expect(request.messages).toEqual(session.deriveMessages())
              expect(Object.isFrozen(request.messages)).toBe(true)
              expectLawful(request.messages)
              return scripted.stream(request)
            },
          }
          setup = { model, system, tools: tools(), maxSteps: 4 }
          if (kit === null) kit = await agentKit(() => setup)
          else if (reopen) kit = await kit.reopen()
          const turn = kit.agent.send({ text: 'go on' })
          // A model that hangs, or a tool that does, is stopped by a person.
          const timer = setTimeout(() => kit?.agent.cancel(), 12)
          const reason = await turn.done
          clearTimeout(timer)
          expect(reason).not.toMatchObject({
            error: { code: 'UNKNOWN', message: expect.stringContaining('expect') as string },
          })
          for (const request of scripted.requests) {
            for (const body of await bodiesOf(request.messages)) expect(validateOpenAiChat(body)).toEqual([])
          }
        }
        const { live, storage } = kit as AgentKit
        expectLawful(live.session.deriveMessages())
        await live.flush()
        const stored = await storedEvents(storage)
        expect(equalJson(stored, live.session.snapshotEvents())).toBe(true)
        expect(await live.verify()).toBeNull()
        // Every request of the past can be rebuilt: as of when it was sent, and from the event that settled it.
        for (const { at, request } of sent) {
          const settled = stored.find(({ seq, type }) => seq >= at && type.startsWith('assistant/'))?.seq ?? at
          for (const seq of [at, settled]) {
            const { header, messages, changes } = (await live.requestAt(seq)) as LoggedRequest
            expect({ header, messages, changes }).toEqual({
              header: request.header,
              messages: request.messages,
              changes: [],
            })
          }
        }
      }),
      { numRuns: 60 },
    )
  }, 60_000)

  it('[A4] a model cannot change what is logged, restored or not, and its own extra configuration is no part of it', async () => {
    const texts: unknown[] = []
    let topP = 0.1
    const vandal = (scripted: Model): Model => ({
      ...scripted,
      get config() {
        return { ...scripted.config, topP } as Model['config']
      },
      stream(request) {
        const [message] = request.messages
        texts.push((message?.content[0] as { text: string }).text)
        expect(Object.isFrozen(request.header.config)).toBe(true)
        expect(() => Object.assign(message as object, { content: [] })).toThrow(TypeError)
        expect(() => Object.assign(message?.content[0] as object, { text: 'EVIL' })).toThrow(TypeError)
        return scripted.stream(request)
      },
    })
    let kit = await agentKit({ model: vandal(scriptedModel([{ text: 'a' }, { text: 'b' }])) })
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    topP = 0.9
    expect(await kit.agent.send({ text: 'again' }).done).toEqual({ kind: 'completed' })
    kit = await kit.reopen()
    expect(await kit.agent.send({ text: 'once more' }).done).toMatchObject({
      kind: expect.stringMatching(/completed|error/) as string,
    })
    expect(texts.length).toBeGreaterThan(1)
    expect(new Set(texts)).toEqual(new Set(['hi']))
    expect(await kit.live.verify()).toBeNull()
  })

  it('A3 the Anthropic rules hold too, for histories with failures in them', async () => {
    const model = scriptedModel([
      [
        { type: 'text-delta', index: 0, text: 'Both.' },
        { type: 'tool-call-delta', index: 1, id: 'a', name: 'read', argumentsDelta: '' },
        { type: 'text-delta', index: 2, text: 'Now.' },
        { type: 'tool-call-delta', index: 3, id: 'a', name: 'fail', argumentsDelta: '{' },
        { type: 'finish', reason: { kind: 'tool-calls' } },
      ],
      { fail: failure },
      { text: 'done' },
    ])
    const kit = await agentKit({ model, tools: tools() })
    await kit.agent.send({ text: 'hi' }).done
    await kit.agent.send({ text: 'again' }).done
    const messages = promptOf(kit.live.session.deriveMessages(), 'scripted').flatMap(
      (message): { role: string; content: object[] }[] => {
        if (message.role === 'system') return []
        if (message.role === 'tool') {
          const results = message.content.map(({ toolCallId, output }) => ({
            type: 'tool_result',
            tool_use_id: toolCallId,
            content: output.value,
          }))
          return [{ role: 'user', content: results }]
        }
        const parts = message.content.map(part =>
          part.type === 'tool-call'
            ? { type: 'tool_use', id: part.toolCallId, name: part.toolName, input: part.input }
            : { type: 'text', text: 'text' in part ? part.text : part.type },
        )
        return [{ role: message.role, content: parts }]
      },
    )
    expect(validateAnthropicMessages({ model: 'm', max_tokens: 9, messages })).toEqual([])
  })
})
