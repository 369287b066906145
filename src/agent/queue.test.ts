/** Messages that come while a turn runs: what waits, what steers, what starts when, and what stays. */
import { describe, expect, it } from 'vitest'
import { agentKit, type AgentKit, settled, tool, typesOf } from '../testing/agent-kit.ts'
import { gate, scriptedModel, type ScriptedStep } from '../testing/scripted-model.ts'

const textOf = (message: { readonly content: readonly object[] }): string =>
  message.content.map(block => ('text' in block ? String(block.text) : '')).join('')
const textsOf = (kit: AgentKit) => kit.live.session.deriveMessages().map(textOf)
const inboxOf = ({ agent: { inbox } }: AgentKit) => ({
  nextTurn: inbox.nextTurn.map(textOf),
  nextStep: inbox.nextStep.map(textOf),
})
const empty = { nextTurn: [], nextStep: [] }
const waiting = (...nextTurn: readonly string[]) => ({ nextTurn, nextStep: [] })
const eventsOf = (kit: AgentKit) => kit.live.session.snapshotEvents()
const failure = { fail: { code: 'SERVER', message: 'no' } } as const

/** A kit whose first answer waits at `pause`. */
async function paused(...rest: readonly ScriptedStep[]) {
  const pause = gate()
  const first = [
    pause,
    { type: 'text-delta', index: 0, text: '1' },
    { type: 'finish', reason: { kind: 'stop' } },
  ] as const
  const model = scriptedModel([first, ...rest])
  return { pause, model, kit: await agentKit({ model, tools: [tool('look', () => 'seen')] }) }
}

describe('a prompt that comes while a turn runs', () => {
  it('[A11] waits in the log and gets a turn of its own when the running one has ended', async () => {
    const { kit, pause } = await paused({ text: '2' })
    const one = kit.agent.send({ text: 'one' })
    const two = kit.agent.send({ text: 'two' })
    expect([one.turn, two.turn]).toEqual([1, null])
    expect(inboxOf(kit)).toEqual(waiting('two'))
    expect((await kit.stored()).at(-1)).toMatchObject({
      type: 'agent/inbox/spliced',
      data: {
        target: 'next-turn',
        start: 0,
        inserted: [{ id: two.messageId, role: 'user', source: { kind: 'user' } }],
      },
    })
    pause.open()
    expect(await one.done).toEqual({ kind: 'completed' })
    expect(kit.agent.running?.turn).toBe(2)
    expect(await two.done).toEqual({ kind: 'completed' })
    expect(textsOf(kit)).toEqual(['one', '1', 'two', '2'])
    expect(inboxOf(kit)).toEqual(empty)
    const second = eventsOf(kit).slice(eventsOf(kit).findLastIndex(event => event.type === 'turn/start'))
    expect(typesOf(second)).toEqual([
      'turn/start',
      'agent/inbox/spliced',
      'step/start',
      'user/message',
      'assistant/message',
      'step/end',
      'turn/end',
    ])
    expect(second[1]?.data).toEqual({ target: 'next-turn', start: 0, removedCount: 1, inserted: [] })
    expect(second[3]?.data).toMatchObject({ id: two.messageId })
    expect(kit.statuses.filter(status => status.kind === 'idle')).toHaveLength(1)
  })

  it('[A11] keeps the order of sending', async () => {
    const { kit, pause } = await paused({ text: '2' }, { text: '3' }, { text: '4' })
    kit.agent.send({ text: 'one' })
    kit.agent.send({ text: 'two' })
    kit.agent.send({ text: 'three' })
    const last = kit.agent.send({ text: 'four' })
    pause.open()
    await last.done
    expect(textsOf(kit)).toEqual(['one', '1', 'two', '2', 'three', '3', 'four', '4'])
  })

  it('[A11] follows a truncated answer as well', async () => {
    const model = scriptedModel([{ text: 'long', finish: { kind: 'max-tokens' } }, { text: '2' }])
    const kit = await agentKit({ model })
    const one = kit.agent.send({ text: 'one' })
    const two = kit.agent.send({ text: 'two' })
    expect(await one.done).toEqual({ kind: 'max-tokens' })
    expect(await two.done).toEqual({ kind: 'completed' })
  })

  it.each([
    ['  ', 'empty-prompt'],
    ['\ud800', 'malformed-prompt'],
  ])('[A11] is refused when it is %j, and nothing is logged', async (text, code) => {
    const { kit, pause } = await paused()
    const { messageId } = kit.agent.send({ text: 'one' })
    const queued = kit.agent.send({ text: 'two' })
    const { length } = kit.live.session
    const refused = expect.objectContaining({ name: 'AgentError', code }) as Error
    expect(() => kit.agent.send({ text })).toThrow(refused)
    expect(() => kit.agent.steer({ text })).toThrow(refused)
    expect(() => kit.agent.editQueued(queued.messageId, { text })).toThrow(refused)
    expect(kit.live.session.length).toBe(length)
    expect(kit.agent.removeQueued(messageId)).toBe(false)
    kit.agent.removeQueued(queued.messageId)
    pause.open()
    await kit.agent.running?.done
  })
})

