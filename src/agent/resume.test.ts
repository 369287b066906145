/** Going on after a crash: what was cut off, and what runs again. */
import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../core/events.ts'
import { validateLog } from '../format/validate.ts'
import { agentKit, type AgentKitOptions, settled, typesOf } from '../testing/agent-kit.ts'
import { gate, scriptedModel, type ScriptedStep } from '../testing/scripted-model.ts'
import type { AgentSetup } from './setup.ts'
import { defineTool } from './tool.ts'

const text = (events: readonly SessionEvent[]) => JSON.stringify(events)
const codes = (events: readonly SessionEvent[]) =>
  events.flatMap(event => (event.type === 'tool/result' ? [event.data.error?.code ?? 'ok'] : []))

/** An agent whose tools count their runs and, while `stuck`, never end. */
async function counting(steps: readonly ScriptedStep[], options: AgentKitOptions = {}) {
  const never = gate()
  const state = { stuck: true }
  const runs: string[] = []
  const make = (name: string, idempotent: boolean) =>
    defineTool({
      ...{ name, description: '', input: { type: 'object' }, idempotent },
      execute: async (_input, { idempotencyKey }) => {
        runs.push(idempotencyKey)
        if (state.stuck) await never.opened
        return `${name} ran`
      },
    })
  const tools = [make('pay', false), make('read', true)]
  const kit = await agentKit({ model: scriptedModel(steps), tools }, options)
  return { kit, runs, state }
}
const next = (...steps: readonly ScriptedStep[]): Partial<AgentSetup> => ({ model: scriptedModel(steps) })
const call = (...names: readonly string[]): ScriptedStep => ({
  toolCalls: names.map((name, n) => ({ id: `c${n}`, name })),
})

describe('a tool that was cut off', () => {
  it('[A25, A5] REP-08 never runs again by itself, and the model reads that its outcome is unknown', async () => {
    const { kit, runs, state } = await counting([call('pay')])
    kit.agent.send({ text: 'pay' })
    await settled()
    state.stuck = false
    const model = scriptedModel([{ text: 'I will check.' }])
    const again = await kit.crash({ model })
    await settled()
    expect([runs.length, codes(await again.stored())]).toEqual([1, ['TOOL_OUTCOME_UNKNOWN']])
    const turn = again.agent.resume()
    expect(await turn?.done).toEqual({ kind: 'completed' })
    expect(runs).toHaveLength(1)
    expect(text(model.requests[0]?.messages as never)).toContain('result is unknown')
    expect(validateLog({ header: again.live.session.header, events: await again.stored() })).toEqual([])
  })

  it('[A25] an idempotent one runs again where that is the policy, under the same key', async () => {
    const { kit, runs, state } = await counting([call('read')], { resume: 'auto' })
    kit.agent.send({ text: 'read' })
    await settled()
    state.stuck = false
    const model = scriptedModel([{ text: 'read it' }])
    const again = await kit.crash({ model })
    expect(await again.agent.running?.done).toEqual({ kind: 'completed' })
    expect(runs).toEqual([runs[0], runs[0]])
    const events = await again.stored()
    expect(typesOf(events).filter(type => /^tool|^turn/.test(type))).toEqual(['turn/start', 'tool/call', 'tool/result', 'turn/end']) // biome-ignore format: one line
    expect(text(model.requests[0]?.messages as never)).toContain('read ran')
    expect(validateLog({ header: again.live.session.header, events })).toEqual([])
  })

  it('[A25] beside one that is not, only the idempotent one does; each has one answer', async () => {
    const { kit, runs, state } = await counting([call('pay', 'read', 'pay')], { resume: 'auto' })
    kit.agent.send({ text: 'go' })
    await settled()
    state.stuck = false
    expect(runs).toHaveLength(1)
    // Only the first was started, and it is not one that may run again: the whole turn is closed.
    const again = await kit.crash(next({ text: 'checked' }))
    expect(codes(await again.stored())).toEqual(['TOOL_OUTCOME_UNKNOWN', 'TOOL_NOT_STARTED', 'TOOL_NOT_STARTED'])
    expect(await again.agent.running?.done).toEqual({ kind: 'completed' })
    expect(runs).toHaveLength(1)
  })

  it.each(['ask', 'never'] as const)(
    '[A25] an idempotent one does not run again where the policy is %s',
    async resume => {
      const { kit, runs } = await counting([call('read')], { resume })
      kit.agent.send({ text: 'read' })
      await settled()
      const again = await kit.crash(next())
      await settled()
      expect([runs.length, codes(await again.stored())]).toEqual([1, ['TOOL_OUTCOME_UNKNOWN']])
    },
  )
})

