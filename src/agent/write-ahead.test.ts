/** The log is stored before each request and each tool body, or neither happens. */
import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../core/events.ts'
import { StorageError } from '../storage/storage.ts'
import { agentKit, modelOf, observedStorage, settled, storedEvents, tool } from '../testing/agent-kit.ts'
import { scriptedModel } from '../testing/scripted-model.ts'

/** Text and error of each tool result. */
const shown = (events: readonly SessionEvent[]) =>
  events.flatMap(({ type, data }) =>
    type === 'tool/result'
      ? [[data.message.content[0].content.map(block => 'text' in block && block.text).join('|'), data.error?.code]]
      : [],
  )

describe('write-ahead', () => {
  it('[W6, A5] stores the log before each request and each tool body', async () => {
    const storage = observedStorage()
    const seen: string[] = []
    const note = async (what: string) => {
      const events = await storedEvents(storage)
      seen.push(`${what} after ${events.at(-1)?.type}`)
    }
    const inner = scriptedModel([{ toolCalls: [{ id: 'a', name: 't' }, { id: 'b', name: 't' }] }, { text: 'x' }]) // biome-ignore format: one line
    const model = modelOf(async function* (request) {
      await note('request')
      yield* inner.stream(request)
    })
    const kit = await agentKit({ model, tools: [tool('t', () => note('body'))] }, { storage })
    await kit.agent.send({ text: 'go' }).done
    expect(seen).toEqual([
      'request after request/context',
      'body after tool/call',
      'body after tool/call',
      'request after step/start',
    ])
  })

  it('W7 sends nothing that could not be stored; when storage is back, the next prompt works and nothing is lost', async () => {
    const storage = observedStorage()
    const model = scriptedModel([{ text: 'fine' }])
    const kit = await agentKit({ model }, { storage })
    storage.beforeAppend = () => {
      throw new StorageError('quota-exceeded', 'The disk is full')
    }
    expect(await kit.agent.send({ text: 'one' }).done).toMatchObject({
      kind: 'error',
      error: { code: 'QUOTA_EXCEEDED', message: 'The disk is full' },
    })
    expect(model.requests).toEqual([])
    expect(kit.live.storageStatus.unsaved).toBe(kit.live.session.length)

    storage.beforeAppend = () => undefined
    expect(await kit.agent.send({ text: 'two' }).done).toEqual({ kind: 'completed' })
    expect((await kit.stored()).map(event => event.seq)).toEqual([...Array(kit.live.session.length).keys()])
  })

  it('[W7, A5] runs no tool whose call could not be stored', async () => {
    const storage = observedStorage()
    const runs: unknown[] = []
    const model = scriptedModel([{ toolCalls: [{ id: 'c', name: 'pay' }] }, { text: 'fine' }, { text: 'again' }])
    const kit = await agentKit({ model, tools: [tool('pay', () => void runs.push('paid'))] }, { storage })
    storage.beforeAppend = ({ segment }) => {
      if (segment.text.includes('tool/call')) throw new StorageError('unavailable', 'Gone')
    }
    expect(await kit.agent.send({ text: 'go' }).done).toMatchObject({ kind: 'error', error: { code: 'UNAVAILABLE' } })
    expect(runs).toEqual([])
    expect(model.requests).toHaveLength(1)
    storage.beforeAppend = () => undefined
    expect(shown(await kit.stored())).toEqual([[expect.stringContaining('could not be recorded'), 'NOT_RECORDED']])
    expect(await kit.agent.send({ text: 'more' }).done).toEqual({ kind: 'completed' })
  })

  it('[W6, A5] waits for a slow storage, and can be stopped meanwhile', async () => {
    const storage = observedStorage()
    const runs: unknown[] = []
    const model = scriptedModel([{ toolCalls: [{ id: 'c', name: 'pay' }] }, { text: 'fine' }])
    const kit = await agentKit({ model, tools: [tool('pay', () => void runs.push('paid'))] }, { storage })
    let release: () => void = () => undefined
    const slow = new Promise<void>(resolve => (release = resolve))
    storage.beforeAppend = ({ segment }) => (segment.text.includes('tool/call') ? slow : undefined)
    const turn = kit.agent.send({ text: 'go' })
    await settled()
    expect(kit.agent.status).toMatchObject({ kind: 'tool' })
    expect(runs).toEqual([])
    kit.agent.cancel()
    expect(await turn.done).toMatchObject({ kind: 'aborted' })
    release()
    expect(shown(await kit.stored())).toEqual([[expect.any(String), 'ABORTED_BEFORE_DISPATCH']])
    expect(runs).toEqual([])
  })

  it('[W6, A7] a request held up by storage can be stopped', async () => {
    const storage = observedStorage()
    const model = scriptedModel([{ text: 'fine' }])
    const kit = await agentKit({ model }, { storage })
    storage.beforeAppend = () => new Promise(() => undefined)
    const turn = kit.agent.send({ text: 'go' })
    await settled()
    kit.agent.cancel()
    expect(await turn.done).toMatchObject({ kind: 'aborted' })
    expect(model.requests).toEqual([])
  })
})
