/** How a model call settles: every row of the table that exists without retries, cancels and failures. */
import { describe, expect, it } from 'vitest'
import type { CancelCause, EventOf, SessionEvent, StreamChunk } from '../core/events.ts'
import { CallId } from '../core/ids.ts'
import { streamInvariant } from '../core/invariants/stream-invariant.ts'
import { Session } from '../core/session.ts'
import { expandStream } from '../core/stream-records.ts'
import { validateLog } from '../format/validate.ts'
import {
  type AgentKit,
  agentKit,
  countedIds,
  handClock,
  modelOf,
  settled,
  tool,
  typesOf,
} from '../testing/agent-kit.ts'
import { answerChunks, gate, type ScriptedStep, scriptedModel } from '../testing/scripted-model.ts'
import { Agent } from './agent.ts'
import { ModelFailure } from './failure.ts'

const text = (said: string, index = 0): StreamChunk => ({ type: 'text-delta', index, text: said })
const callDelta = (argumentsDelta: string, index = 1): StreamChunk => ({
  type: 'tool-call-delta',
  index,
  id: 'c1',
  name: 'read',
  argumentsDelta,
})
const wholeCall: StreamChunk = {
  type: 'block-end',
  index: 1,
  block: { type: 'tool-call', id: CallId('c1'), name: 'read', arguments: '{}' },
}
const failure = { code: 'SERVER', message: 'Out of order', status: 500 }

/** Events of the turn after what every step begins with. */
const afterRequest = (events: readonly SessionEvent[]): readonly SessionEvent[] =>
  events.slice(events.findIndex(event => event.type === 'request/header') + 2)
const withText = (event: SessionEvent, said: string): SessionEvent => {
  const copy = structuredClone(event) as { data: { message: { content: unknown } } }
  copy.data.message.content = [{ type: 'text', text: said }]
  return copy as unknown as SessionEvent
}
const endOf = (events: readonly SessionEvent[]) => events.at(-1)?.data

/** One turn against `step`, then one that must work, and the events of the first. */
async function settle(step: ScriptedStep, during?: (kit: AgentKit) => void | Promise<void>) {
  const model = scriptedModel([step, { text: 'fine again' }])
  const runs: string[] = []
  const kit = await agentKit({ model, tools: [tool('read', () => void runs.push('read'))] })
  const turn = kit.agent.send({ text: 'hi' })
  await settled()
  await during?.(kit)
  const reason = await turn.done
  const events = afterRequest(await kit.stored())
  expect(endOf(events)).toEqual({ turn: 1, reason })
  expect(kit.frames.at(-1)).toMatchObject({ kind: 'end' })
  return { kit, model, runs, reason, events, frames: [...kit.frames] }
}

/** What must hold after any ending: the agent is idle and the next prompt is answered. */
async function expectUsable(kit: AgentKit) {
  expect(kit.agent.running).toBeNull()
  expect(kit.agent.status).toEqual({ kind: 'idle' })
  expect(await kit.agent.send({ text: 'again' }).done).toEqual({ kind: 'completed' })
}

