/** No network: what needs one waits, and nothing is used up by it. */
import { describe, expect, it } from 'vitest'
import { MessageId } from '../core/ids.ts'
import { agentKit, modelOf, observedStorage, settled, storedEvents, switchedNetwork, typesOf } from '../testing/agent-kit.ts' // biome-ignore format: one line
import { answerChunks, gate, scriptedModel } from '../testing/scripted-model.ts'

const offlineModel = (answers: readonly string[]) =>
  scriptedModel(answers.map(text => ({ text })), { usesNetwork: true }) // biome-ignore format: one line

describe('without a network', () => {
  it('[A22, A11] a prompt waits in the log, and runs when there is one', async () => {
    const network = switchedNetwork(false)
    const model = offlineModel(['one', 'two'])
    const kit = await agentKit({ model }, { network })
    const first = kit.agent.send({ text: 'first' })
    const second = kit.agent.send({ text: 'second' })
    await settled()
    expect([first.turn, second.turn]).toEqual([null, null])
    expect(kit.agent.status).toEqual({ kind: 'offline', turn: null, step: null })
    expect(typesOf(await kit.stored())).toEqual(['agent/inbox/spliced', 'agent/inbox/spliced'])
    network.set(true)
    expect(await Promise.all([first.done, second.done])).toEqual([{ kind: 'completed' }, { kind: 'completed' }])
    expect(model.requests).toHaveLength(2)
    expect(kit.agent.status).toEqual({ kind: 'idle' })
  })

  it('[A22] what waits survives that the session is closed, and runs with the next resume', async () => {
    const network = switchedNetwork(false)
    const kit = await agentKit({ model: offlineModel([]) }, { network })
    kit.agent.send({ text: 'first' })
    const again = await kit.reopen({ model: offlineModel(['one']) })
    expect(again.agent.inbox.nextTurn).toHaveLength(1)
    expect(again.agent.status).toEqual({ kind: 'idle' })
    expect(again.agent.resume()).toBeNull()
    expect(again.agent.status).toEqual({ kind: 'offline', turn: null, step: null })
    network.set(true)
    expect(await again.agent.running?.done).toEqual({ kind: 'completed' })
  })

  it('[A22] a stop makes it wait for the next send instead', async () => {
    const network = switchedNetwork(false)
    const kit = await agentKit({ model: offlineModel(['one', 'two']) }, { network })
    kit.agent.send({ text: 'first' })
    kit.agent.cancel()
    expect(kit.agent.status).toEqual({ kind: 'idle' })
    network.set(true)
    await settled()
    expect(kit.agent.running).toBeNull()
    await kit.agent.send({ text: 'second' }).done
    await settled()
    expect(kit.agent.inbox.nextTurn).toEqual([])
  })

  it('[A22] taking the last message back is the end of waiting', async () => {
    const network = switchedNetwork(false)
    const kit = await agentKit({ model: offlineModel([]) }, { network })
    const { messageId } = kit.agent.send({ text: 'first' })
    expect(kit.agent.removeQueued(messageId)).toBe(true)
    expect(kit.agent.status).toEqual({ kind: 'idle' })
    network.set(true)
    await settled()
    expect(kit.agent.running).toBeNull()
  })

  it('[A22] a call that fails because the network is gone waits for it, and uses up no retry', async () => {
    const network = switchedNetwork()
    let asked = 0
    const model = modelOf(
      async function* () {
        asked += 1
        if (asked > 1) return yield* answerChunks({ text: 'back' })
        network.set(false)
        yield { type: 'finish', reason: { kind: 'error', failure: { code: 'TRANSPORT', message: 'Failed to fetch' } } }
      },
      { usesNetwork: true },
    )
    const kit = await agentKit({ model, retry: { maxRetries: 0 } }, { network })
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    expect(kit.agent.status).toEqual({ kind: 'offline', turn: 1, step: 1 })
    network.set(true)
    expect(await turn.done).toEqual({ kind: 'completed' })
    expect(typesOf(await kit.stored())).not.toContain('llm/retry')
    expect(asked).toBe(2)
  })

  it('[A22] a turn that waits for the network can be stopped', async () => {
    const network = switchedNetwork()
    const model = scriptedModel([() => (network.set(false), { toolCalls: [{ id: 'c', name: 'none' }] })], { usesNetwork: true }) // biome-ignore format: one line
    const kit = await agentKit({ model }, { network })
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    expect(kit.agent.status).toEqual({ kind: 'offline', turn: 1, step: 2 })
    kit.agent.cancel()
    expect(await turn.done).toEqual({ kind: 'aborted', reason: { kind: 'user' } })
  })

  it('[A22, W6] one that goes while the request is being stored is waited for, and what came meanwhile is stored too', async () => {
    const network = switchedNetwork()
    const storage = observedStorage()
    const held = gate()
    storage.beforeAppend = () => held.opened
    const seen: unknown[] = []
    const model = modelOf(
      async function* ({ messages }) {
        const stored = await storedEvents(storage)
        seen.push([network.isOnline(), stored.filter(({ type }) => type === 'user/message').length, messages.length])
        yield* answerChunks({ text: 'ok' })
      },
      { usesNetwork: true },
    )
    const kit = await agentKit({ model, retry: { maxRetries: 0 } }, { network, storage })
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    network.set(false)
    held.open()
    await settled()
    expect([seen, kit.agent.status]).toEqual([[], { kind: 'offline', turn: 1, step: 1 }])
    const source = { kind: 'user' as const }
    const more = {
      id: MessageId('m'),
      role: 'user' as const,
      content: [{ type: 'text' as const, text: 'more' }],
      source,
    }
    kit.live.session.append('user/message', more, { surfaceOp: 'append' })
    network.set(true)
    expect(await turn.done).toEqual({ kind: 'completed' })
    expect(seen).toEqual([[true, 2, 2]])
  })

  it('[A22] a model on this machine does not wait', async () => {
    const kit = await agentKit({ model: scriptedModel([{ text: 'here' }]) }, { network: switchedNetwork(false) })
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
  })
})
