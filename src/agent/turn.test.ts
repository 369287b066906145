/** Turns as they are stored: order of events, prompts, system prompt, headers. */
import { describe, expect, it } from 'vitest'
import type { EventOf, Message } from '../core/events.ts'
import { agentKit, handClock, tool, typesOf } from '../testing/agent-kit.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import type { AgentStatus } from '../core/live.ts'

const source = { kind: 'model', provider: 'scripted', model: 'scripted-1' }
const weather = tool('weather', ({ city }) => `Sunny in ${city as string}`)
const textsOf = (messages: readonly Message[]) =>
  messages.map(message => message.content.map(block => (block.type === 'text' ? block.text : block.type)).join('|'))

describe('a turn', () => {
  it('[A2, A5] stores every event of a turn with a tool call, whole and in order', async () => {
    const clock = handClock(5_000)
    const model = scriptedModel(
      [
        {
          text: 'Let me look.',
          toolCalls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' }],
          usage: { inputTokens: 10, outputTokens: 4 },
        },
        { text: 'It is sunny.', finish: { kind: 'stop' } },
      ],
      { contextWindow: 9_000 },
    )
    const kit = await agentKit({ model, system: 'Be brief.', tools: [weather] }, { clock })
    expect(await kit.agent.send({ text: 'Weather in Oslo?' }).done).toEqual({ kind: 'completed' })

    const at = { time: 5_000 }
    const place = { turn: 1, step: 1 }
    const second = { turn: 1, step: 2 }
    const call = { type: 'tool-call', id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' }
    const description = { name: 'weather', description: 'Does weather', inputSchema: { type: 'object' } }
    expect(await kit.stored()).toEqual([
      { type: 'turn/start', seq: 0, ...at, data: { turn: 1 } },
      { type: 'step/start', seq: 1, ...at, data: place },
      {
        type: 'system/message',
        seq: 2,
        ...at,
        data: {
          ...place,
          message: {
            id: 'id-3',
            role: 'system',
            content: [{ type: 'text', text: 'Be brief.' }],
            source: { kind: 'plugin', plugin: 'palimpsest/system-prompt' },
          },
        },
        surfaceOp: 'append',
      },
      {
        type: 'user/message',
        seq: 3,
        ...at,
        data: {
          id: 'id-2',
          role: 'user',
          content: [{ type: 'text', text: 'Weather in Oslo?' }],
          source: { kind: 'user' },
        },
        surfaceOp: 'append',
      },
      {
        type: 'request/header',
        seq: 4,
        ...at,
        data: {
          header: { config: { provider: 'scripted', model: 'scripted-1' }, tools: [description] },
          reason: 'initial',
        },
      },
      {
        type: 'request/context',
        seq: 5,
        ...at,
        data: { provider: 'scripted', model: 'scripted-1', contextWindow: 9_000 },
      },
      {
        type: 'assistant/message',
        seq: 6,
        ...at,
        data: {
          ...place,
          message: { id: 'id-5', role: 'assistant', content: [{ type: 'text', text: 'Let me look.' }, call], source },
          stream: [
            { type: 'chunk', ...at, chunk: { type: 'block-start', index: 0, blockType: 'text' } },
            { type: 'text-chunks', time0: 5_000, index: 0, dt: [], texts: ['Let me look.'] },
            {
              type: 'chunk',
              ...at,
              chunk: { type: 'block-end', index: 0, block: { type: 'text', text: 'Let me look.' } },
            },
            { type: 'chunk', ...at, chunk: { type: 'block-start', index: 1, blockType: 'tool-call' } },
            {
              type: 'tool-call-chunks',
              time0: 5_000,
              index: 1,
              dt: [],
              id: 'c1',
              name: 'weather',
              args: ['{"city":"Oslo"}'],
            },
            { type: 'chunk', ...at, chunk: { type: 'block-end', index: 1, block: call } },
            { type: 'chunk', ...at, chunk: { type: 'usage', usage: { inputTokens: 10, outputTokens: 4 } } },
            { type: 'chunk', ...at, chunk: { type: 'finish', reason: { kind: 'tool-calls' } } },
          ],
          usage: { inputTokens: 10, outputTokens: 4 },
        },
        surfaceOp: 'append',
      },
      {
        type: 'tool/call',
        seq: 7,
        ...at,
        data: { ...place, callId: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' },
      },
      {
        type: 'tool/result',
        seq: 8,
        ...at,
        data: {
          ...place,
          message: {
            id: 'id-6',
            role: 'user',
            content: [{ type: 'tool-result', toolCallId: 'c1', content: [{ type: 'text', text: 'Sunny in Oslo' }] }],
            source: { kind: 'tool', callId: 'c1' },
          },
        },
        surfaceOp: 'append',
        sourceEventSeqs: [7],
      },
      { type: 'step/end', seq: 9, ...at, data: place },
      { type: 'step/start', seq: 10, ...at, data: second },
      {
        type: 'assistant/message',
        seq: 11,
        ...at,
        data: {
          ...second,
          message: { id: 'id-8', role: 'assistant', content: [{ type: 'text', text: 'It is sunny.' }], source },
          stream: [
            { type: 'chunk', ...at, chunk: { type: 'block-start', index: 0, blockType: 'text' } },
            { type: 'text-chunks', time0: 5_000, index: 0, dt: [], texts: ['It is sunny.'] },
            {
              type: 'chunk',
              ...at,
              chunk: { type: 'block-end', index: 0, block: { type: 'text', text: 'It is sunny.' } },
            },
            { type: 'chunk', ...at, chunk: { type: 'finish', reason: { kind: 'stop' } } },
          ],
        },
        surfaceOp: 'append',
      },
      { type: 'step/end', seq: 12, ...at, data: second },
      { type: 'turn/end', seq: 13, ...at, data: { turn: 1, reason: { kind: 'completed' } } },
    ])
  })

  it('A2 counts turns on and steps anew', async () => {
    const model = scriptedModel([
      { toolCalls: [{ id: 'a', name: 'weather' }] },
      { text: 'one' },
      { toolCalls: [{ id: 'b', name: 'weather' }] },
      { text: 'two' },
    ])
    const kit = await agentKit({ model, tools: [weather] })
    await kit.agent.send({ text: 'first' }).done
    await kit.agent.send({ text: 'second' }).done
    const steps = (await kit.stored()).filter(event => event.type === 'step/start').map(event => event.data)
    expect(steps).toEqual([
      { turn: 1, step: 1 },
      { turn: 1, step: 2 },
      { turn: 2, step: 1 },
      { turn: 2, step: 2 },
    ])
  })

  it('A2 stops a model that never comes to an answer', async () => {
    const model = scriptedModel(
      Array.from({ length: 9 }, (_, index) => ({ toolCalls: [{ id: `c${index}`, name: 'weather' }] })),
    )
    const kit = await agentKit({ model, tools: [weather], maxSteps: 3 })
    expect(await kit.agent.send({ text: 'go' }).done).toMatchObject({ kind: 'error', error: { code: 'STEP_LIMIT' } })
    expect(model.requests).toHaveLength(3)
    expect(kit.live.session.deriveMessages().at(-1)?.source.kind).toBe('tool')
  })

  it('A8 frames begin before the call and end after the event that settles it is committed', async () => {
    const model = scriptedModel([{ text: 'ok' }, { fail: { code: 'SERVER', message: 'no' } }])
    const kit = await agentKit({ model })
    await kit.agent.send({ text: 'one' }).done
    await kit.agent.send({ text: 'two' }).done
    expect(kit.frames.map(frame => frame.kind)).toEqual(['start', 'chunk', 'chunk', 'chunk', 'chunk', 'end', 'start', 'chunk', 'end']) // biome-ignore format: one line
    const starts = kit.frames.filter(frame => frame.kind === 'start')
    const ends = kit.frames.filter(frame => frame.kind === 'end')
    expect(starts.map(frame => frame.revision)).toEqual([1, 2])
    expect(ends.map(frame => frame.outcome)).toMatchObject([
      { kind: 'committed', eventType: 'assistant/message' },
      { kind: 'committed', eventType: 'assistant/attempt' },
    ])
    const settled = kit.live.session.eventAt((ends[0]?.outcome as { seq: number }).seq) as EventOf<'assistant/message'>
    expect(settled.data.message.id).toBe(starts[0]?.messageId)
    expect(kit.frames.flatMap(frame => (frame.kind === 'chunk' ? [frame.index] : []))).toEqual([0, 1, 2, 3, 0])
  })

  it('A8 says what the agent is at', async () => {
    const model = scriptedModel([{ toolCalls: [{ id: 'c', name: 'weather' }] }, { text: 'done' }])
    const kit = await agentKit({ model, tools: [weather] })
    await kit.agent.send({ text: 'go' }).done
    expect(kit.statuses).toEqual<AgentStatus[]>([
      { kind: 'thinking', turn: 1, step: 1 },
      { kind: 'answering', turn: 1, step: 1 },
      { kind: 'tool', turn: 1, step: 1, name: 'weather', callId: 'c' },
      { kind: 'thinking', turn: 1, step: 2 },
      { kind: 'answering', turn: 1, step: 2 },
      { kind: 'idle' },
    ])
  })
})

describe('prompts', () => {
  it.each([
    ['nothing', '', 'empty-prompt'],
    ['only white space', ' \n\t\u00a0 ', 'empty-prompt'],
    ['half a surrogate pair', 'hi \ud83d', 'malformed-prompt'],
    ['the other half', '\ude00 hi', 'malformed-prompt'],
  ])('A2 refuses %s and logs nothing', async (_what, text, code) => {
    const kit = await agentKit({ model: scriptedModel([]) })
    expect(() => kit.agent.send({ text })).toThrow(expect.objectContaining({ name: 'AgentError', code }))
    expect(kit.live.session.length).toBe(0)
    expect(kit.agent.running).toBeNull()
  })

  it('A2 takes a megabyte, line for line and character for character', async () => {
    const text = '🌍 line\r\n\u0000'.repeat(100_000)
    const model = scriptedModel([{ text: 'long' }])
    const kit = await agentKit({ model })
    expect(await kit.agent.send({ text }).done).toEqual({ kind: 'completed' })
    const said = (await kit.stored()).find(event => event.type === 'user/message')
    expect(said?.data).toMatchObject({ content: [{ type: 'text', text }] })
    expect(textsOf(model.requests[0]?.messages ?? [])).toEqual([text])
  })

  it('A2 has the prompt committed when send returns', async () => {
    const kit = await agentKit({ model: scriptedModel([{ text: 'ok' }]) })
    const turn = kit.agent.send({ text: 'now' })
    expect(textsOf(kit.live.session.deriveMessages())).toEqual(['now'])
    await turn.done
  })

  it('A2 refuses two tools of one name before anything is logged', async () => {
    const kit = await agentKit({ model: scriptedModel([]), tools: [weather, weather] })
    expect(() => kit.agent.send({ text: 'hi' })).toThrow(expect.objectContaining({ code: 'tool' }))
    expect(kit.live.session.length).toBe(0)
  })
})

describe('system prompt and header', () => {
  const reasonsOf = (events: readonly { type: string; data: unknown }[]) =>
    events.filter(event => event.type === 'request/header').map(event => (event.data as { reason: string }).reason)

  it('A3 reserves the first place for the prompt, also when there is none', async () => {
    const model = scriptedModel([{ text: 'ok' }])
    const kit = await agentKit({ model })
    await kit.agent.send({ text: 'hi' }).done
    expect(typesOf(await kit.stored()).slice(2, 4)).toEqual(['system/message', 'user/message'])
    expect(model.requests[0]?.messages.map(message => message.role)).toEqual(['user'])
  })

  it('A3 a changed prompt replaces the old one when the session is opened again, and the header says resume', async () => {
    const model = scriptedModel([{ text: 'one' }, { text: 'two' }, { text: 'three' }])
    const first = await agentKit({ model, system: 'Old.' })
    await first.agent.send({ text: 'a' }).done
    const second = await first.reopen({ system: 'New.' })
    await second.agent.send({ text: 'b' }).done
    expect(textsOf(model.requests[1]?.messages ?? [])).toEqual(['New.', 'a', 'one', 'b'])
    const events = await second.stored()
    expect(events.filter(event => event.type === 'system/message').map(event => event.surfaceOp)).toEqual([
      'append',
      { op: 'replace', startSeq: 2, endSeq: 2 },
    ])
    expect(reasonsOf(events)).toEqual(['initial', 'resume'])

    const third = await second.reopen()
    await third.agent.send({ text: 'c' }).done
    expect(reasonsOf(await third.stored())).toEqual(['initial', 'resume', 'resume'])
    expect((await third.stored()).filter(event => event.type === 'system/message')).toHaveLength(2)
  })

  it('A3 logs a header again only for a change or a new series', async () => {
    const model = scriptedModel([{ text: '1' }, { text: '2' }, { text: '3' }, { text: '4' }, { text: '5' }])
    let system = 'Old.'
    let tools = [weather]
    const kit = await agentKit(() => ({ model, system, tools }))
    await kit.agent.send({ text: 'a' }).done
    await kit.agent.send({ text: 'b' }).done
    system = 'New.'
    await kit.agent.send({ text: 'c' }).done
    tools = []
    await kit.agent.send({ text: 'd' }).done
    ;[system, tools] = ['Newer.', [weather]]
    await kit.agent.send({ text: 'e' }).done
    const headers = (await kit.stored()).filter(event => event.type === 'request/header').map(event => event.data)
    expect(headers.map(({ reason, startsSeries }) => [reason, startsSeries])).toEqual([
      ['initial', undefined],
      ['series', undefined],
      ['change', undefined],
      ['change', true],
    ])
    expect(model.requests.map(({ header }) => header.tools?.length ?? 0)).toEqual([1, 1, 1, 0, 1])
  })

  it('A3 logs the context of a request when one of its facts changes', async () => {
    const small = scriptedModel([{ text: '1' }, { text: '2' }], { contextWindow: 100 })
    const large = scriptedModel([{ text: '3' }], { contextWindow: 200, systemPromptUpdate: 'in-history' })
    let model = small
    const kit = await agentKit(() => ({ model }))
    await kit.agent.send({ text: 'a' }).done
    await kit.agent.send({ text: 'b' }).done
    model = large
    await kit.agent.send({ text: 'c' }).done
    const contexts = (await kit.stored()).filter(event => event.type === 'request/context').map(event => event.data)
    expect(contexts).toEqual([
      { provider: 'scripted', model: 'scripted-1', contextWindow: 100 },
      { provider: 'scripted', model: 'scripted-1', contextWindow: 200, systemPromptUpdate: 'in-history' },
    ])
    expect(reasonsOf(await kit.stored())).toEqual(['initial'])
  })

  it('A3 adds a changed prompt at the end where the model takes it so', async () => {
    const model = scriptedModel([{ text: '1' }, { text: '2' }], { systemPromptUpdate: 'in-history' })
    let system = 'Old.'
    const kit = await agentKit(() => ({ model, system }))
    await kit.agent.send({ text: 'a' }).done
    system = 'New.'
    await kit.agent.send({ text: 'b' }).done
    expect(textsOf(model.requests[1]?.messages ?? [])).toEqual(['Old.', 'a', '1', 'New.', 'b'])
    expect(reasonsOf(await kit.stored())).toEqual(['initial'])
  })
})
