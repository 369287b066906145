/** Tool calls: order, write-ahead, arguments, results, cancels. */
import { describe, expect, it } from 'vitest'
import type { EventOf, SessionEvent } from '../core/events.ts'
import { jsonText, type JsonValue } from '../core/json.ts'
import { agentKit, observedStorage, settled, tool, typesOf } from '../testing/agent-kit.ts'
import { scriptedModel } from '../testing/scripted-model.ts'
import { defineTool, type StandardSchema, type Tool, type ToolContext } from './tool.ts'

const resultsOf = (events: readonly SessionEvent[]) =>
  events.filter((event): event is EventOf<'tool/result'> => event.type === 'tool/result')
/** Text and error of each result. */
const shown = (events: readonly SessionEvent[]) =>
  resultsOf(events).map(({ data }) => [
    data.message.content[0].content.map(block => (block.type === 'text' ? block.text : block.type)).join('|'),
    data.error?.code,
  ])

/** A turn whose first answer asks for `calls`. */
async function runCalls(calls: readonly { name: string; arguments?: string; id?: string }[], tools: readonly Tool[]) {
  const toolCalls = calls.map((call, index) => ({ id: `c${index + 1}`, ...call }))
  const model = scriptedModel([{ toolCalls }, { text: 'done' }])
  const kit = await agentKit({ model, tools })
  const reason = await kit.agent.send({ text: 'go' }).done
  return { kit, model, reason, events: await kit.stored() }
}

const resultOf = async (execute: () => unknown) => {
  const { reason, events, model } = await runCalls([{ name: 'odd' }], [tool('odd', execute)])
  expect(reason).toEqual({ kind: 'completed' })
  expect(model.requests).toHaveLength(2)
  return shown(events)[0]
}

describe('order', () => {
  it('A5 runs calls one after the other, in the order of the answer', async () => {
    const trace: string[] = []
    const work = (name: string, ms: number) =>
      tool(name, async () => {
        trace.push(`${name} starts`)
        await new Promise(resolve => setTimeout(resolve, ms))
        trace.push(`${name} ends`)
        return name
      })
    const { events } = await runCalls([{ name: 'slow' }, { name: 'fast' }, { name: 'slow' }], [work('slow', 6), work('fast', 1)]) // biome-ignore format: one line
    expect(trace).toEqual(['slow starts', 'slow ends', 'fast starts', 'fast ends', 'slow starts', 'slow ends'])
    expect(typesOf(events).filter(type => type.startsWith('tool/'))).toEqual(
      Array.from({ length: 3 }, () => ['tool/call', 'tool/result']).flat(),
    )
    expect(resultsOf(events).map(event => event.data.message.source.callId)).toEqual(['c1', 'c2', 'c3'])
  })

  it('A5 one failing call does not keep the others from running', async () => {
    const bad = tool('bad', () => {
      throw new Error('no')
    })
    const { events } = await runCalls([{ name: 'bad' }, { name: 'good' }], [bad, tool('good', () => 'yes')])
    expect(shown(events)).toEqual([
      ['no', 'TOOL_FAILED'],
      ['yes', undefined],
    ])
  })

  it('A5 the idempotency key names the call event, whatever else is logged meanwhile', async () => {
    const storage = observedStorage()
    const contexts: ToolContext[] = []
    const model = scriptedModel([{ toolCalls: [{ id: 'a', name: 't' }, { id: 'b', name: 't' }] }, { text: 'x' }]) // biome-ignore format: one line
    const kit = await agentKit({ model, tools: [tool('t', (_input, context) => void contexts.push(context))] }, { storage }) // biome-ignore format: one line
    storage.beforeAppend = ({ segment }) => {
      // Somebody else logs an event while the call is being stored.
      if (segment.text.includes('"callId":"a"') && contexts.length === 0) {
        kit.live.session.append('assistant/attempt', { turn: 1, step: 1, stream: [] })
        storage.beforeAppend = () => undefined
      }
    }
    await kit.agent.send({ text: 'go' }).done
    const calls = (await kit.stored()).filter(event => event.type === 'tool/call')
    expect(contexts.map(context => context.idempotencyKey)).toEqual(
      calls.map(({ seq, data }) => `s/${seq}/${data.callId}`),
    )
    expect(contexts[0]).toMatchObject({ sessionId: 's', callId: 'a' })
  })

  it('[A5, A3] an id the model uses again is made unique, in one answer and across answers', async () => {
    const model = scriptedModel([
      { toolCalls: [{ id: 'x', name: 't' }, { id: 'x', name: 't' }] }, // biome-ignore format: one line
      { toolCalls: [{ id: 'x', name: 't' }] },
      { text: 'done' },
    ])
    const kit = await agentKit({ model, tools: [tool('t', (_input, { callId }) => callId)] })
    await kit.agent.send({ text: 'go' }).done
    expect(shown(await kit.stored()).map(([text]) => text)).toEqual(['x', 'x_2', 'x_3'])
  })
})

