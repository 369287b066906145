/** Where others have a say in a turn. */
import { describe, expect, it } from 'vitest'
import type { SessionEvent, TurnEndReason, UserMessage } from '../core/events.ts'
import { validateLog } from '../format/validate.ts'
import { agentKit, settled, tool, typesOf } from '../testing/agent-kit.ts'
import { gate, scriptedModel, type ScriptedStep } from '../testing/scripted-model.ts'
import type { AgentHooks } from './hooks.ts'
import { noticeMessage } from './messages.ts'

const failure = { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'too long' }

async function hooked(steps: readonly ScriptedStep[], hooks: readonly AgentHooks[]) {
  const model = scriptedModel(steps)
  const runs: unknown[] = []
  const kit = await agentKit({ model, hooks, tools: [tool('t', input => void runs.push(input))] })
  return { kit, model, runs }
}
const texts = (messages: readonly { content: UserMessage['content'] }[]) =>
  messages.flatMap(({ content }) => content.map(block => (block.type === 'text' ? block.text : block.type)))
const count = (events: readonly SessionEvent[], type: string) => typesOf(events).filter(each => each === type).length

describe('before a step', () => {
  it('[A20] what the last hook decides is what the step begins with', async () => {
    const { kit, model } = await hooked(
      [{ text: 'ok' }],
      [
        {
          preStep: ({ messages }) => ({
            kind: 'enter',
            messages: [...messages, noticeMessage('n1', 'It rains.', 'Weather')],
          }),
        },
        {
          preStep: async ({ messages }) => ({
            kind: 'enter',
            messages: [...messages, noticeMessage('n2', 'Noon.', 'Time')],
          }),
        },
        {},
        { preStep: () => undefined },
      ],
    )
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    expect(texts(model.requests[0]?.messages ?? [])).toEqual(['hi', 'It rains.', 'Noon.'])
    const { header } = kit.live.session
    expect(validateLog({ header, events: await kit.stored() })).toEqual([])
  })

  it('[A20] a rejected one ends the turn as blocked: nothing is asked, and what was taken does not come back', async () => {
    let isOpen = false
    const { kit, model } = await hooked(
      [{ text: 'ok' }],
      [{ preStep: () => (isOpen ? undefined : { kind: 'reject' }) }],
    )
    expect(await kit.agent.send({ text: 'secret plan' }).done).toEqual({ kind: 'blocked' })
    expect(model.requests).toEqual([])
    const events = await kit.stored()
    expect(typesOf(events)).toEqual(['agent/inbox/spliced', 'turn/start', 'agent/inbox/spliced', 'turn/end'])
    expect(kit.agent.inbox).toMatchObject({ nextStep: [], nextTurn: [], claimed: [] })
    isOpen = true
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    expect(texts(model.requests[0]?.messages ?? [])).toEqual(['hi'])
  })

  it('[A20] one that is left without messages ends the turn without a step, and what was left out stays out', async () => {
    const { kit, model } = await hooked([], [{ preStep: () => ({ kind: 'enter', messages: [] }) }])
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    await settled()
    expect(kit.agent.running).toBeNull()
    expect([model.requests.length, count(await kit.stored(), 'turn/start')]).toEqual([0, 1])
  })

  it('[A20] a prompt that waits for a hook is in the log already, and a stop gives it back', async () => {
    const never = gate()
    const { kit } = await hooked([{ text: 'ok' }], [{ preStep: () => never.opened.then(() => undefined) }])
    kit.agent.send({ text: 'hi' })
    await settled()
    expect(kit.agent.status).toEqual({ kind: 'thinking', turn: 1, step: 1 })
    expect(JSON.stringify(await kit.stored())).toContain('hi')
    const { running } = kit.agent
    kit.agent.cancel()
    expect(await running?.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    expect(texts(kit.agent.inbox.nextTurn)).toEqual(['hi'])
  })

  it('[A2, A20] hooks that have no say in it do not keep a prompt from being committed at once', async () => {
    const { kit } = await hooked([{ text: 'ok' }], [{ turnStopping: () => undefined }])
    const { messageId } = kit.agent.send({ text: 'hi' })
    expect(kit.live.session.messages.at(-1)?.id).toBe(messageId)
    kit.agent.cancel()
    await settled()
    expect(count(await kit.stored(), 'user/message')).toBe(1)
  })

  it('[A20] what a hook throws ends the turn with an error, and the message is pending again', async () => {
    const { kit } = await hooked([], [{ preStep: () => Promise.reject(new Error('no policy')) }])
    kit.agent.send({ text: 'hi' })
    expect(await kit.agent.running?.done).toEqual({ kind: 'error', error: { code: 'UNKNOWN', message: 'no policy' } })
    expect(texts(kit.agent.inbox.nextTurn)).toEqual(['hi'])
  })

  it('[A20, H3] it may start a new series of messages', async () => {
    const { kit } = await hooked(
      [{ toolCalls: [{ id: 'c', name: 't' }] }, { text: 'ok' }],
      [{ preStep: ({ step, messages }) => ({ kind: 'enter', messages, startsRequestSeries: step === 2 }) }],
    )
    await kit.agent.send({ text: 'hi' }).done
    const reasons = (await kit.stored()).flatMap(event => (event.type === 'request/header' ? [event.data.reason] : []))
    expect(reasons).toEqual(['initial', 'series'])
  })
})

describe('before a call', () => {
  it.each<[string, readonly AgentHooks[], string | undefined]>([
    ['allowed', [{ preExecute: () => ({ kind: 'allow' }) }], undefined],
    ['denied', [{ preExecute: () => ({ kind: 'deny', reason: 'not now' }) }], 'DENIED'],
    ['denied, and allowed by a later one', [{ preExecute: () => ({ kind: 'deny', reason: 'no' }) }, { preExecute: () => ({ kind: 'allow' }) }], 'DENIED'], // biome-ignore format: one line
    ['allowed, and denied by a later one', [{ preExecute: () => ({ kind: 'allow' }) }, { preExecute: async () => ({ kind: 'deny', reason: 'no' }) }], 'DENIED'], // biome-ignore format: one line
    ['not decided about, because a hook fails', [{ preExecute: () => Promise.reject(new Error('?')) }], 'DENIED'],
  ])('[A20] a call that is %s', async (_what, hooks, code) => {
    const { kit, runs } = await hooked([{ toolCalls: [{ id: 'c', name: 't' }] }, { text: 'ok' }], hooks)
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    const result = (await kit.stored()).find(event => event.type === 'tool/result')
    expect(result?.data.error?.code).toBe(code)
    expect(runs).toHaveLength(code === undefined ? 1 : 0)
  })

  it('[A20, A6] hooks are given the input that fits, and are not asked about one that does not', async () => {
    const inputs: unknown[] = []
    const { kit } = await hooked(
      [{ toolCalls: [{ id: 'a', name: 't', arguments: '{"n":1}' }, { id: 'b', name: 't', arguments: '{' }] }, { text: 'ok' }], // biome-ignore format: one line
      [{ preExecute: ({ input }) => void inputs.push(input) }],
    )
    await kit.agent.send({ text: 'hi' }).done
    expect(inputs).toEqual([{ n: 1 }])
  })
})

describe('after a failed call', () => {
  it('[A20] one that made room has it asked again at once, without a retry', async () => {
    let asked = 0
    const { kit, model } = await hooked(
      [{ fail: failure }, { text: 'fits now' }],
      [
        {
          requestError: ({ failure: { code } }) => (code === failure.code && (asked += 1) === 1 ? 'retry' : undefined),
        },
      ],
    )
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    expect(model.requests).toHaveLength(2)
    expect(count(await kit.stored(), 'llm/retry')).toBe(0)
  })

  it('[A20] what nobody can help is the end of the turn', async () => {
    const { kit, model } = await hooked([{ fail: failure }], [{ requestError: () => undefined }, {}])
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'error', error: failure })
    expect(model.requests).toHaveLength(1)
  })

  it('[A20, A7] a stop meanwhile does not turn the failed attempt into a message', async () => {
    const never = gate()
    const half: ScriptedStep = { fail: failure, after: [{ type: 'text-delta', index: 0, text: 'half' }] }
    const { kit } = await hooked([half], [{ requestError: () => never.opened.then(() => 'retry' as const) }])
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    kit.agent.cancel()
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    const types = typesOf(await kit.stored())
    expect(types.filter(type => type.startsWith('assistant/'))).toEqual(['assistant/attempt'])
  })
})

