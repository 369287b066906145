/** Calls that need somebody to allow them. */
import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../core/events.ts'
import { validateLog } from '../format/validate.ts'
import { type AgentKit, agentKit, type AgentKitOptions, observedStorage, settled, tool, typesOf } from '../testing/agent-kit.ts' // biome-ignore format: one line
import { gate, scriptedModel, type ScriptedStep } from '../testing/scripted-model.ts'
import type { AgentSetup } from './setup.ts'
import { defineTool, type ToolDefinition } from './tool.ts'

const mailCall = (...ids: readonly string[]): ScriptedStep => ({
  toolCalls: ids.map(id => ({ id, name: 'mail', arguments: '{"to":"ann"}' })),
})

/** An agent with a tool `mail` that needs an approval, and one, `look`, that does not. */
async function mailing(
  setup: Partial<AgentSetup> = {},
  options: AgentKitOptions = {},
  definition: Partial<ToolDefinition> = {},
) {
  // biome-ignore format: one line
  const sent: string[] = []
  const keys: string[] = []
  const mail = defineTool({
    ...{ name: 'mail', description: '', input: { type: 'object' }, needsApproval: 'It reaches people.' },
    ...definition,
    execute: (_input, { callId, idempotencyKey }) => {
      sent.push(callId)
      keys.push(idempotencyKey)
      return 'sent'
    },
  })
  const model = scriptedModel([mailCall('c1'), { text: 'done' }, { text: 'more' }])
  const all = { model, tools: [mail, tool('look', () => 'seen')], ...setup }
  const kit = await agentKit(all, options)
  return { kit, model, sent, keys }
}

const ofApprovals = (events: readonly SessionEvent[]) =>
  events.flatMap(event => {
    if (event.type === 'approval/asked') return [`asked ${event.data.callId}`]
    return event.type === 'approval/decided' ? [event.data.outcome] : []
  })
const codes = (events: readonly SessionEvent[]) =>
  events.flatMap(event => (event.type === 'tool/result' ? [event.data.error?.code ?? 'ok'] : []))

async function expectValid(kit: AgentKit) {
  expect(validateLog({ header: kit.live.session.header, events: await kit.stored() })).toEqual([])
}

