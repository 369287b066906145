/** What can be said: attachments, injected text, titles. */
import { describe, expect, it } from 'vitest'
import type { FileBlock, ImageBlock } from '../core/message.ts'
import { validateLog } from '../format/validate.ts'
import { agentKit, settled, typesOf } from '../testing/agent-kit.ts'
import { gate, scriptedModel } from '../testing/scripted-model.ts'
import type { AgentSetup } from './setup.ts'

const text = (said: string) => ({ type: 'text' as const, text: said })
const image: ImageBlock = {
  type: 'image',
  attachment: { attachmentId: 'sha256:1', mediaType: 'image/png', bytes: 9, width: 1, height: 1, name: 'a.png' },
}
const file: FileBlock = { type: 'file', attachment: { attachmentId: 'sha256:2', name: 'a.csv', bytes: 3 } }

describe('attachments', () => {
  it('[A17] are blocks of the message, before its text, and the log has no bytes', async () => {
    const model = scriptedModel([{ text: 'nice' }])
    const kit = await agentKit({ model })
    await kit.agent.send({ text: 'look', attachments: [image, file] }).done
    expect(model.requests[0]?.messages.at(-1)?.content).toEqual([image, file, text('look')])
    expect(validateLog({ header: kit.live.session.header, events: await kit.stored() })).toEqual([])
  })

  it('[A17] need no text beside them', async () => {
    const model = scriptedModel([{ text: 'nice' }])
    const kit = await agentKit({ model })
    await kit.agent.send({ text: ' ', attachments: [image] }).done
    expect(model.requests[0]?.messages.at(-1)?.content).toEqual([image])
  })

  it('[A17, A15] stay with a message whose words are changed, unless others are given', async () => {
    const held = gate()
    const kit = await agentKit({ model: scriptedModel([[held], { text: 'a' }, { text: 'b' }]) })
    kit.agent.send({ text: 'first' })
    const { messageId } = kit.agent.send({ text: 'look', attachments: [image] })
    const content = () => kit.agent.inbox.nextTurn[0]?.content
    kit.agent.editQueued(messageId, { text: 'see' })
    expect(content()).toEqual([image, text('see')])
    kit.agent.editQueued(messageId, { text: 'see', attachments: [file] })
    expect(content()).toEqual([file, text('see')])
    expect(() => kit.agent.editQueued(messageId, { text: '', attachments: [] })).toThrow('no visible text')
    expect(content()).toEqual([file, text('see')])
    held.open()
    kit.agent.cancel()
    await kit.agent.running?.done
  })

  it.each<[string, unknown]>([
    ['a text block', text('x')],
    ['null', null],
    ['an image without an id', { type: 'image', attachment: { mediaType: 'image/png' } }],
    ['an image with an empty id', { type: 'image', attachment: { attachmentId: '' } }],
    ['a file without an attachment', { type: 'file' }],
    ['what is not JSON', { type: 'file', attachment: { attachmentId: 'a', name: () => 'x' } }],
  ])('[A17] %s is refused, and nothing is logged', async (_what, block) => {
    const kit = await agentKit({ model: scriptedModel([]) })
    const send = () => kit.agent.send({ text: 'look', attachments: [block as ImageBlock] })
    expect(send).toThrow(expect.objectContaining({ code: 'malformed-prompt' }) as Error)
    expect(kit.live.session.length).toBe(0)
  })
})

describe('injected text', () => {
  it('[A18] waits for whichever step comes next, starts nothing, and is no person speaking', async () => {
    const model = scriptedModel([{ text: 'dry' }])
    const kit = await agentKit({ model })
    const id = kit.agent.inject({ text: 'It rains.', summary: 'Weather' })
    await settled()
    expect([kit.agent.running, model.requests.length]).toEqual([null, 0])
    await kit.agent.send({ text: 'go out?' }).done
    const [note, prompt] = model.requests[0]?.messages ?? []
    expect(note).toEqual({
      id,
      role: 'user',
      content: [text('It rains.')],
      source: { kind: 'plugin', plugin: 'palimpsest', form: 'notice', summary: 'Weather' },
    })
    expect(prompt?.content).toEqual([text('go out?')])
  })

  it('[A18] goes into the running turn, before its next request', async () => {
    const held = gate()
    const model = scriptedModel([[held, ...[]], { text: 'ok' }])
    const kit = await agentKit({ model })
    const turn = kit.agent.send({ text: 'hi' })
    await settled()
    kit.agent.inject({ text: 'x'.repeat(300) })
    held.open()
    await turn.done
    expect((kit.agent.inbox.nextStep[0]?.source as { summary?: string }).summary).toBe('x'.repeat(120))
  })

  it('[A18] without anything to see is refused', async () => {
    const kit = await agentKit({ model: scriptedModel([]) })
    expect(() => kit.agent.inject({ text: '  ' })).toThrow(expect.objectContaining({ code: 'empty-prompt' }) as Error)
  })
})

