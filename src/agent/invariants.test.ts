/** What the agent writes keeps every rule of the format, whatever models, tools and people do. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SessionEvent, StreamChunk } from '../core/events.ts'
import { CallId } from '../core/ids.ts'
import { allInvariants } from '../core/invariants/all.ts'
import { checkRequest } from '../core/invariants/check-request.ts'
import { streamInvariant } from '../core/invariants/stream-invariant.ts'
import type { Invariant } from '../core/invariant.ts'
import { Session } from '../core/session.ts'
import { type AgentKit, agentKit, leftWith, settled, tool } from '../testing/agent-kit.ts'
import { gate, type ScriptedItem, type ScriptedStep, scriptedModel } from '../testing/scripted-model.ts'
import type { AgentSetup } from './agent.ts'
import type { Model } from './model.ts'

const header = { version: 3, id: 's', createdAt: 1_000, isSeeded: false } as const

const restored = (events: readonly SessionEvent[], invariants: readonly Invariant[]): Session =>
  Session.fromRestore({ header, events: [...events], now: () => 1, invariants })

/** The stored log keeps all rules; throws at the first event that breaks one. */
async function expectLawful(kit: AgentKit): Promise<readonly SessionEvent[]> {
  const events = await kit.stored()
  expect(restored(events, allInvariants).firstLiveSeq).toBe(events.length)
  return events
}

const text = (part: string, index = 0): StreamChunk => ({ type: 'text-delta', index, text: part })
const failure = { code: 'SERVER', message: 'no' }
const failed = { throws: new Error('broken') }
const tools = () => [
  tool('read', () => 'ok'),
  tool('fail', () => {
    throw failed.throws
  }),
]
const call = (id: string, name = 'read') => ({ id, name })

describe('what the agent writes', () => {
  it.each<[string, readonly ScriptedStep[]]>([
    ['an answer', [{ reasoning: 'hm', text: 'Hello', usage: { inputTokens: 1, outputTokens: 2 } }]],
    ['tools', [{ text: 'a', toolCalls: [call('a'), call('b', 'fail'), call('c', 'none')] }, { text: 'b' }]],
    ['ids used again, names left out', [{ toolCalls: [call('a'), call('a', '')] }, { toolCalls: [call('a')] }, {}]],
    ['blank text', [{ text: ' \n', toolCalls: [call('a')] }, { text: '' }]],
    ['half a surrogate pair', [{ text: 'a\ud800' }]],
    ['a truncated answer', [{ text: 'a', toolCalls: [call('a')], finish: { kind: 'max-tokens' } }]],
    ['a failure', [{ fail: failure }]],
    ['a failure in the middle', [{ fail: failure, after: [text('Hel')] }]],
    ['a throw in the middle', [{ throws: 7, after: [text('Hel')] }]],
    ['an answer that breaks off', [[text('Hel')]]],
    ['nothing at all', [[]]],
    ['an empty answer', [{}]],
  ])('[I1, A2, A7] is lawful: %s', async (_what, steps) => {
    const kit = await agentKit({
      model: scriptedModel([...steps, { text: 'end' }]),
      tools: tools(),
      system: 'Be brief.',
    })
    await kit.agent.send({ text: 'hi' }).done
    await kit.agent.send({ text: 'again' }).done
    await expectLawful(kit)
  })

  it.each<[string, ScriptedStep]>([
    ['before anything came', { hang: true }],
    ['in a text', { hang: true, after: [text('Hel'), text('lo')] }],
    ['after a block', { hang: true, after: [{ type: 'block-end', index: 0, block: { type: 'text', text: 'Hi' } }] }],
    [
      'in a call',
      { hang: true, after: [{ type: 'tool-call-delta', index: 0, id: 'a', name: 'read', argumentsDelta: '{' }] },
    ],
    ['in a surrogate pair', { hang: true, after: [text('net \ud83c')] }],
    ['stubbornly', { hang: true, stubborn: true, after: [text('Hel')] }],
  ])('[I1, A7] is lawful when a turn is stopped %s', async (_when, step) => {
    const kit = await agentKit({ model: scriptedModel([step, { text: 'end' }]) })
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    kit.agent.cancel()
    await turn.done
    await kit.agent.send({ text: 'again' }).done
    await expectLawful(kit)
  })

  it('[I1, A5] is lawful when a turn is stopped in a tool, and calls are left', async () => {
    const stuck = tool('read', () => new Promise(() => undefined))
    const kit = await agentKit({ model: scriptedModel([{ toolCalls: [call('a'), call('b')] }]), tools: [stuck] })
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    kit.agent.cancel()
    await turn.done
    await expectLawful(kit)
  })

  it('[I1, A13, A14] is lawful with messages that were queued, steered, rewritten and taken back', async () => {
    const pause = gate()
    const end: StreamChunk = { type: 'block-end', index: 0, block: { type: 'text', text: 'a' } }
    const first = [text('a'), pause, end, { type: 'finish', reason: { kind: 'stop' } }] as const
    const steps = [first, { text: 'b' }, { text: 'c' }]
    const kit = await agentKit({ model: scriptedModel(steps) })
    const turn = kit.agent.send({ text: 'one' })
    await settled()
    const queued = kit.agent.send({ text: 'two' })
    kit.agent.steer({ text: 'three' })
    kit.agent.editQueued(queued.messageId, { text: 'two!' })
    kit.agent.removeQueued(kit.agent.send({ text: 'four' }).messageId)
    pause.open()
    await turn.done
    await queued.done
    const types = (await expectLawful(kit)).map(event => event.type)
    expect(types.filter(type => type === 'turn/end')).toHaveLength(2)
    expect(types).toContain('agent/inbox/spliced')
  })

  it('[I1, P2, P3, H3] is lawful when prompt, model and tools change, and the log is opened again', async () => {
    let setup: AgentSetup = { model: scriptedModel([{ text: 'a' }]), system: 'Be brief.' }
    let kit = await agentKit(() => setup)
    await kit.agent.send({ text: 'one' }).done
    setup = { model: scriptedModel([{ text: 'b' }, { text: 'c' }]), system: 'Be long.', tools: tools() }
    await kit.agent.send({ text: 'two' }).done
    kit = await kit.reopen()
    await kit.agent.send({ text: 'three' }).done
    const config = { provider: 'other', model: 'm' }
    setup = { model: scriptedModel([{ text: 'd' }], { config, systemPromptUpdate: 'in-history' }), system: 'Be.' }
    await kit.agent.send({ text: 'four' }).done
    await expectLawful(kit)
  })

  it('[I1, R1] is lawful when it was torn anywhere, repaired, and went on', async () => {
    const script = [{ text: 'a', toolCalls: [call('a'), call('b')] }, { text: 'b' }]
    const kit = await agentKit({ model: scriptedModel(script), tools: tools(), system: 'Be brief.' })
    await kit.agent.send({ text: 'hi' }).done
    const whole = await kit.stored()
    for (let length = 1; length <= whole.length; length += 1) {
      const storage = await leftWith(whole.slice(0, length))
      const torn = await agentKit({ model: scriptedModel([{ text: 'on' }]), tools: tools() }, { storage })
      await torn.agent.send({ text: 'go on' }).done
      await expectLawful(torn)
    }
  })
})