describe('asking', () => {
  it('[A23] a call waits for its answer, and runs once it is allowed and that is stored', async () => {
    const storage = observedStorage()
    const { kit, sent } = await mailing({}, { storage })
    const turn = kit.agent.send({ text: 'mail ann' })
    await settled()
    expect(kit.agent.status).toEqual({ kind: 'approval', turn: 1, step: 1, name: 'mail', callId: 'c1' })
    const asked = await kit.stored()
    expect(typesOf(asked).slice(-2)).toEqual(['tool/call', 'approval/asked'])
    expect(asked.at(-1)?.data).toEqual({ id: expect.any(String) as string, toolName: 'mail', callId: 'c1', reason: 'It reaches people.' }) // biome-ignore format: one line
    const held = gate()
    storage.beforeAppend = () => held.opened
    expect(kit.agent.approve('c1', 'allowed-once')).toBe(true)
    expect(kit.live.session.last?.type).toBe('approval/decided')
    expect(kit.agent.approve('c1', 'rejected')).toBe(false)
    await settled()
    expect(sent).toEqual([])
    held.open()
    expect(await turn.done).toEqual({ kind: 'completed' })
    expect(sent).toEqual(['c1'])
    expect(ofApprovals(await kit.stored())).toEqual(['asked c1', 'allowed-once'])
    expect(kit.agent.approve('c1', 'allowed-once')).toBe(false)
    await expectValid(kit)
  })

  it('[A23] a rejected call does not run, the model reads so, and the turn goes on', async () => {
    const { kit, model, sent } = await mailing()
    const turn = kit.agent.send({ text: 'mail ann' })
    await settled()
    kit.agent.approve('c1', 'rejected')
    expect(await turn.done).toEqual({ kind: 'completed' })
    expect([sent, codes(await kit.stored())]).toEqual([[], ['REJECTED']])
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('did not allow')
    await expectValid(kit)
  })

  it('[A23] each call is asked about by itself, in order', async () => {
    const { kit, sent } = await mailing({ model: scriptedModel([mailCall('a', 'b', 'c'), { text: 'done' }]) })
    const turn = kit.agent.send({ text: 'mail ann' })
    const answers = ['allowed-once', 'rejected', 'allowed-once'] as const
    for (const [index, callId] of ['a', 'b', 'c'].entries()) {
      await settled()
      expect(kit.agent.status).toMatchObject({ kind: 'approval', callId })
      expect(kit.agent.approve('z', 'allowed-once')).toBe(false)
      kit.agent.approve(callId, answers[index] as 'rejected')
    }
    await turn.done
    expect(sent).toEqual(['a', 'c'])
  })

  it('[A23] a stop cancels the question, and nothing runs', async () => {
    const { kit, sent } = await mailing()
    const turn = kit.agent.send({ text: 'mail ann' })
    await settled()
    kit.agent.cancel()
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
    expect(ofApprovals(await kit.stored())).toEqual(['asked c1', 'cancelled'])
    expect([sent, codes(await kit.stored())]).toEqual([[], ['ABORTED_BEFORE_DISPATCH']])
    expect(kit.agent.approve('c1', 'allowed-once')).toBe(false)
    await expectValid(kit)
  })

  it('[A23] where nobody can be asked the call does not run', async () => {
    const { kit, sent } = await mailing({}, { canAsk: () => false })
    await kit.agent.send({ text: 'mail ann' }).done
    expect(ofApprovals(await kit.stored())).toEqual(['asked c1', 'unavailable'])
    expect([sent, codes(await kit.stored())]).toEqual([[], ['UNAVAILABLE']])
  })

  it('[A23] what does not fit is not asked about', async () => {
    const { kit } = await mailing({ model: scriptedModel([{ toolCalls: [{ id: 'c', name: 'mail', arguments: '[' }] }, { text: 'x' }]) }) // biome-ignore format: one line
    await kit.agent.send({ text: 'mail ann' }).done
    expect([ofApprovals(await kit.stored()), codes(await kit.stored())]).toEqual([[], ['INVALID_ARGUMENTS']])
  })

  it.each<[string, ToolDefinition['needsApproval'], boolean]>([
    ['says no', false, false],
    ['says yes', true, true],
    ['says no for these arguments', () => false, false],
    ['gives a reason for these arguments', () => 'why not', true],
    ['throws', () => { throw new Error('no idea') }, true], // biome-ignore format: one line
    ['answers with a promise', (() => Promise.resolve(false)) as never, true],
  ])('[A23] a tool that %s', async (_what, needsApproval, isAsked) => {
    const definition = needsApproval === undefined ? {} : { needsApproval }
    const { kit, sent } = await mailing({}, { canAsk: () => false }, definition)
    await kit.agent.send({ text: 'mail ann' }).done
    expect(sent).toEqual(isAsked ? [] : ['c1'])
  })
})

describe('policies and answerers', () => {
  it('[A23] never: refused unasked, and the log says so', async () => {
    const { kit, sent } = await mailing({ approvals: 'never' })
    await kit.agent.send({ text: 'mail ann' }).done
    expect(ofApprovals(await kit.stored())).toEqual(['asked c1', 'rejected'])
    expect([sent, codes(await kit.stored())]).toEqual([[], ['REJECTED']])
  })

  it('[A23] a list: what is on it runs unasked, and all else is asked about, whatever it says of itself', async () => {
    const calls = { toolCalls: [{ id: 'm', name: 'mail' }, { id: 'l', name: 'look' }] } // biome-ignore format: one line
    const { kit, sent } = await mailing({
      approvals: { allow: ['mail'] },
      model: scriptedModel([calls, { text: 'x' }]),
    })
    const turn = kit.agent.send({ text: 'mail ann' })
    await settled()
    expect(kit.agent.status).toMatchObject({ kind: 'approval', name: 'look' })
    kit.agent.approve('l', 'allowed-once')
    await turn.done
    expect([sent, codes(await kit.stored())]).toEqual([['m'], ['ok', 'ok']])
  })

  it.each<[string, NonNullable<AgentSetup['approver']>, string]>([
    ['allows it', () => 'allowed-once', 'allowed-once'],
    ['rejects it', () => Promise.resolve('rejected' as const), 'rejected'],
    ['throws', () => Promise.reject(new Error('gone')), 'unavailable'],
    ['answers with something else', () => 'yes' as never, 'unavailable'],
    ['answers with an outcome that is not its to give', () => 'cancelled' as never, 'unavailable'],
  ])('[A23] an answerer that %s', async (_what, approver, outcome) => {
    const questions: unknown[] = []
    const { kit, sent } = await mailing({
      approver: question => {
        questions.push(question)
        return approver(question)
      },
    })
    await kit.agent.send({ text: 'mail ann' }).done
    expect(ofApprovals(await kit.stored())).toEqual(['asked c1', outcome])
    expect(sent).toEqual(outcome === 'allowed-once' ? ['c1'] : [])
    expect(questions).toMatchObject([{ sessionId: 's', callId: 'c1', toolName: 'mail', input: { to: 'ann' }, reason: 'It reaches people.' }]) // biome-ignore format: one line
  })
})

