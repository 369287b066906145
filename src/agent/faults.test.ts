/** What somebody else's code may do to an agent: hooks, tools, models, listeners, setups; and moments that are too early or too late. */
import { describe, expect, it } from 'vitest'
import type { SessionEvent, StreamChunk } from '../core/events.ts'
import { turnResumed } from '../core/last-turn.ts'
import { validateLog } from '../format/validate.ts'
import { type AgentKit, agentKit, modelOf, settled, tool, typesOf } from '../testing/agent-kit.ts'
import { answerChunks, gate, scriptedModel } from '../testing/scripted-model.ts'
import { systemClock } from './clock.ts'
import type { AgentHooks } from './hooks.ts'
import { defineTool } from './tool.ts'

const calling = (name: string) => ({ toolCalls: [{ id: 'c', name }] })
const codes = (events: readonly SessionEvent[]) =>
  events.flatMap(event => (event.type === 'tool/result' ? [event.data.error?.code ?? 'ok'] : []))
const pendingTexts = ({ agent }: AgentKit) =>
  agent.inbox.nextTurn.flatMap(({ content }) => content.map(block => (block.type === 'text' ? block.text : '')))
const ends = (events: readonly SessionEvent[]) =>
  events.flatMap(event => (event.type === 'turn/end' ? [event.data.reason.kind] : []))
const expectUsable = async (kit: AgentKit) => {
  expect(await kit.agent.send({ text: 'again' }).done).toEqual({ kind: 'completed' })
  expect(validateLog({ header: kit.live.session.header, events: await kit.stored() })).toEqual([])
}

describe('a call that crashes its page each time', () => {
  it('[A25] does not run again for ever, though it may run again', async () => {
    const never = gate()
    let runs = 0
    const read = defineTool({
      ...{ name: 'read', description: '', input: { type: 'object' }, idempotent: true },
      execute: async () => {
        runs += 1
        await never.opened
      },
    })
    let kit = await agentKit({ model: scriptedModel([calling('read')]), tools: [read] }, { resume: 'auto' })
    kit.agent.send({ text: 'hi' })
    await settled()
    for (let round = 0; round < 8; round += 1) {
      kit = await kit.crash({ model: scriptedModel([]) })
      await settled()
    }
    expect(runs).toBe(4)
    const events = await kit.stored()
    expect(typesOf(events).filter(type => type === turnResumed.type)).toHaveLength(3)
    expect([codes(events), ends(events)]).toEqual([['TOOL_OUTCOME_UNKNOWN'], ['interrupted']])
    expect(validateLog({ header: kit.live.session.header, events })).toEqual([])
  })
})

describe('questions', () => {
  const asking = (hook: AgentHooks, steps = [calling('mail')]) => {
    const sent: string[] = []
    const mail = tool('mail', (_input, { callId }) => void sent.push(callId))
    return { sent, setup: { model: scriptedModel([...steps, { text: 'done' }]), tools: [mail], hooks: [hook] } }
  }

  it('[A23, A25] one that is in the log has to be answered, though nobody would ask it any more', async () => {
    const { sent, setup } = asking({ preExecute: () => ({ kind: 'ask', reason: 'sure?' }) })
    const kit = await agentKit(setup)
    kit.agent.send({ text: 'mail' })
    await settled()
    const again = await kit.crash({ model: scriptedModel([{ text: 'done' }]), hooks: [] })
    await settled()
    expect([sent, again.agent.status.kind]).toEqual([[], 'approval'])
    again.agent.approve('c', 'rejected')
    await settled()
    expect([sent, codes(await again.stored())]).toEqual([[], ['REJECTED']])
  })

  it.each(['allowed-once', 'rejected'] as const)(
    '[A23, A25] %s in the moment the session is closed counts, and nothing runs',
    async answer => {
      const { sent, setup } = asking({ preExecute: () => ({ kind: 'ask' }) })
      const kit = await agentKit(setup)
      kit.agent.send({ text: 'mail' })
      await settled()
      kit.agent.approve('c', answer)
      await kit.agent.dispose()
      const expected = answer === 'rejected' ? 'REJECTED' : 'ABORTED_BEFORE_DISPATCH'
      expect([sent, codes(await kit.stored())]).toEqual([[], [expected]])
      expect(ends(await kit.stored())).toEqual(['aborted'])
    },
  )

  it.each<[string, unknown]>([
    ['the word of another hook', { kind: 'reject' }],
    ['a text', 'deny'],
    ['a name every object has', { kind: 'toString' }],
  ])('[A20, A23] a hook that decides about a call with %s has not allowed it', async (_what, decision) => {
    const { sent, setup } = asking({ preExecute: () => decision as never })
    const kit = await agentKit(setup)
    await kit.agent.send({ text: 'mail' }).done
    expect([sent, codes(await kit.stored())]).toEqual([[], ['DENIED']])
  })
})