describe('arguments', () => {
  const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
  const standard: StandardSchema<{ city: string }> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async value =>
        typeof (value as { city?: unknown }).city === 'string'
          ? { value: { city: (value as { city: string }).city.toUpperCase() } }
          : { issues: [{ message: 'must be text', path: [{ key: 'city' }] }, { message: 'and more' }] },
      jsonSchema: { input: () => city },
    },
  }
  const both = (executed: unknown[]) => [
    defineTool({ name: 'json', description: '', input: city, execute: input => void executed.push(input) }),
    defineTool({ name: 'standard', description: '', input: standard, execute: input => void executed.push(input) }),
  ]

  it('A6 arguments that do not fit never reach the body, and the model reads why', async () => {
    const executed: unknown[] = []
    const bad = ['{}', '{"city":7}', '{"city":', 'Oslo', '[]', 'null']
    for (const name of ['json', 'standard']) {
      for (const args of bad.slice(0, name === 'json' ? undefined : 2)) {
        const { events } = await runCalls([{ name, arguments: args }], both(executed))
        expect(shown(events)).toEqual([[expect.stringContaining('do not fit'), 'INVALID_ARGUMENTS']])
      }
    }
    expect(executed).toEqual([])
  })

  it('A6 a Standard Schema says where, and its output is what the body gets', async () => {
    const executed: unknown[] = []
    const { events } = await runCalls([{ name: 'standard', arguments: '{"city":7}' }], both(executed))
    expect(shown(events)[0]?.[0]).toContain('city: must be text; arguments: and more')
    await runCalls([{ name: 'standard', arguments: '{"city":"oslo"}' }], both(executed))
    await runCalls([{ name: 'json', arguments: '{"city":"oslo"}' }], both(executed))
    expect(executed).toEqual([{ city: 'OSLO' }, { city: 'oslo' }])
  })

  it('A6 empty arguments are an empty object, and stay empty in the log', async () => {
    const inputs: unknown[] = []
    const { events } = await runCalls([{ name: 't', arguments: '' }], [tool('t', input => void inputs.push(input))])
    expect(inputs).toEqual([{}])
    expect(events.find(event => event.type === 'tool/call')?.data).toMatchObject({ arguments: '' })
  })

  it('A6 a schema that throws is a failed call', async () => {
    const input = { '~standard': { ...standard['~standard'], validate: () => Promise.reject(new Error('broken')) } }
    const broken = defineTool({ name: 't', description: '', input, execute: () => 'no' })
    const { events } = await runCalls([{ name: 't' }], [broken])
    expect(shown(events)).toEqual([['broken', 'TOOL_FAILED']])
  })

  it('A6 a tool that is not there is answered by name', async () => {
    const { events, reason } = await runCalls([{ name: 'nope' }, { name: '' }, { name: 'x'.repeat(9_000) }], [])
    expect(reason).toEqual({ kind: 'completed' })
    expect(shown(events).map(([, code]) => code)).toEqual(['UNKNOWN_TOOL', 'UNKNOWN_TOOL', 'UNKNOWN_TOOL'])
    expect(shown(events)[0]?.[0]).toContain('nope')
    expect(shown(events)[2]?.[0]?.length).toBeLessThan(200)
  })

  it('A6 one schema serves many tools and is not changed', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } }
    const before = JSON.stringify(schema)
    for (const name of ['a', 'b']) defineTool({ name, description: '', input: schema, execute: () => 1 })
    expect(Object.getOwnPropertyNames(schema)).toEqual(['type', 'properties'])
    expect(JSON.stringify(schema)).toBe(before)
  })

  it('A6 a tool without a name providers take, or without a schema to show, is refused', () => {
    for (const name of ['', 'a b', 'ä', 'x'.repeat(65)]) {
      expect(() => defineTool({ name, description: '', input: {}, execute: () => 1 })).toThrow(
        expect.objectContaining({ code: 'tool' }),
      )
    }
    const { jsonSchema: _none, ...rest } = standard['~standard']
    const input = { '~standard': rest }
    // Libraries hide members of their own in the schemas they make.
    const made = Object.defineProperty({ type: 'object' }, '~standard', { value: rest, enumerable: false })
    const makes = { '~standard': { ...rest, jsonSchema: { input: () => made } } }
    const { description } = defineTool({ name: 't', description: 'd', input: makes, execute: () => 1 })
    expect(description).toEqual({ name: 't', description: 'd', inputSchema: { type: 'object' } })
    expect(() => defineTool({ name: 't', description: '', input, execute: () => 1 })).toThrow(
      expect.objectContaining({ code: 'tool' }),
    )
    expect(() => defineTool({ name: 't', description: '', input, inputSchema: city, execute: () => 1 })).not.toThrow()
  })
})