describe('a model that breaks the order of chunks', () => {
  const end: StreamChunk = { type: 'block-end', index: 0, block: { type: 'text', text: 'a' } }
  const usage: StreamChunk = { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } }
  const reasoning: StreamChunk = { type: 'reasoning-delta', index: 0, text: 'hm' }
  const start: StreamChunk = { type: 'block-start', index: 0, blockType: 'text' }
  const stop: StreamChunk = { type: 'finish', reason: { kind: 'stop' } }
  const error: StreamChunk = { type: 'finish', reason: { kind: 'error', failure } }

  it.each<[string, readonly StreamChunk[], string]>([
    ['leaves a block open', [text('a'), stop], 'finishes while block 0 is open'],
    ['writes on after the end of a block', [text('a'), end, text('b'), stop], 'belongs to block 0, which has ended'],
    ['ends a block twice', [end, end, stop], 'belongs to block 0, which has ended'],
    ['opens a block twice', [start, start, end, stop], 'opens block 0 again'],
    [
      'writes another kind into a block',
      [text('a'), reasoning, end, stop],
      'writes reasoning into block 0 of kind text',
    ],
    ['reports usage twice', [end, usage, usage, stop], 'reports usage again'],
    ['sends what nobody knows', [{ type: 'video', index: 0 } as never, stop], 'is of no known type'],
  ])('[I9] %s: what is logged of it breaks that rule alone', async (_what, chunks, problem) => {
    const others = allInvariants.filter(invariant => invariant !== streamInvariant)
    const kit = await agentKit({ model: scriptedModel([chunks, { text: 'fine' }]) })
    await kit.agent.send({ text: 'hi' }).done
    await kit.agent.send({ text: 'again' }).done
    const events = await kit.stored()
    expect(restored(events, others).firstLiveSeq).toBe(events.length)
    expect(() => restored(events, [streamInvariant])).toThrow(problem)
  })

  it.each<[string, readonly StreamChunk[]]>([
    ['and fails', [text('a'), end, text('b'), error]],
    ['and is no answer', [{ type: 'block-end', index: 0 } as StreamChunk, stop]],
  ])('[I9] %s: the attempt may hold whatever came', async (_what, chunks) => {
    const kit = await agentKit({ model: scriptedModel([chunks]) })
    expect(await kit.agent.send({ text: 'hi' }).done).toMatchObject({ kind: 'error' })
    await expectLawful(kit)
  })

  it('[I9, A7] is found out at once by who keeps the rules: the call settles as an attempt, and the next one begins', async () => {
    const kit = await agentKit({ model: scriptedModel([[text('a'), stop], { text: 'fine' }]) })
    for (const invariant of allInvariants) kit.live.session.registerInvariant(invariant)
    const reason = await kit.agent.send({ text: 'hi' }).done
    expect(reason).toMatchObject({ kind: 'error', error: { code: 'INVARIANT' } })
    expect(await kit.agent.send({ text: 'again' }).done).toEqual({ kind: 'completed' })
    const types = (await expectLawful(kit)).map(({ type }) => type)
    expect(types.filter(type => type.startsWith('assistant/'))).toEqual(['assistant/attempt', 'assistant/message'])
  })

  it('[I9, A7] and is stopped: what came so far is kept as an attempt where the message is refused', async () => {
    const script = { hang: true as const, after: [text('a'), end, text('b')] }
    const kit = await agentKit({ model: scriptedModel([script, { text: 'fine' }]) })
    for (const invariant of allInvariants) kit.live.session.registerInvariant(invariant)
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    kit.agent.cancel()
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    expect((await expectLawful(kit)).map(({ type }) => type)).toContain('assistant/attempt')
  })
})