describe('taking everything back', () => {
  it('[A15] removes both lists, marked as canceled, and tells whoever waits', async () => {
    const held = gate()
    const kit = await agentKit({ model: scriptedModel([[held]]) })
    kit.agent.send({ text: 'first' })
    const later = [kit.agent.send({ text: 'second' }), kit.agent.steer({ text: 'aside' })]
    expect(kit.agent.clearQueued()).toBe(2)
    for (const { done } of later) await expect(done).rejects.toMatchObject({ code: 'canceled' })
    expect(kit.agent.inbox).toMatchObject({ nextStep: [], nextTurn: [] })
    expect(kit.agent.clearQueued()).toBe(0)
    kit.agent.cancel()
    await kit.agent.running?.done
    const canceled = (await kit.stored()).flatMap(({ data }) => {
      return (data as { outcome?: string }).outcome === 'canceled' ? [(data as { target: string }).target] : []
    })
    expect(canceled).toEqual(['next-step', 'next-turn'])
  })
})

describe('titles', () => {
  const titled = (title: AgentSetup['title'], steps = [{ text: 'ok' }, { text: 'ok' }]) =>
    agentKit({ model: scriptedModel(steps), ...(title === undefined ? {} : { title }) })
  const shown = async (kit: Awaited<ReturnType<typeof agentKit>>) => {
    await settled()
    const [summary] = await kit.sessions.list()
    const titles = (await kit.stored()).filter(({ type }) => type === 'session/title').map(({ data }) => data)
    return { title: summary?.title, titles }
  }

  it('[A27] a session is named once, after its first turn, in an event that says what from', async () => {
    const asked: string[][] = []
    const kit = await titled(({ prompts }) => {
      asked.push(prompts.map(({ content }) => (content[0] as { text: string }).text))
      return '  Tides  '
    })
    await kit.agent.send({ text: 'when is high tide?' }).done
    const seq = (await kit.stored()).find(({ type }) => type === 'user/message')?.seq
    const named = { title: 'Tides', titles: [{ title: 'Tides', messageSeqs: [seq], source: { kind: 'agent' } }] }
    expect(await shown(kit)).toEqual(named)
    await kit.agent.send({ text: 'and low?' }).done
    expect(await shown(kit)).toEqual(named)
    expect(asked).toEqual([['when is high tide?']])
    expect(validateLog({ header: kit.live.session.header, events: await kit.stored() })).toEqual([])
  })

  it.each<[string, NonNullable<AgentSetup['title']>]>([
    ['null', () => null],
    ['white space', async () => ' \n '],
  ])('[A27] %s is no name, and is asked for again after the next turn', async (_what, title) => {
    let asked = 0
    const kit = await titled(about => ((asked += 1), title(about)))
    await kit.agent.send({ text: 'hi' }).done
    expect(await shown(kit)).toEqual({ title: null, titles: [] })
    await kit.agent.send({ text: 'hi' }).done
    await settled()
    expect(asked).toBe(2)
  })

  it('[A27] what cannot name it is told, and no turn suffers from it', async () => {
    const errors: unknown[] = []
    const title = () => Promise.reject(new Error('no words'))
    const kit = await agentKit(
      { model: scriptedModel([{ text: 'ok' }]), title },
      { onError: error => errors.push(error) },
    )
    expect(await kit.agent.send({ text: 'hi' }).done).toEqual({ kind: 'completed' })
    await settled()
    expect(errors).toEqual([new Error('no words')])
  })

  it('[A27] a name that comes after the session was closed is not kept', async () => {
    const held = gate()
    const kit = await titled(() => held.opened.then(() => 'late'))
    await kit.agent.send({ text: 'hi' }).done
    const again = await kit.reopen()
    held.open()
    expect(await shown(again)).toEqual({ title: null, titles: [] })
  })

  it('[A27] a turn that failed names nothing, and a name a person gave stays', async () => {
    const kit = await titled(() => 'mine', [])
    await kit.agent.send({ text: 'hi' }).done
    expect((await shown(kit)).titles).toEqual([])
    const named = await titled(() => 'mine')
    named.agent.inject({ text: 'x' })
    await named.sessions.rename(named.live.session.id, 'Yours')
    await named.agent.send({ text: 'hi' }).done
    expect((await shown(named)).title).toBe('Yours')
    expect(typesOf(await named.stored()).filter(type => type === 'session/title').length).toBeLessThanOrEqual(1)
  })
})
