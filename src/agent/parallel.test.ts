/** Calls side by side: barriers, the most at a time, order of results, stops, time-outs, what a result may carry. */
import { describe, expect, it } from 'vitest'
import type { EventOf, SessionEvent } from '../core/events.ts'
import { inboxFold } from '../core/inbox.ts'
import type { JsonValue } from '../core/json.ts'
import { validateLog } from '../format/validate.ts'
import { agentKit, settled, turnedClock, typesOf } from '../testing/agent-kit.ts'
import { type Gate, gate, scriptedModel } from '../testing/scripted-model.ts'
import type { AgentSetup } from './setup.ts'
import { defineTool, type Tool, type ToolContext, type ToolDefinition, type ToolOutput } from './tool.ts'

type Input = { readonly gate: string }

/** Tools whose calls wait for the gate named in their arguments. */
function gatedTools(more: Partial<ToolDefinition<Input>> = {}) {
  const trace: string[] = []
  const gates = new Map<string, Gate>()
  const gateOf = (name: string) => {
    const known = gates.get(name) ?? gate()
    gates.set(name, known)
    return known
  }
  let inFlight = 0
  let most = 0
  const make = (name: string, parallel: boolean | ((input: Input) => boolean)): Tool =>
    defineTool<Input>({
      ...{ name, description: '', parallel, input: { type: 'object', properties: { gate: { type: 'string' } } } },
      execute: async ({ gate: at }) => {
        trace.push(`+${at}`)
        most = Math.max(most, (inFlight += 1))
        await gateOf(at).opened
        inFlight -= 1
        trace.push(`-${at}`)
        return at
      },
      ...more,
    })
  const tools = [make('beside', true), make('alone', false), make('unless_x', ({ gate: at }) => at !== 'x')]
  return { tools, trace, open: (name: string) => gateOf(name).open(), most: () => most }
}

const calls = (...asked: readonly [name: string, at: string][]) => ({
  toolCalls: asked.map(([name, at], index) => ({ id: `c${index + 1}`, name, arguments: JSON.stringify({ gate: at }) })),
})
const toolEvents = (events: readonly SessionEvent[]) =>
  events.flatMap(({ type, data }) => {
    if (type === 'tool/call') return [`+${data.callId}`]
    return type === 'tool/result' ? [`${data.error?.code ?? ''}-${data.message.source.callId}`] : []
  })

async function running(
  answer: ReturnType<typeof calls>,
  gated: ReturnType<typeof gatedTools>,
  more: Partial<AgentSetup> = {},
) {
  // biome-ignore format: one line
  const model = scriptedModel([answer, { text: 'done' }, { text: 'again' }])
  const kit = await agentKit({ model, tools: gated.tools, ...more })
  const turn = kit.agent.send({ text: 'go' })
  await settled()
  return { kit, model, turn }
}

describe('side by side', () => {
  it('[A24] case 94: parallel, exclusive, parallel; never more than the most; results in the order of the answer', async () => {
    const gated = gatedTools()
    const asked = calls(['beside', 'a'], ['beside', 'b'], ['beside', 'c'], ['alone', 'd'], ['beside', 'e'], ['beside', 'f']) // biome-ignore format: one line
    const { kit, turn } = await running(asked, gated, { maxParallelToolCalls: 2 })
    expect(gated.trace).toEqual(['+a', '+b'])
    gated.open('b')
    await settled()
    expect(gated.trace).toEqual(['+a', '+b', '-b', '+c'])
    // The second is done, and waits for the first to be answered.
    expect(toolEvents(await kit.stored())).toEqual(['+c1', '+c2', '+c3'])
    gated.open('c')
    await settled()
    expect(gated.trace.at(-1)).toBe('-c')
    gated.open('a')
    await settled()
    expect(gated.trace.slice(-2)).toEqual(['-a', '+d'])
    for (const name of ['d', 'f', 'e']) {
      gated.open(name)
      await settled()
    }
    expect(await turn.done).toEqual({ kind: 'completed' })
    expect(gated.most()).toBe(2)
    const events = await kit.stored()
    expect(toolEvents(events)).toEqual(['+c1', '+c2', '+c3', '-c1', '-c2', '-c3', '+c4', '-c4', '+c5', '+c6', '-c5', '-c6']) // biome-ignore format: one line
    expect(validateLog({ header: kit.live.session.header, events })).toEqual([])
  })

  it('[A24] each call is asked about right before it starts, and one that must be alone closes the pool', async () => {
    const gated = gatedTools()
    const { turn } = await running(calls(['unless_x', 'a'], ['unless_x', 'x'], ['unless_x', 'b']), gated)
    expect(gated.trace).toEqual(['+a'])
    gated.open('a')
    await settled()
    expect(gated.trace).toEqual(['+a', '-a', '+x'])
    for (const name of ['x', 'b']) gated.open(name)
    await turn.done
    expect(gated.trace).toEqual(['+a', '-a', '+x', '-x', '+b', '-b'])
  })

  it.each<[string, unknown]>([
    ['throws', () => { throw new Error('cannot tell') }], // biome-ignore format: one line
    ['answers with a promise', () => Promise.resolve(true)],
    ['answers with something like true', () => 1],
  ])('[A24] a tool that %s when it is asked runs alone', async (_what, parallel) => {
    const gated = gatedTools({ parallel: parallel as () => boolean })
    const { turn } = await running(calls(['beside', 'a'], ['beside', 'b']), gated)
    expect(gated.trace).toEqual(['+a'])
    for (const name of ['a', 'b']) gated.open(name)
    expect(await turn.done).toEqual({ kind: 'completed' })
  })

  it('[A24] a call that cannot run does not keep the others from running, and is answered in its place', async () => {
    const gated = gatedTools()
    const { kit, turn } = await running(calls(['beside', 'a'], ['nobody', 'b'], ['beside', 'c']), gated)
    for (const name of ['a', 'c']) gated.open(name)
    await turn.done
    expect(toolEvents(await kit.stored())).toEqual(['+c1', '-c1', '+c2', 'UNKNOWN_TOOL-c2', '+c3', '-c3'])
  })
})