describe('settlement', () => {
  it('[A4, A7] what cannot be requested settles as nothing, and nothing is sent', async () => {
    let asked = 0
    const config = { provider: 'scripted', model: 'scripted-1' }
    const model = scriptedModel([{ text: 'fine' }])
    // The model's own configuration changes under the request: once logged, no longer what would be sent.
    const shifty = {
      stream: model.stream.bind(model),
      get config() {
        return { ...config, temperature: (asked += 1) < 9 ? asked : 0 }
      },
    }
    const kit = await agentKit({ model: shifty })
    const reason = await kit.agent.send({ text: 'hi' }).done
    expect(reason).toMatchObject({ kind: 'error', error: { code: 'REQUEST_GUARD' } })
    expect(model.requests).toEqual([])
    expect(typesOf(afterRequest(await kit.stored()))).toEqual(['step/end', 'turn/end'])
  })

  it('A7 a model that cannot even start settles as nothing: no attempt, no frame', async () => {
    const kit = await agentKit({
      model: modelOf(() => {
        throw new TypeError('no such model')
      }),
    })
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({
      kind: 'error',
      error: { code: 'UNKNOWN', message: 'no such model' },
    })
    expect(typesOf(afterRequest(await kit.stored()))).toEqual(['step/end', 'turn/end'])
    expect(kit.frames).toEqual([])
  })

  it.each<[string, ScriptedStep, object]>([
    ['a finish of kind error', { fail: failure, after: [text('half')] }, failure],
    ['a finish of kind aborted', [text('half'), { type: 'finish', reason: { kind: 'aborted', failure } }], failure],
    [
      'a stream that throws',
      { throws: new Error('reset'), after: [text('half')] },
      { code: 'UNKNOWN', message: 'reset' },
    ],
    ['a stream that throws known facts', { throws: new ModelFailure(failure), after: [text('half')] }, failure],
    ['a stream that breaks off', [text('half')], { code: 'TRANSPORT' }],
    ['a finish without a reason', [text('half'), { type: 'finish' } as never], { code: 'STREAM' }],
    ['a text that is none', [{ type: 'text-delta', index: 0, text: 7 } as never], { code: 'STREAM' }],
    [
      'a block nobody can assemble',
      [
        { type: 'block-start', index: 0, blockType: 'hologram' },
        { type: 'finish', reason: { kind: 'stop' } },
      ],
      { code: 'STREAM' },
    ],
    [
      'a failure after a block nobody can assemble',
      [
        { type: 'block-start', index: 0, blockType: 'hologram' },
        { type: 'finish', reason: { kind: 'error', failure } },
      ],
      failure,
    ],
    ['a stream that never says anything', [], { code: 'TRANSPORT' }],
    ['a stream that breaks off inside a call', [text('half'), callDelta('{"a":')], { code: 'TRANSPORT' }],
    ['a stream that breaks off after a call', [text('half'), wholeCall], { code: 'TRANSPORT' }],
    [
      'a chunk that is not JSON',
      [text('half'), { type: 'text-delta', index: 0, text: undefined } as never],
      { code: 'NOT_JSON' },
    ],
    ['a list instead of a chunk', [text('half'), [] as never], { code: 'STREAM' }],
  ])('A7 %s settles as an attempt, no tool runs, and the next prompt works', async (_what, step, expected) => {
    const { kit, model, runs, reason, events } = await settle(step)
    expect(reason).toMatchObject({ kind: 'error', error: expected })
    expect(typesOf(events)).toEqual(['assistant/attempt', 'step/end', 'turn/end'])
    expect(runs).toEqual([])
    await expectUsable(kit)
    // What failed is not shown to the model.
    expect(model.requests[1]?.messages.map(message => message.role)).toEqual(['user', 'user'])
  })

  it('[A7] what is no chunk at all settles as an attempt with what came before', async () => {
    const kit = await agentKit({
      model: modelOf(async function* () {
        yield text('half')
        yield null as never
      }),
    })
    expect(await kit.agent.send({ text: 'hi' }).done).toMatchObject({ kind: 'error', error: { code: 'STREAM' } })
    const [attempt] = afterRequest(await kit.stored())
    expect(attempt).toMatchObject({ type: 'assistant/attempt', data: { stream: [{ texts: ['half'] }] } })
  })

  it('[A7] a turn that is stopped after a block that is none keeps what was visible', async () => {
    const odd = { type: 'block-end', index: 1, block: { type: 'text' } } as never
    const { events } = await settle({ hang: true, after: [text('Hello'), odd] }, ({ agent }) => agent.cancel())
    expect(events[0]).toMatchObject({
      type: 'assistant/attempt',
      data: { stream: [{ texts: ['Hello'] }, { chunk: odd }] },
    })
  })

  it('A7 an attempt keeps the whole stream', async () => {
    const { events } = await settle({ fail: failure, after: [text('ha'), text('lf')] })
    expect(events[0]?.data).toEqual({
      turn: 1,
      step: 1,
      stream: [
        { type: 'text-chunks', time0: 1_000, index: 0, dt: [0], texts: ['ha', 'lf'] },
        { type: 'chunk', time: 1_000, chunk: { type: 'finish', reason: { kind: 'error', failure } } },
      ],
    })
  })

  it.each<[string, ScriptedStep, string, readonly unknown[]]>([
    ['an answer', { text: 'ok' }, 'completed', [{ type: 'text', text: 'ok' }]],
    ['an empty answer', [{ type: 'finish', reason: { kind: 'stop' } }], 'completed', []],
    ['a blank answer', { text: ' \n' }, 'completed', []],
    ['reasoning alone', { reasoning: 'hm' }, 'completed', [{ type: 'reasoning', text: 'hm' }]],
    [
      'an answer cut by length, its call dropped',
      answerChunks({ text: 'ok', toolCalls: [{ id: 'c1', name: 'read' }], finish: { kind: 'max-tokens' } }),
      'max-tokens',
      [{ type: 'text', text: 'ok' }],
    ],
    ['broken characters', { text: 'a\ud800b' }, 'completed', [{ type: 'text', text: 'a\ufffdb' }]],
  ])('A7 %s settles as a message', async (_what, step, kind, content) => {
    const { kit, runs, reason, events } = await settle(step)
    expect(reason).toEqual({ kind })
    expect(typesOf(events)).toEqual(['assistant/message', 'step/end', 'turn/end'])
    expect(events[0]?.data).toMatchObject({ message: { content } })
    expect(runs).toEqual([])
    await expectUsable(kit)
  })

  const cut = { hang: true, after: [text('net \ud83c')] } as const
  it.each<[string, ScriptedStep, string]>([
    ['cut by a stop inside of one', cut, 'net '],
    ['whole, with half of one', { text: 'net \ud83c' }, 'net \ufffd'],
  ])('[A7, I9, F9, L13] an answer of surrogate pairs is lawful: %s', async (_what, step, said) => {
    const { kit, events } = await settle(step, ({ agent }) => agent.cancel())
    const { data } = events[0] as EventOf<'assistant/message'>
    expect(data.message.content).toEqual([{ type: 'text', text: said }])
    expect(expandStream(data.stream).map(({ chunk }) => chunk)).toContainEqual(text('net \ud83c'))
    const log = await kit.stored()
    expect(validateLog({ header: kit.live.session.header, events: log })).toEqual([])
    const restored = { header: kit.live.session.header, events: [...log], now: () => 1, invariants: [streamInvariant] }
    expect(Session.fromRestore(restored).firstLiveSeq).toBe(log.length)
    const lie = log.map(event => (event.seq === events[0]?.seq ? withText(event, `${said}!`) : event))
    expect(validateLog({ header: kit.live.session.header, events: lie })).toMatchObject([{ code: 'stream' }])
  })

  it('A7 a call is run though the answer says it stopped', async () => {
    const { runs } = await settle(answerChunks({ toolCalls: [{ id: 'c1', name: 'read' }], finish: { kind: 'stop' } }))
    expect(runs).toEqual(['read'])
  })

  it('A7 what comes after the finish is not read', async () => {
    const { events } = await settle([text('a'), { type: 'finish', reason: { kind: 'stop' } }, text('b')])
    expect(events[0]?.data).toMatchObject({ message: { content: [{ type: 'text', text: 'a' }] } })
  })

  it.each([
    ['a string', 'boom', 'boom'],
    ['null', null, 'Unknown error'],
    ['a number', 7, '7'],
    ['an object', { reason: 1 }, 'Unknown error'],
    ['a chain', new Error('outer', { cause: new Error('inner') }), 'outer: inner'],
    ['an error without words', new Error(''), 'Error'],
    ['an error of white space', new Error(' \n'), 'Unknown error'],
  ])('A10 a model may throw %s', async (_what, thrown, message) => {
    const { reason } = await settle({ throws: thrown })
    expect(reason).toMatchObject({ kind: 'error', error: { code: 'UNKNOWN', message } })
  })

  it('A10 a model may throw what cannot be looked at, and texts without end', async () => {
    const hostile = {
      get message(): string {
        throw new TypeError('no')
      },
      get cause(): unknown {
        throw new TypeError('no')
      },
    }
    expect((await settle({ throws: hostile })).reason).toMatchObject({ error: { message: 'Unknown error' } })
    const cyclic = new Error('round')
    cyclic.cause = cyclic
    expect((await settle({ throws: cyclic })).reason).toMatchObject({ error: { message: 'round' } })
    const { reason } = await settle({ throws: new Error('x'.repeat(1_000_000)) })
    expect(JSON.stringify(reason).length).toBeLessThan(3_000)
  })
})