describe('a turn that does not end well', () => {
  it('[A11] stop means stop: what waits goes on waiting, and the next prompt is put behind it', async () => {
    const { kit } = await paused({ text: '2' }, { text: '3' })
    const one = kit.agent.send({ text: 'one' })
    const two = kit.agent.send({ text: 'two' })
    await settled()
    kit.agent.cancel()
    expect(await one.done).toMatchObject({ kind: 'aborted' })
    await settled()
    expect([kit.agent.running, kit.agent.status]).toEqual([null, { kind: 'idle' }])
    expect(inboxOf(kit)).toEqual(waiting('two'))
    const three = kit.agent.send({ text: 'three' })
    expect(three.turn).toBeNull()
    expect(inboxOf(kit)).toEqual(waiting('three'))
    await two.done
    await three.done
    expect(textsOf(kit)).toEqual(['one', 'two', '2', 'three', '3'])
  })

  it('[A11] a failure does not burn what waits; resume goes on with it', async () => {
    const { kit, pause } = await paused(failure, { text: '3' }, { text: '4' })
    kit.agent.send({ text: 'one' })
    const two = kit.agent.send({ text: 'two' })
    const three = kit.agent.send({ text: 'three' })
    pause.open()
    expect(await two.done).toMatchObject({ kind: 'error', error: { code: 'SERVER' } })
    await settled()
    expect(kit.agent.running).toBeNull()
    expect(inboxOf(kit)).toEqual(waiting('three'))
    expect(kit.agent.resume()?.turn).toBe(3)
    expect(kit.agent.resume()).toBeNull()
    expect(await three.done).toEqual({ kind: 'completed' })
    expect(kit.agent.resume()).toBeNull()
    expect(kit.agent.running).toBeNull()
  })

  it('[A11] what is sent after a stop, while the turn still ends, is meant to run', async () => {
    const model = scriptedModel([{ hang: true }, { text: '2' }, { text: '3' }])
    const kit = await agentKit({ model })
    const one = kit.agent.send({ text: 'one' })
    await settled()
    kit.agent.cancel()
    const two = kit.agent.send({ text: 'two' })
    const three = kit.agent.steer({ text: 'three' })
    expect(inboxOf(kit)).toEqual(waiting('two', 'three'))
    expect(await one.done).toMatchObject({ kind: 'aborted' })
    await Promise.all([two.done, three.done])
    expect(textsOf(kit)).toEqual(['one', 'two', '2', 'three', '3'])
  })

  it('[A11] unless it is stopped once more, and resume counts as sending', async () => {
    const model = scriptedModel([{ hang: true }, { hang: true }, { text: '3' }])
    const kit = await agentKit({ model })
    const one = kit.agent.send({ text: 'one' })
    await settled()
    kit.agent.cancel()
    kit.agent.send({ text: 'two' })
    kit.agent.cancel()
    await one.done
    await settled()
    expect(inboxOf(kit)).toEqual(waiting('two'))
    kit.agent.resume()
    const three = kit.agent.send({ text: 'three' })
    await settled()
    kit.agent.cancel()
    expect(kit.agent.resume()).toBeNull()
    expect(await three.done).toEqual({ kind: 'completed' })
  })

  it('[A11] a turn that cannot begin is logged as failed and leaves what waits', async () => {
    let isBroken = false
    const pause = gate()
    const model = scriptedModel([[pause, { type: 'finish', reason: { kind: 'stop' } }], { text: '2' }])
    const kit = await agentKit(() => {
      if (isBroken) throw new TypeError('no such model')
      return { model }
    })
    kit.agent.send({ text: 'one' })
    const two = kit.agent.send({ text: 'two' })
    isBroken = true
    pause.open()
    await settled()
    expect(eventsOf(kit).slice(-2)).toMatchObject([
      { type: 'turn/start', data: { turn: 2 } },
      { type: 'turn/end', data: { turn: 2, reason: { kind: 'error', error: { message: 'no such model' } } } },
    ])
    expect([kit.agent.running, kit.agent.status]).toEqual([null, { kind: 'idle' }])
    expect(inboxOf(kit)).toEqual(waiting('two'))
    const { length } = kit.live.session
    expect(() => kit.agent.resume()).toThrow('no such model')
    expect(() => kit.agent.send({ text: 'three' })).toThrow('no such model')
    expect(kit.live.session.length).toBe(length)
    isBroken = false
    kit.agent.resume()
    expect(await two.done).toEqual({ kind: 'completed' })
  })
})