describe('stopping', () => {
  it('[A24] case 95: what runs is waited for and committed, the rest is answered without running', async () => {
    const gated = gatedTools()
    const asked = calls(['beside', 'a'], ['beside', 'b'], ['beside', 'c'], ['alone', 'd'])
    const { kit, turn, model } = await running(asked, gated, { maxParallelToolCalls: 2 })
    kit.agent.cancel()
    gated.open('a') // says what came of it right after it was told to stop
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    const events = await kit.stored()
    expect(toolEvents(events)).toEqual([
      ...['+c1', '+c2', '-c1', 'ABORTED-c2'],
      ...['+c3', 'ABORTED_BEFORE_DISPATCH-c3', '+c4', 'ABORTED_BEFORE_DISPATCH-c4'],
    ])
    expect(validateLog({ header: kit.live.session.header, events })).toEqual([])
    expect(await kit.agent.send({ text: 'again' }).done).toEqual({ kind: 'completed' })
    expect(model.requests).toHaveLength(2)
  })

  it('[A24] each call has a signal of its own, and all abort with the turn', async () => {
    const contexts: ToolContext[] = []
    const never = gate()
    const gated = gatedTools({
      execute: async (_input, context) => {
        contexts.push(context)
        await never.opened
      },
    })
    const { kit, turn } = await running(calls(['beside', 'a'], ['beside', 'b']), gated)
    const [first, second] = contexts.map(({ signal }) => signal)
    expect(first).not.toBe(second)
    expect([first?.aborted, second?.aborted]).toEqual([false, false])
    kit.agent.cancel()
    await turn.done
    expect([first?.aborted, second?.aborted]).toEqual([true, true])
  })
})

describe('time-outs', () => {
  it('[A24] a call that takes too long is given up, told to stop, and the turn goes on', async () => {
    const clock = turnedClock()
    const signals: AbortSignal[] = []
    const never = gate()
    const slow = defineTool({
      ...{ name: 'slow', description: '', input: { type: 'object' }, timeoutMs: 2_000 },
      execute: async (_input, { signal }) => {
        signals.push(signal)
        await never.opened
      },
    })
    const model = scriptedModel([{ toolCalls: [{ id: 'c', name: 'slow' }] }, { text: 'went on' }])
    const kit = await agentKit({ model, tools: [slow] }, { clock })
    const turn = kit.agent.send({ text: 'go' })
    await clock.turn(1_999)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    await clock.turn(100)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(await turn.done).toEqual({ kind: 'completed' })
    expect(toolEvents(await kit.stored())).toEqual(['+c', 'TIMEOUT-c'])
    expect(clock.waits()).toEqual([])
  })

  it('[A24] one that ends in time leaves no timer behind', async () => {
    const clock = turnedClock()
    const quick = defineTool({
      name: 'quick',
      description: '',
      input: { type: 'object' },
      timeoutMs: 5,
      execute: () => 1,
    })
    const model = scriptedModel([{ toolCalls: [{ id: 'c', name: 'quick' }] }, { text: 'x' }])
    const kit = await agentKit({ model, tools: [quick] }, { clock })
    await kit.agent.send({ text: 'go' }).done
    expect(clock.waits()).toEqual([])
  })

  it.each([0, -1, Number.NaN])('[A24] a time-out of %s is refused when the tool is made', timeoutMs => {
    const define = () =>
      defineTool({ name: 't', description: '', input: { type: 'object' }, timeoutMs, execute: () => 1 })
    expect(define).toThrow(expect.objectContaining({ code: 'tool' }) as Error)
  })
})