describe('a turn that was cut off', () => {
  const half: ScriptedStep = { hang: true, after: [{ type: 'text-delta', index: 0, text: 'half an answer' }] }

  it('[A25] is offered, and goes on with what was visible when somebody asks for it', async () => {
    const { kit } = await counting([half])
    kit.agent.send({ text: 'tell me' })
    await settled()
    await kit.live.flush()
    const model = scriptedModel([{ text: 'the rest' }])
    const again = await kit.crash({ model })
    expect(again.agent.status).toEqual({ kind: 'idle', interrupted: true })
    await settled()
    expect(model.requests).toEqual([])
    expect(await again.agent.resume()?.done).toEqual({ kind: 'completed' })
    expect(model.requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(text(model.requests[0]?.messages as never)).toContain('half an answer')
    expect(model.requests[0]?.messages.at(-1)?.source).toMatchObject({ kind: 'plugin', form: 'notice' })
    expect(again.agent.status).toEqual({ kind: 'idle' })
    expect(again.agent.resume()).toBeNull()
  })

  it('[A25] with prompts pending goes on with those, and nothing is added', async () => {
    const { kit } = await counting([half])
    kit.agent.send({ text: 'tell me' })
    kit.agent.send({ text: 'and then?' })
    await settled()
    const model = scriptedModel([{ text: 'then' }])
    const again = await kit.crash({ model })
    expect(await again.agent.resume()?.done).toEqual({ kind: 'completed' })
    expect(text(model.requests[0]?.messages as never)).not.toContain('cut off')
    expect(model.requests[0]?.messages.at(-1)?.content).toEqual([{ type: 'text', text: 'and then?' }])
  })

  it('[A25] is not offered where the policy is never', async () => {
    const { kit } = await counting([half], { resume: 'never' })
    kit.agent.send({ text: 'tell me' })
    await settled()
    const again = await kit.crash(next())
    expect(again.agent.status).toEqual({ kind: 'idle' })
    expect(again.agent.resume()).toBeNull()
  })

  it('[A25] goes on by itself where that is the policy, but not for ever', async () => {
    const { kit } = await counting([half], { resume: 'auto' })
    kit.agent.send({ text: 'tell me' })
    await settled()
    let current = kit
    const asked: number[] = []
    for (let round = 0; round < 5; round += 1) {
      const model = scriptedModel([half])
      current = await current.crash({ model })
      await settled()
      asked.push(model.requests.length)
    }
    expect(asked).toEqual([1, 1, 0, 0, 0])
    expect(current.agent.status).toEqual({ kind: 'idle', interrupted: true })
    const model = scriptedModel([{ text: 'at last' }])
    const again = await current.reopen({ model })
    expect(await again.agent.resume()?.done).toEqual({ kind: 'completed' })
  })

  it('[A25] pending prompts run by themselves where the policy is auto', async () => {
    const { kit } = await counting([{ hang: true }], { resume: 'auto' })
    kit.agent.send({ text: 'one' })
    kit.agent.send({ text: 'two' })
    await settled()
    const model = scriptedModel([{ text: 'x' }])
    const again = await kit.reopen({ model })
    await again.agent.running?.done
    expect(model.requests).toHaveLength(1)
    expect(again.agent.inbox.nextTurn).toEqual([])
  })

  it('[A25] one that a person stopped is not offered', async () => {
    const { kit } = await counting([half])
    const turn = kit.agent.send({ text: 'tell me' })
    await settled()
    kit.agent.cancel()
    await turn.done
    const again = await kit.crash(next())
    expect(again.agent.status).toEqual({ kind: 'idle' })
    expect(again.agent.resume()).toBeNull()
  })
})

describe('maintenance', () => {
  it('[A19] what is sent meanwhile waits, and starts when it is over', async () => {
    const model = scriptedModel([{ text: 'ok' }])
    const kit = await agentKit({ model })
    const held = gate()
    const work = kit.agent.maintain(() => held.opened.then(() => 'tidy'))
    expect(kit.agent.status).toEqual({ kind: 'maintenance' })
    const turn = kit.agent.steer({ text: 'hi' })
    expect(turn.turn).toBeNull()
    expect(kit.agent.inbox).toMatchObject({ nextStep: [], nextTurn: [{ id: turn.messageId }] })
    expect(() => kit.agent.maintain(async () => undefined)).toThrow(expect.objectContaining({ code: 'busy' }) as Error)
    expect(kit.agent.resume()).toBeNull()
    held.open()
    expect(await work).toBe('tidy')
    expect(await turn.done).toEqual({ kind: 'completed' })
  })

  it("[A19] it is refused while a turn runs, and its failure is its caller's", async () => {
    const kit = await agentKit({ model: scriptedModel([{ hang: true }]) })
    const turn = kit.agent.send({ text: 'hi' })
    expect(() => kit.agent.maintain(async () => undefined)).toThrow(expect.objectContaining({ code: 'busy' }) as Error)
    kit.agent.cancel()
    await turn.done
    await expect(kit.agent.maintain(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(kit.agent.status).toEqual({ kind: 'idle' })
  })

  it('[A19] it is told to stop by a cancel and before the session closes', async () => {
    const kit = await agentKit({ model: scriptedModel([]) })
    const reasons: unknown[] = []
    const untilStopped = (signal: AbortSignal) =>
      new Promise<void>(resolve => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason)
          resolve()
        })
      })
    const first = kit.agent.maintain(untilStopped)
    await settled()
    kit.agent.cancel()
    await first
    const second = kit.agent.maintain(untilStopped)
    await settled()
    await kit.agent.dispose()
    await second
    expect(reasons).toEqual([{ kind: 'user' }, { kind: 'disposed' }])
  })
})