describe('hooks before a step', () => {
  it('[A20] null is no opinion', async () => {
    const hooks: AgentHooks[] = [{ preStep: () => null as never }, { preExecute: () => null as never }]
    const kit = await agentKit({ model: scriptedModel([{ text: 'ok' }, { text: 'ok' }]), hooks })
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    await expectUsable(kit)
  })

  it.each<[string, unknown]>([
    ['an unknown kind', { kind: 'allow' }],
    ['no messages', { kind: 'enter' }],
  ])('[A2, A20] %s ends the turn with an error, and nothing is lost', async (_what, decision) => {
    let isOdd = true
    const hooks: AgentHooks[] = [{ preStep: () => (isOdd ? (decision as never) : undefined) }]
    const kit = await agentKit({ model: scriptedModel([{ text: 'ok' }, { text: 'ok' }]), hooks })
    kit.agent.send({ text: 'hi' })
    expect(await kit.agent.running?.done).toMatchObject({ kind: 'error', error: { code: 'SETUP' } })
    expect(pendingTexts(kit)).toEqual(['hi'])
    isOdd = false
    await expectUsable(kit)
  })
})

describe('causes, listeners and models', () => {
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a function', () => undefined],
    ['a circle', (() => { const circle = {}; return Object.assign(circle, { circle }) })()], // biome-ignore format: one line
  ])("[A2] a stop whose cause is %s ends the turn as a person's", async (_what, cause) => {
    const kit = await agentKit({ model: scriptedModel([{ hang: true }, { text: 'ok' }]) })
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    kit.agent.cancel(cause as never)
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    await expectUsable(kit)
  })

  it('[A2] a cause that no rule takes still ends the turn', async () => {
    const kit = await agentKit({ model: scriptedModel([{ hang: true }, { text: 'ok' }]) })
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    kit.live.session.registerInvariant({
      key: 'causes',
      problem: ({ event }) => (JSON.stringify(event.data).includes('stranger') ? 'nobody knows it' : null),
    })
    kit.agent.cancel({ kind: 'stranger' } as never)
    expect(await turn.done).toMatchObject({ kind: 'error', error: { code: 'INVARIANT' } })
    expect(await kit.agent.send({ text: 'again' }).done).toEqual({ kind: 'completed' })
  })

  it('[A14] a prompt whose turn fails before it was said is pending again', async () => {
    const kit = await agentKit({ model: scriptedModel([{ text: 'ok' }, { text: 'ok' }]) })
    const remove = kit.live.onCommit(({ event }) => {
      if (event.type === 'turn/start') kit.agent.cancel()
    })
    kit.agent.send({ text: 'hi' })
    expect(await kit.agent.running?.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    expect(pendingTexts(kit)).toEqual(['hi'])
    remove()
    await expectUsable(kit)
  })

  it('[A24] who listens to frames and the status has no say in the log', async () => {
    const errors: unknown[] = []
    const ran: string[] = []
    const tools = [tool('t', () => void ran.push('t'))]
    const options = { onError: (error: unknown) => errors.push(error) }
    const kit = await agentKit({ model: scriptedModel([calling('t'), { text: 'ok' }, { text: 'ok' }]), tools }, options)
    kit.frames.push = () => {
      throw new Error('no room')
    }
    kit.statuses.push = () => {
      throw new Error('no room')
    }
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    expect(ran).toEqual(['t'])
    expect(new Set(errors.map(String))).toEqual(new Set(['Error: no room']))
    await expectUsable(kit)
  })

  it('[A1] an iterator written by hand is taken as a loop takes it', async () => {
    const byHand = (): AsyncIterable<StreamChunk> => {
      const rest = [...answerChunks({ text: 'by hand' })]
      const next = () => {
        const value = rest.shift()
        return value === undefined ? { done: true, value } : { done: false, value }
      }
      const stop = () => {
        throw new Error('cannot clean up')
      }
      return { [Symbol.asyncIterator]: () => ({ next, return: stop }) as never }
    }
    const kit = await agentKit({ model: modelOf(byHand) })
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    await expectUsable(kit)
  })
})