describe('results', () => {
  const cyclic = new Error('round')
  cyclic.cause = cyclic

  it.each<[string, () => unknown, string, string | undefined]>([
    ['text', () => 'ok', 'ok', undefined],
    ['nothing', () => undefined, '', undefined],
    ['null', () => null, '', undefined],
    ['empty text', () => '', '', undefined],
    ['white space', () => '  \n', '', undefined],
    ['a number', () => 7, '7', undefined],
    ['false', () => false, 'false', undefined],
    ['an object', () => ({ a: [1, null] }), '{"a":[1,null]}', undefined],
    [
      'blocks',
      () => ({
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: ' ' },
        ],
      }),
      'a',
      undefined,
    ],
    ['no blocks', () => ({ content: [] }), '', undefined],
    ['JSON that has a content', () => ({ content: ['a'], n: 1 }), '{"content":["a"],"n":1}', undefined],
    ['JSON whose content is no blocks', () => ({ content: ['a'] }), '{"content":["a"]}', undefined],
    ['a promise', async () => 'later', 'later', undefined],
    ['lone surrogates', () => 'a\ud800b', 'a\ufffdb', undefined],
    ['lone surrogates in JSON', () => ({ a: '\ud800' }), '{"a":"\\ud800"}', undefined],
    ['lone surrogates in a block', () => ({ content: [{ type: 'text', text: '\udc00' }] }), '\ufffd', undefined],
    ['a bigint', () => 1n, expect.any(String) as string, 'TOOL_FAILED'],
    ['NaN', () => Number.NaN, expect.any(String) as string, 'TOOL_FAILED'],
    ['a function', () => () => 1, expect.any(String) as string, 'TOOL_FAILED'],
    ['a date', () => ({ at: new Date(0) }), expect.stringContaining('$.at') as string, 'TOOL_FAILED'],
    ['a map', () => new Map(), expect.any(String) as string, 'TOOL_FAILED'],
    [
      'a block of no shape',
      () => ({ content: [{ type: 'text', text: 7 }] }),
      expect.any(String) as string,
      'TOOL_FAILED',
    ],
    ['a block no log takes', () => ({ content: [{ type: '' }] }), expect.any(String) as string, 'TOOL_FAILED'],
    [
      'a reasoning block without text',
      () => ({ content: [{ type: 'reasoning' }] }),
      expect.any(String) as string,
      'TOOL_FAILED',
    ],
  ])('A6 a tool may return %s', async (_what, execute, text, code) => {
    expect(await resultOf(execute)).toEqual([text, code])
  })

  it.each<[string, unknown, string]>([
    ['a string', 'boom', 'boom'],
    ['empty text', '', 'Unknown error'],
    ['null', null, 'Unknown error'],
    ['undefined', undefined, 'Unknown error'],
    ['an object with functions', { toString: () => 'x', run: () => 1 }, 'Unknown error'],
    ['a cyclic error', cyclic, 'round'],
    ['a chain', new Error('a', { cause: 'b' }), 'a: b'],
    ['white space', new Error(' '), 'Unknown error'],
    ['broken characters', new Error('\ud800'), '\ufffd'],
  ])('A6 a tool may throw %s', async (_what, thrown, text) => {
    const throws = () => {
      throw thrown
    }
    expect(await resultOf(throws)).toEqual([text, 'TOOL_FAILED'])
  })

  it('A6 a tool may return 5 MB, and is heard out when it throws as much', async () => {
    const huge = 'é'.repeat(2_500_000)
    expect(await resultOf(() => huge)).toEqual([huge, undefined])
    const failed = await resultOf(() => {
      throw new Error(huge)
    })
    expect(failed?.[0]?.length).toBeLessThan(2_500)
  })

  it('A6 a tool cannot change what was logged', async () => {
    const content = [{ type: 'text', text: 'before' }]
    const { kit } = await runCalls([{ name: 't' }], [tool('t', () => ({ content }))])
    content[0] = { type: 'text', text: 'after' }
    expect(jsonText(kit.live.session.deriveMessages())).not.toContain('after')
  })
})