describe('what the agent sends', () => {
  it('[I10, A4] is the request its log stands for', async () => {
    let kit: AgentKit | null = null
    const scripted = scriptedModel([{ toolCalls: [call('a')] }, { text: 'b' }, { text: 'c' }])
    const model: Model = {
      ...scripted,
      stream(request) {
        checkRequest((kit as AgentKit).live.session, request)
        return scripted.stream(request)
      },
    }
    kit = await agentKit({ model, tools: tools(), system: 'Be brief.' })
    for (const prompt of ['one', 'two'])
      expect(await kit.agent.send({ text: prompt }).done).toEqual({ kind: 'completed' })
    expect(scripted.requests).toHaveLength(3)
  })
})

// ── As a law ────────────────────────────────────────────────────────────────────────────────────────────────────────

const words = fc.constantFrom('hi', '', ' \n', 'a\ud800b')
const ids = fc.constantFrom('c1', 'c2', 'c1_2', '', '\ud800')
const names = fc.constantFrom('read', 'fail', 'not there', '')
/** Whole blocks, or with `torn` maybe half ones. */
const block = (index: number, torn: boolean): fc.Arbitrary<StreamChunk[]> => {
  const ended = torn ? fc.boolean() : fc.constant(true)
  const said = (type: 'text' | 'reasoning') =>
    fc
      .tuple(words, ended)
      .map(([said, isEnded]): StreamChunk[] => [
        { type: 'block-start', index, blockType: type },
        { type: `${type}-delta`, index, text: said },
        ...(isEnded ? [{ type: 'block-end' as const, index, block: { type, text: said } }] : []),
      ])
  const called = fc.tuple(ids, names, ended).map(([id, name, isEnded]): StreamChunk[] => [
    { type: 'tool-call-delta', index, id, name, argumentsDelta: '{}' },
    ...(isEnded
      ? [
          {
            type: 'block-end' as const,
            index,
            block: { type: 'tool-call' as const, id: CallId(id), name, arguments: '{}' },
          },
        ]
      : []),
  ])
  return fc.oneof(said('text'), said('reasoning'), called)
}
const content = (torn: boolean): fc.Arbitrary<readonly ScriptedItem[]> =>
  fc
    .nat(3)
    .chain(count => fc.tuple(...Array.from({ length: count }, (_, index) => block(index, torn))))
    .map(blocks => blocks.flat())
const finish = (...kinds: readonly ('stop' | 'tool-calls' | 'max-tokens')[]) =>
  fc.constantFrom(...kinds).map((kind): StreamChunk => ({ type: 'finish', reason: { kind } }))
const step: fc.Arbitrary<ScriptedStep> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(content(false), finish('stop', 'tool-calls')).map(([items, end]) => [...items, end]),
  },
  { weight: 1, arbitrary: fc.tuple(content(true), finish('max-tokens')).map(([items, end]) => [...items, end]) },
  { weight: 1, arbitrary: content(true).map(after => ({ fail: failure, after })) },
  { weight: 1, arbitrary: content(true).map(after => ({ ...failed, after })) },
  { weight: 1, arbitrary: content(true) },
  { weight: 2, arbitrary: content(true).map(after => ({ hang: true as const, after })) },
)

describe('as a law', () => {
  it('[I1, A7] models that keep to the order of chunks make lawful logs', async () => {
    const turns = fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(turns, async script => {
        let model = scriptedModel([])
        const kit = await agentKit(() => ({ model, tools: tools(), maxSteps: 4 }))
        for (const invariant of allInvariants) kit.live.session.registerInvariant(invariant)
        for (const steps of script) {
          model = scriptedModel(steps)
          const { done } = kit.agent.send({ text: 'go on' })
          const timer = setTimeout(() => kit.agent.cancel(), 8)
          await done
          clearTimeout(timer)
        }
        await expectLawful(kit)
      }),
      { numRuns: 60 },
    )
  }, 30_000)
})