describe('steering', () => {
  it('[A13] goes into the next step of the running turn, after the tools of this one', async () => {
    const pause = gate()
    const calls = [{ id: 'c', name: 'look' }]
    const model = scriptedModel([{ toolCalls: calls }, { text: 'done' }])
    const look = tool('look', () => pause.opened.then(() => 'seen'))
    const kit = await agentKit({ model, tools: [look] })
    const turn = kit.agent.send({ text: 'go' })
    await settled()
    const steered = kit.agent.steer({ text: 'left' })
    const also = kit.agent.steer({ text: 'and slowly' })
    expect(inboxOf(kit)).toEqual({ nextTurn: [], nextStep: ['left', 'and slowly'] })
    expect([steered.turn, also.turn]).toEqual([null, null])
    pause.open()
    expect(await Promise.all([turn.done, steered.done, also.done])).toEqual(Array(3).fill({ kind: 'completed' }))
    const types = typesOf(eventsOf(kit))
    expect(types.slice(types.indexOf('tool/result'))).toEqual([
      'tool/result',
      'step/end',
      'agent/inbox/spliced',
      'step/start',
      'user/message',
      'user/message',
      'assistant/message',
      'step/end',
      'turn/end',
    ])
    expect(model.requests[1]?.messages.map(each => each.source.kind)).toEqual(['user', 'model', 'tool', 'user', 'user'])
  })

  it('[A13] keeps a turn going that would have ended, and the next prompt waits for it', async () => {
    const { kit, pause } = await paused(
      { text: '2', toolCalls: [{ id: 'c', name: 'look' }] },
      { text: '3' },
      { text: '4' },
    )
    const one = kit.agent.send({ text: 'one' })
    const two = kit.agent.send({ text: 'two' })
    kit.agent.steer({ text: 'also' })
    pause.open()
    expect(await one.done).toEqual({ kind: 'completed' })
    expect(textsOf(kit).slice(0, 4)).toEqual(['one', '1', 'also', '2'])
    await two.done
    const steps = eventsOf(kit).flatMap(event => (event.type === 'step/start' ? [event.data] : []))
    expect(steps).toEqual([
      { turn: 1, step: 1 },
      { turn: 1, step: 2 },
      { turn: 1, step: 3 },
      { turn: 2, step: 1 },
    ])
  })

  it('[A13] one truncated answer makes the whole turn a truncated one', async () => {
    const model = scriptedModel([{ text: 'long', finish: { kind: 'max-tokens' } }, { text: 'short' }])
    const kit = await agentKit({ model })
    const turn = kit.agent.send({ text: 'one' })
    kit.agent.steer({ text: 'shorter' })
    expect(await turn.done).toEqual({ kind: 'max-tokens' })
    expect(textsOf(kit)).toEqual(['one', 'long', 'shorter', 'short'])
  })

  it('[A13] counts towards the most steps of a turn, and stays when they are used up', async () => {
    const model = scriptedModel([{ text: '1' }, { text: '2' }])
    const kit = await agentKit({ model, maxSteps: 1 })
    const turn = kit.agent.send({ text: 'one' })
    const steered = kit.agent.steer({ text: 'more' })
    expect(await turn.done).toMatchObject({ kind: 'error', error: { code: 'STEP_LIMIT' } })
    expect(inboxOf(kit)).toEqual({ nextTurn: [], nextStep: ['more'] })
    kit.agent.resume()
    expect(await steered.done).toEqual({ kind: 'completed' })
  })

  it('[A13] is a prompt when nothing runs', async () => {
    const kit = await agentKit({ model: scriptedModel([{ text: 'ok' }]) })
    const turn = kit.agent.steer({ text: 'hello' })
    expect(turn.turn).toBe(1)
    await turn.done
    expect(typesOf(eventsOf(kit))).not.toContain('agent/inbox/spliced')
  })

  it('[A14] a stopped turn leaves it, and the next turn takes it first, with one prompt after it', async () => {
    const { kit, model } = await paused({ text: '2' }, { text: '3' })
    const one = kit.agent.send({ text: 'one' })
    kit.agent.send({ text: 'two' })
    kit.agent.send({ text: 'three' })
    kit.agent.steer({ text: 'aside' })
    await settled()
    kit.agent.cancel()
    await one.done
    const turn = kit.agent.resume()
    expect(await turn?.done).toEqual({ kind: 'completed' })
    const start = eventsOf(kit).findIndex(event => event.type === 'turn/start' && event.data.turn === 2)
    expect(eventsOf(kit).slice(start, start + 6)).toMatchObject([
      { type: 'turn/start' },
      { type: 'agent/inbox/spliced', data: { target: 'next-step', start: 0, removedCount: 1, inserted: [] } },
      { type: 'agent/inbox/spliced', data: { target: 'next-turn', start: 0, removedCount: 1, inserted: [] } },
      { type: 'step/start' },
      { type: 'user/message', data: { content: [{ text: 'aside' }] } },
      { type: 'user/message', data: { content: [{ text: 'two' }] } },
    ])
    expect(model.requests[1]?.messages.map(textOf)).toEqual(['one', 'aside', 'two'])
    await kit.agent.running?.done
    expect(textsOf(kit).slice(-2)).toEqual(['three', '3'])
  })

  it('[A14] a prompt that is sent beside it goes with it into one turn', async () => {
    const { kit } = await paused({ text: '2' })
    const one = kit.agent.send({ text: 'one' })
    kit.agent.steer({ text: 'aside' })
    await settled()
    kit.agent.cancel()
    await one.done
    const two = kit.agent.send({ text: 'two' })
    expect(two.turn).toBe(2)
    await two.done
    expect(textsOf(kit)).toEqual(['one', 'aside', 'two', '2'])
  })
})