describe('across a closed or killed session', () => {
  const next = () => ({ model: scriptedModel([{ text: 'went on' }]) })

  it.each(['reopen', 'crash'] as const)('[A23, A25] REP-13 a question survives: %s, then allowed', async how => {
    const { kit, sent, keys } = await mailing()
    kit.agent.send({ text: 'mail ann' })
    await settled()
    const before = await kit.stored()
    const again = await kit[how](next())
    await settled()
    expect(again.agent.status).toEqual({ kind: 'approval', turn: 1, step: 1, name: 'mail', callId: 'c1' })
    expect((await again.stored()).slice(0, before.length)).toEqual(before)
    expect(sent).toEqual([])
    const { running } = again.agent
    expect(again.agent.approve('c1', 'allowed-once')).toBe(true)
    expect(await running?.done).toEqual({ kind: 'completed' })
    expect(sent).toEqual(['c1'])
    const events = await again.stored()
    expect(ofApprovals(events)).toEqual(['asked c1', 'allowed-once'])
    expect(typesOf(events).filter(type => type === 'tool/call' || type === 'turn/start')).toHaveLength(2)
    const call = events.find(({ type }) => type === 'tool/call')
    expect(keys).toEqual([`s/${call?.seq}/c1`])
    await expectValid(again)
  })

  it('[A23, A25] REP-13 a question survives: twice, then rejected', async () => {
    const { kit, sent } = await mailing()
    kit.agent.send({ text: 'mail ann' })
    await settled()
    const again = await (await kit.crash(next())).reopen(next())
    await settled()
    const { running } = again.agent
    again.agent.approve('c1', 'rejected')
    expect(await running?.done).toEqual({ kind: 'completed' })
    expect([sent, codes(await again.stored())]).toEqual([[], ['REJECTED']])
    await expectValid(again)
  })

  it('[A23, A25] the calls after it run once it is answered; a prompt meanwhile waits behind the turn', async () => {
    const calls = { toolCalls: [{ id: 'm', name: 'mail' }, { id: 'l', name: 'look' }] } // biome-ignore format: one line
    const { kit } = await mailing({ model: scriptedModel([calls]) })
    kit.agent.send({ text: 'mail ann' })
    await settled()
    const model = scriptedModel([{ text: 'first' }, { text: 'second' }])
    const again = await kit.crash({ model })
    const later = again.agent.send({ text: 'and then?' })
    expect(later.turn).toBeNull()
    await settled()
    again.agent.approve('m', 'allowed-once')
    expect(await later.done).toEqual({ kind: 'completed' })
    expect(codes(await again.stored())).toEqual(['ok', 'ok'])
    expect(model.requests).toHaveLength(2)
    await expectValid(again)
  })

  it('[A23] REP-13 a recorded yes whose call was cut off does not run by itself', async () => {
    const storage = observedStorage()
    const never = gate()
    const { kit } = await mailing({}, { storage }, {})
    kit.agent.send({ text: 'mail ann' })
    await settled()
    // The decision is stored, and then nothing any more.
    storage.beforeAppend = ({ segment }) => {
      if (!segment.text.includes('approval/decided')) return never.opened
      return undefined
    }
    kit.agent.approve('c1', 'allowed-once')
    await settled()
    storage.beforeAppend = () => undefined
    const again = await kit.crash(next())
    await settled()
    expect(again.agent.status).toEqual({ kind: 'idle', interrupted: true })
    expect(codes(await again.stored())).toEqual(['TOOL_OUTCOME_UNKNOWN'])
    await expectValid(again)
  })

  it('[A23, A25] a turn nobody can set up again is closed as opening it would have', async () => {
    const { kit } = await mailing()
    kit.agent.send({ text: 'mail ann' })
    await settled()
    const errors: unknown[] = []
    const options = { storage: kit.storage, lease: kit.lease, newId: () => `new-${(count += 1)}`, onError: (error: unknown) => errors.push(error) } // biome-ignore format: one line
    let count = 0
    await kit.live.close({ discard: true })
    const setup = (): AgentSetup => {
      throw new Error('no key')
    }
    const again = await agentKit(setup, options)
    expect(errors).toEqual([new Error('no key')])
    expect(typesOf(await again.stored()).slice(-3)).toEqual(['tool/result', 'step/end', 'turn/end'])
    expect(again.agent.status).toEqual({ kind: 'idle', interrupted: true })
    await expectValid(again)
  })
})