describe('cancel during tools', () => {
  it('A7 does not wait for a tool that never returns, and answers the calls after it', async () => {
    const model = scriptedModel([
      { text: 'Two.', toolCalls: [{ id: 'a', name: 'forever' }, { id: 'b', name: 'after' }] }, // biome-ignore format: one line
      { text: 'fine' },
    ])
    const ran: string[] = []
    let signal: AbortSignal | undefined
    const tools = [
      tool('forever', (_input, context) => {
        signal = context.signal
        return new Promise(() => undefined)
      }),
      tool('after', () => void ran.push('after')),
    ]
    const kit = await agentKit({ model, tools })
    const turn = kit.agent.send({ text: 'go' })
    await settled()
    kit.agent.cancel()
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    expect(signal?.aborted).toBe(true)
    expect(ran).toEqual([])
    const events = await kit.stored()
    expect(shown(events).map(([, code]) => code)).toEqual(['ABORTED', 'ABORTED_BEFORE_DISPATCH'])
    expect(resultsOf(events).map(event => event.data.error?.name)).toEqual(['AbortError', 'AbortError'])
    expect(typesOf(events).slice(-6)).toEqual([
      'tool/call',
      'tool/result',
      'tool/call',
      'tool/result',
      'step/end',
      'turn/end',
    ])
    expect(await kit.agent.send({ text: 'more' }).done).toEqual({ kind: 'completed' })
  })

  it('A7 a body that fails after the cancel is not heard', async () => {
    const model = scriptedModel([{ toolCalls: [{ id: 'a', name: 'late' }] }])
    const late = tool('late', async (_input, { signal }) => {
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      throw new Error('late')
    })
    const kit = await agentKit({ model, tools: [late] })
    const turn = kit.agent.send({ text: 'go' })
    await settled()
    kit.agent.cancel()
    await turn.done
    await settled()
    expect(shown(await kit.stored()).map(([, code]) => code)).toEqual(['ABORTED'])
  })

  it('A7 a tool may stop its own turn', async () => {
    const model = scriptedModel([{ toolCalls: [{ id: 'a', name: 'stop' }] }, { text: 'never' }])
    const kit = await agentKit({
      model,
      tools: [
        tool('stop', () => {
          kit.agent.cancel({ kind: 'hook', reason: 'enough' })
          return 'stopped'
        }),
      ],
    })
    expect(await kit.agent.send({ text: 'go' }).done).toMatchObject({ kind: 'aborted', reason: { reason: 'enough' } })
    expect(model.requests).toHaveLength(1)
    expect(resultsOf(await kit.stored())).toHaveLength(1)
  })
})

describe('a result of any depth', () => {
  it('[A6] is shown to the model as text', async () => {
    let deep: JsonValue = 'core'
    for (let depth = 0; depth < 50_000; depth += 1) deep = [deep]
    const { events } = await runCalls([{ name: 'deep' }], [tool('deep', () => deep)])
    const [[text, code] = []] = shown(events)
    expect(code).toBeUndefined()
    expect(text).toBe(`${'['.repeat(50_000)}"core"${']'.repeat(50_000)}`)
  })
})