describe('taking back and rewriting', () => {
  it('[A15] a removed message is never run, and whoever waits for it is told', async () => {
    const { kit, pause } = await paused({ text: '3' })
    kit.agent.send({ text: 'one' })
    const two = kit.agent.send({ text: 'two' })
    const three = kit.agent.send({ text: 'three' })
    const aside = kit.agent.steer({ text: 'aside' })
    expect(kit.agent.removeQueued(two.messageId)).toBe(true)
    expect(kit.agent.removeQueued(aside.messageId)).toBe(true)
    expect(kit.agent.removeQueued(two.messageId)).toBe(false)
    expect(eventsOf(kit).at(-1)?.data).toEqual({
      ...{ target: 'next-step', start: 0, removedCount: 1, inserted: [], outcome: 'canceled' },
    })
    await expect(two.done).rejects.toMatchObject({ name: 'AgentError', code: 'canceled' })
    pause.open()
    await three.done
    expect(textsOf(kit)).toEqual(['one', '1', 'three', '3'])
  })

  it('[A15] a rewritten message keeps its place and its id', async () => {
    const { kit, pause } = await paused({ text: '2' }, { text: '3' })
    kit.agent.send({ text: 'one' })
    const two = kit.agent.send({ text: 'two' })
    const three = kit.agent.send({ text: 'three' })
    expect(kit.agent.editQueued(two.messageId, { text: 'deux' })).toBe(true)
    expect(inboxOf(kit)).toEqual(waiting('deux', 'three'))
    pause.open()
    expect(await two.done).toEqual({ kind: 'completed' })
    expect(kit.agent.editQueued(two.messageId, { text: 'zwei' })).toBe(false)
    await three.done
    expect(textsOf(kit)).toEqual(['one', '1', 'deux', '2', 'three', '3'])
  })

  it('[A15] withdrawing takes a message out of the inbox, or stops its turn, and no other one', async () => {
    const { kit, pause } = await paused({ hang: true }, { text: '3' })
    const one = kit.agent.send({ text: 'one' })
    const two = kit.agent.send({ text: 'two' })
    const three = kit.agent.send({ text: 'three' })
    kit.agent.withdraw(three.messageId)
    await expect(three.done).rejects.toMatchObject({ code: 'canceled' })
    pause.open()
    await one.done
    await settled()
    kit.agent.withdraw(one.messageId)
    kit.agent.withdraw('unknown')
    await settled()
    expect(kit.agent.running?.turn).toBe(2)
    kit.agent.withdraw(two.messageId)
    expect(await two.done).toMatchObject({ kind: 'aborted', reason: { kind: 'user' } })
  })
})