describe('setups', () => {
  it.each<[string, object]>([
    ['a prompt that is no text', { system: null }],
    ['no steps', { maxSteps: 0 }],
    ['half a call', { maxParallelToolCalls: 0.5 }],
    ['a wait below nothing', { retry: { baseDelayMs: -1 } }],
    ['retries without end', { retry: { maxRetries: Infinity } }],
  ])('[A11] %s is refused, and nothing is logged', async (_what, odd) => {
    const kit = await agentKit({ model: scriptedModel([]), ...odd })
    expect(() => kit.agent.send({ text: 'hi' })).toThrow(expect.objectContaining({ code: 'setup' }) as Error)
    expect(kit.live.session.length).toBe(0)
  })

  it('[A21] what is undefined is as if it were left out', async () => {
    const retry = { maxRetries: undefined } as never
    const kit = await agentKit({ model: scriptedModel([{ fail: { code: 'SERVER', message: 'no' } }]), retry })
    kit.agent.send({ text: 'hi' })
    await settled()
    expect(kit.agent.status).toMatchObject({ kind: 'retrying', maxRetries: 5 })
    kit.agent.cancel()
    await kit.agent.running?.done
  })
})

describe('maintenance', () => {
  it('[A19] work that throws at once leaves an agent that is idle', async () => {
    const kit = await agentKit({ model: scriptedModel([{ text: 'ok' }]) })
    const work = (): Promise<never> => {
      throw new Error('at once')
    }
    await expect(kit.agent.maintain(work)).rejects.toThrow('at once')
    await expectUsable(kit)
  })

  it('[A19] what it sends itself waits until it is over, and so does a resume', async () => {
    const kit = await agentKit({ model: scriptedModel([{ hang: true }, { text: 'ok' }]) })
    let isBeside: boolean | null = null
    await kit.agent.maintain(async () => {
      kit.agent.send({ text: 'later' })
      isBeside = kit.agent.running !== null
    })
    await settled()
    expect([isBeside, kit.agent.running?.turn]).toEqual([false, 1])
    kit.agent.cancel()
    await kit.agent.running?.done
    kit.agent.inject({ text: 'note' })
    await kit.agent.maintain(async () => void kit.agent.resume())
    expect(await kit.agent.running?.done).toEqual({ kind: 'completed' })
  })
})

describe('tools', () => {
  it.each([
    ['a call', { type: 'tool-call', id: 'x', name: 'y', arguments: '{}' }],
    ['an image without bytes', { type: 'image' }],
    ['text that is none', { type: 'text', text: 7 }],
  ])('[A6] %s is no content of a result', async (_what, block) => {
    const model = scriptedModel([calling('t'), { text: 'ok' }, { text: 'ok' }])
    const kit = await agentKit({ model, tools: [tool('t', () => ({ content: [block] }))] })
    await kit.agent.send({ text: 'hi' }).done
    expect(codes(await kit.stored())).toEqual(['TOOL_FAILED'])
    await expectUsable(kit)
  })

  it('[A24] a time-out no timer of the platform takes is a long one', async () => {
    let isDue = false
    const stop = systemClock.after(Number.MAX_SAFE_INTEGER, () => {
      isDue = true
    })
    await new Promise(resolve => setTimeout(resolve, 20))
    stop()
    expect(isDue).toBe(false)
  })
})