describe('what a result carries', () => {
  const answering = async (output: ToolOutput, steps: readonly { text: string }[] = [{ text: 'done' }]) => {
    const model = scriptedModel([{ toolCalls: [{ id: 'c', name: 't' }] }, ...steps])
    const t = defineTool({ name: 't', description: '', input: { type: 'object' }, execute: () => output })
    const kit = await agentKit({ model, tools: [t] })
    const reason = await kit.agent.send({ text: 'go' }).done
    const events = await kit.stored()
    const result = events.find((event): event is EventOf<'tool/result'> => event.type === 'tool/result')
    return { kit, model, reason, events, result }
  }
  const text = (said: string) => ({ type: 'text' as const, text: said })
  const image = {
    type: 'image' as const,
    attachment: { attachmentId: 'sha256:1', mediaType: 'image/png' as const, bytes: 9, width: 1, height: 1 },
  }

  it('[A6] text, images and files', async () => {
    const file = { type: 'file' as const, attachment: { attachmentId: 'sha256:2', name: 'a.csv', bytes: 3 } }
    const { result, model } = await answering({ content: [text('see'), image, file] })
    expect(result?.data.message.content[0].content).toEqual([text('see'), image, file])
    expect(model.requests[1]?.messages.at(-1)).toEqual(result?.data.message)
  })

  it('[A24] one that concludes the turn ends it without another request', async () => {
    const { model, reason, events } = await answering({ content: [text('sent')], concludesTurn: true })
    expect(reason).toEqual({ kind: 'completed' })
    expect(model.requests).toHaveLength(1)
    expect(typesOf(events).slice(-3)).toEqual(['tool/result', 'step/end', 'turn/end'])
  })

  it('[A24, A13] a turn that was to be concluded goes on when somebody steers it', async () => {
    const model = scriptedModel([{ toolCalls: [{ id: 'c', name: 't' }] }, { text: 'yes' }])
    const t = defineTool({
      ...{ name: 't', description: '', input: { type: 'object' } },
      execute: () => {
        kit.agent.steer({ text: 'and one more' })
        return { content: [], concludesTurn: true }
      },
    })
    const kit = await agentKit({ model, tools: [t] })
    expect(await kit.agent.send({ text: 'go' }).done).toEqual({ kind: 'completed' })
    expect(model.requests).toHaveLength(2)
  })

  it('[A24] context goes to the next step, as a notice, in the order of the calls', async () => {
    const { model, events } = await answering({ content: [text('ok')], context: 'The file has changed since.' })
    const said = model.requests[1]?.messages.at(-1)
    expect(said).toMatchObject({ role: 'user', source: { kind: 'plugin', form: 'notice', summary: 'From the tool t' } })
    expect(said?.content).toEqual([text('The file has changed since.')])
    expect(typesOf(events)).toContain('agent/inbox/spliced')
  })

  it('[A6] a failure in words, and facts nobody sends', async () => {
    const { result, model } = await answering({ content: [text('no such note')], isError: true, meta: { tried: 2 } })
    expect(result?.data.message.content[0]).toMatchObject({ isError: true, content: [text('no such note')] })
    expect(result?.data.meta).toEqual({ tried: 2 })
    expect(result?.data.error).toBeUndefined()
    expect(JSON.stringify(model.requests[1]?.messages)).not.toContain('tried')
  })

  it.each<[string, JsonValue]>([
    ['content that is text', { content: 'x' }],
    ['another member beside', { content: [], more: 1 }],
    ['content of things without a type', { content: [{ text: 'x' }] }],
  ])('[A6] %s is a value like any other', async (_what, output) => {
    const { result } = await answering(output)
    expect(result?.data.message.content[0].content).toEqual([text(JSON.stringify(output))])
  })

  it('[A6] bytes a tool attaches are stored, and the model is sent what they were', async () => {
    const model = scriptedModel([{ toolCalls: [{ id: 'c', name: 't' }] }, { text: 'done' }])
    const t = defineTool({
      ...{ name: 't', description: '', input: { type: 'object' } },
      execute: async (_input, { attach }) => ({ content: [await attach(new TextEncoder().encode('a,b'), 'a.csv')] }),
    })
    const kit = await agentKit({ model, tools: [t] })
    await kit.agent.send({ text: 'go' }).done
    const block = kit.live.session.messages.toArray().flatMap(({ content }) => content).find(({ type }) => type === 'tool-result') // biome-ignore format: one line
    const [file] = (block as unknown as { content: { attachment: { attachmentId: string; name: string } }[] }).content
    expect(file).toMatchObject({ type: 'file', attachment: { name: 'a.csv', bytes: 3 } })
    const bytes = await model.requests[1]?.readBlob(file?.attachment.attachmentId as string)
    expect(new TextDecoder().decode(bytes as Uint8Array)).toBe('a,b')
    expect(kit.live.session.fold(inboxFold).nextStep).toEqual([])
  })
})