describe('closing and opening', () => {
  it('[A11, O2] what waits survives and is not run by itself, and the next prompt goes behind it', async () => {
    const { kit, model } = await paused({ text: '2' }, { text: '3' })
    kit.agent.send({ text: 'one' })
    kit.agent.send({ text: 'two' })
    kit.agent.steer({ text: 'aside' })
    await settled()
    const again = await kit.reopen()
    expect(inboxOf(again)).toEqual({ nextTurn: ['two'], nextStep: ['aside'] })
    await settled()
    expect([again.agent.running, model.requests.length]).toEqual([null, 1])
    const three = again.agent.send({ text: 'three' })
    await three.done
    expect(textsOf(again)).toEqual(['one', 'aside', 'two', '2', 'three', '3'])
    expect(inboxOf(again)).toEqual(empty)
  })

  it('[A11] nothing starts while the agent is disposed of, and nothing is lost', async () => {
    const { kit, model } = await paused({ text: '2' })
    kit.agent.send({ text: 'one' })
    kit.agent.send({ text: 'two' })
    await settled()
    kit.agent.cancel()
    const disposed = kit.agent.dispose()
    // What is not taken is not lost without a word.
    expect(() => kit.agent.send({ text: 'three' })).toThrow(expect.objectContaining({ code: 'closed' }) as Error)
    await disposed
    await settled()
    expect(() => kit.agent.resume()).toThrow(expect.objectContaining({ code: 'closed' }) as Error)
    expect([kit.agent.running, model.requests.length]).toEqual([null, 1])
    expect(inboxOf(kit)).toEqual(waiting('two'))
    kit.agent.start()
    const last = kit.agent.send({ text: 'four' })
    expect(last.turn).toBeNull()
    await settled()
    expect(textsOf(kit)).toContain('two')
  })
})