describe('before the end', () => {
  it('[A20, A13] who steers keeps the turn going', async () => {
    const asked: number[] = []
    const { kit, model } = await hooked(
      [{ text: 'one' }, { text: 'two' }],
      [
        {
          turnStopping: ({ step }) => {
            asked.push(step)
            if (step === 1) kit.agent.steer({ text: 'Check it again.' })
          },
        },
      ],
    )
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    expect(asked).toEqual([1, 2])
    expect(texts(model.requests[1]?.messages ?? [])).toEqual(['hi', 'one', 'Check it again.'])
    expect(count(await kit.stored(), 'turn/end')).toBe(1)
  })

  it('[A20] it is not asked of a turn that fails or is stopped', async () => {
    const asked: TurnEndReason[] = []
    const hook: AgentHooks = { turnStopping: () => void asked.push({ kind: 'completed' }) }
    const { kit } = await hooked([{ fail: failure }, { hang: true }], [hook])
    await kit.agent.send({ text: 'hi' }).done
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    kit.agent.cancel()
    await turn.done
    expect(asked).toEqual([])
  })

  it('[A26] case 93: one truncated answer makes the whole turn one, though a steered step completes', async () => {
    const truncated = { text: 'long', toolCalls: [{ id: 'c', name: 't' }], finish: { kind: 'max-tokens' as const } }
    const { kit, runs } = await hooked(
      [truncated, { text: 'short' }],
      [{ turnStopping: ({ step }) => (step === 1 ? void kit.agent.steer({ text: 'shorter' }) : undefined) }],
    )
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'max-tokens' })
    expect(runs).toEqual([])
  })
})