describe('cancel', () => {
  const causes: readonly CancelCause[] = [{ kind: 'user' }, { kind: 'parent' }, { kind: 'hook', reason: 'budget' }]

  it.each(causes)('A7 keeps what was visible, and says who stopped it: $kind', async cause => {
    const { kit, model, reason, events } = await settle({ hang: true, after: [text('Hel'), text('lo')] }, each =>
      each.agent.cancel(cause),
    )
    expect(reason).toEqual({ kind: 'aborted', reason: cause })
    expect(typesOf(events)).toEqual(['assistant/message', 'step/end', 'turn/end'])
    expect(events[0]?.data).toMatchObject({
      interrupted: true,
      message: { content: [{ type: 'text', text: 'Hello' }] },
      stream: [{ texts: ['Hel', 'lo'] }],
    })
    await expectUsable(kit)
    expect(model.requests[1]?.messages.map(message => message.role)).toEqual(['user', 'assistant', 'user'])
  })

  it('A7 keeps closed and open blocks, and a usage that came', async () => {
    const items: StreamChunk[] = [
      { type: 'block-end', index: 0, block: { type: 'reasoning', text: 'hm' } },
      text('So', 1),
      text(' ', 2),
      { type: 'usage', usage: { inputTokens: 3, outputTokens: 2 } },
    ]
    const { events } = await settle({ hang: true, after: items }, kit => kit.agent.cancel())
    expect(events[0]?.data).toMatchObject({
      message: {
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'So' },
        ],
      },
      usage: { inputTokens: 3, outputTokens: 2 },
    })
  })

  it.each<[string, readonly StreamChunk[]]>([
    ['nothing', []],
    ['white space', [text(' \n')]],
    ['half a call', [callDelta('{"pa')]],
    ['a whole call', [wholeCall]],
  ])('A7 settles as an attempt when only %s had come', async (_what, after) => {
    const { kit, runs, reason, events } = await settle({ hang: true, after }, each => each.agent.cancel())
    expect(reason).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    expect(typesOf(events)).toEqual(['assistant/attempt', 'step/end', 'turn/end'])
    expect(runs).toEqual([])
    await expectUsable(kit)
  })

  it('A7 leaves half a call out of what it keeps', async () => {
    const { runs, events } = await settle({ hang: true, after: [text('Look:'), callDelta('{"pa')] }, kit =>
      kit.agent.cancel(),
    )
    expect(events[0]?.data).toMatchObject({
      message: { content: [{ type: 'text', text: 'Look:' }] },
      interrupted: true,
    })
    expect(runs).toEqual([])
  })

  it('A7 does not wait for a stream that ignores the signal', async () => {
    const { kit, events } = await settle({ hang: true, stubborn: true, after: [text('Hel')] }, each =>
      each.agent.cancel(),
    )
    expect(events[0]?.type).toBe('assistant/message')
    await expectUsable(kit)
  })

  it('A7 does not take the echo of a cancel for a failure', async () => {
    const pause = gate()
    const { reason } = await settle({ throws: new DOMException('aborted', 'AbortError'), after: [pause] }, kit => {
      kit.agent.cancel()
      pause.open()
    })
    expect(reason).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
  })

  it('A7 the first cause wins', async () => {
    const { reason } = await settle({ hang: true }, kit => {
      kit.agent.cancel({ kind: 'hook', reason: 'first' })
      kit.agent.cancel({ kind: 'user' })
    })
    expect(reason).toEqual({ kind: 'aborted', reason: { kind: 'hook', reason: 'first' } })
  })

  it('A7 right after send, before anything is asked', async () => {
    const model = scriptedModel([{ text: 'late' }, { text: 'fine again' }])
    const kit = await agentKit({ model })
    const turn = kit.agent.send({ text: 'hi' })
    kit.agent.cancel()
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    expect(model.requests).toEqual([])
    expect(typesOf(afterRequest(await kit.stored()))).toEqual(['step/end', 'turn/end'])
    await expectUsable(kit)
  })

  it('A7 when idle does nothing, also to the next turn', async () => {
    const kit = await agentKit({ model: scriptedModel([{ text: 'a' }]) })
    kit.agent.cancel()
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
  })

  it('A7 dispose stops the turn and waits for its end', async () => {
    const kit = await agentKit({ model: scriptedModel([{ hang: true, after: [text('Hel')] }]) })
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    await kit.agent.dispose()
    expect(kit.live.session.eventAt(kit.live.session.length - 1)).toMatchObject({ type: 'turn/end' })
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'disposed' } })
  })
})

describe('stopping at once', () => {
  it('[A7] a turn can be stopped from its first status on: nothing is sent, the prompt is kept', async () => {
    const model = scriptedModel([{ text: 'never asked for' }])
    const kit = await agentKit({ model })
    const agent = new Agent({
      live: kit.live,
      setup: () => ({ model }),
      clock: handClock(5),
      newId: countedIds('early'),
      onStatus: ({ kind }) => {
        if (kind === 'thinking') agent.cancel()
      },
    })
    expect(await agent.send({ text: 'hi' }).done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    expect(model.requests).toEqual([])
    expect(typesOf(await kit.stored())).toContain('user/message')
    expect(agent.status).toEqual({ kind: 'idle' })
  })
})
