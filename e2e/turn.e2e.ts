/** One turn end to end: streamed, recorded, restored, and sent again as history. */
import { expect, test } from './demo.ts'
import { toWire } from './wire.ts'

const text = expect.any(String) as unknown

test('[E1] a prompt with a tool call streams in pieces and is stored event by event', async ({ demo, page }) => {
  await demo.open()
  const lengths = await page.evaluateHandle(() => {
    const seen: number[] = []
    new MutationObserver(() => {
      const length = document.querySelector('.row.agent.live .body')?.textContent.length ?? 0
      if (length > (seen.at(-1) ?? 0)) seen.push(length)
    }).observe(document.querySelector('#rows') as Element, { childList: true, subtree: true, characterData: true })
    return seen
  })
  await demo.ask('Remember that the tide is high at noon.')
  expect((await lengths.jsonValue()).length).toBeGreaterThanOrEqual(3)
  await expect(demo.rows.nth(2)).toContainText('I will write that note.')
  await expect(demo.rows.nth(3).locator('.tool.done .state')).toHaveText(/✓ done/)
  await expect(demo.rows.last()).toContainText('I wrote the note “The tide is high at noon”.')

  const events = await demo.stored()
  const model = { provider: 'demo.chat', model: 'embedded-small' }
  const tool = (name: string) => ({
    name,
    description: text,
    inputSchema: expect.objectContaining({ type: 'object' }) as unknown,
  })
  const step = (number: number) => ({ turn: 1, step: number })
  const call = {
    name: 'write_note',
    arguments: '{"title":"The tide is high at noon","text":"the tide is high at noon"}',
  }
  const callId = (events[7]?.data as { callId: string }).callId
  const answer = (...content: object[]) => ({
    message: { id: text, role: 'assistant', content, source: { kind: 'model', ...model } },
    stream: expect.any(Array) as unknown,
    usage: expect.objectContaining({ inputTokens: expect.any(Number), outputTokens: expect.any(Number) }) as unknown,
  })
  expect(events.map(({ time: _, ...event }) => event)).toEqual(
    [
      { type: 'turn/start', data: { turn: 1 } },
      { type: 'step/start', data: step(1) },
      {
        type: 'system/message',
        data: {
          ...step(1),
          message: {
            id: text,
            role: 'system',
            content: [{ type: 'text', text }],
            source: { kind: 'plugin', plugin: 'palimpsest/system-prompt' },
          },
        },
        surfaceOp: 'append',
      },
      {
        type: 'user/message',
        data: {
          id: text,
          role: 'user',
          content: [{ type: 'text', text: 'Remember that the tide is high at noon.' }],
          source: { kind: 'user' },
        },
        surfaceOp: 'append',
      },
      {
        type: 'request/header',
        data: {
          header: { config: model, tools: ['search_notes', 'write_note', 'delete_note', 'set_theme'].map(tool) },
          reason: 'initial',
        },
      },
      { type: 'request/context', data: { ...model, contextWindow: 16_000 } },
      {
        type: 'assistant/message',
        data: {
          ...step(1),
          ...answer({ type: 'text', text: 'I will write that note.' }, { type: 'tool-call', id: callId, ...call }),
        },
        surfaceOp: 'append',
      },
      { type: 'tool/call', data: { ...step(1), callId, ...call } },
      {
        type: 'tool/result',
        data: {
          ...step(1),
          message: {
            id: text,
            role: 'user',
            content: [{ type: 'tool-result', toolCallId: callId, content: [{ type: 'text', text: 'Saved.' }] }],
            source: { kind: 'tool', callId },
          },
        },
        surfaceOp: 'append',
        sourceEventSeqs: [7],
      },
      { type: 'step/end', data: step(1) },
      { type: 'step/start', data: step(2) },
      {
        type: 'assistant/message',
        data: {
          ...step(2),
          ...answer({
            type: 'text',
            text: 'I wrote the note “The tide is high at noon”. The tool answered: “Saved.”.',
          }),
        },
        surfaceOp: 'append',
      },
      { type: 'step/end', data: step(2) },
      { type: 'turn/end', data: { turn: 1, reason: { kind: 'completed' } } },
      {
        type: 'session/title',
        data: { title: 'Remember that the tide is high at noon.', messageSeqs: [3], source: { kind: 'agent' } },
      },
    ].map((event, seq) => ({ ...event, seq })),
  )
  const times = events.map(event => event.time)
  expect(times).toEqual([...times].sort((a, b) => a - b))
  // The stream in the log is the answer word by word.
  const { stream } = events[11]?.data as { stream: { type: string; texts?: string[] }[] }
  const words = stream.flatMap(record => (record.type === 'text-chunks' ? (record.texts ?? []) : []))
  expect(words.length).toBeGreaterThan(5)
  expect(words.join('')).toBe('I wrote the note “The tide is high at noon”. The tool answered: “Saved.”.')
})

test('[E2] a reload shows the same transcript, surface and log', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Think, and remember that boats leave at nine. [fast]')
  const before = await demo.shown()
  expect(before.transcript).toHaveLength(5) // instructions, prompt, answer, its tool, answer
  const stored = await demo.stored()
  await demo.reload()
  await expect(demo.log).toHaveCount(before.log.length + 1)
  await expect.poll(() => demo.shown().then(shown => shown.surface)).toEqual(before.surface)
  const after = await demo.shown()
  expect(after.transcript).toEqual(before.transcript)
  expect(after.log.slice(0, -1)).toEqual(before.log)
  // Opening marks where the restored part ends, and changes nothing before it.
  await expect(demo.status).toHaveText('Idle · saved')
  const restored = await demo.stored()
  expect(restored.slice(0, -1)).toEqual(stored)
  expect(restored.at(-1)).toMatchObject({ type: 'session/end-seed', data: {} })

  // The surface panel holds the derived messages, with the seqs of their events.
  const nodes = (await page.evaluate(() => window.palimpsestDemo.session()?.readSurface()))?.nodes
  expect(await demo.surface.evaluateAll(rows => rows.map(row => Number((row as HTMLElement).dataset['seq'])))).toEqual(
    nodes?.map(node => node.seq),
  )
})

test('[E3] a second request is what the log says: derived = requested = sent, and no strict check fails', async ({
  demo,
  page,
}) => {
  const mark = `mark-${crypto.randomUUID()}`
  await demo.open()
  await demo.ask(`Think, and remember that ${mark} is a lighthouse. [fast]`)
  await demo.reload()
  await demo.send('And what is a palimpsest? [slow]')
  await expect(demo.live).not.toHaveText('')
  // While the answer streams, the surface is what this request was made from.
  const { derived, requested, changes } = await page.evaluate(async () => {
    const { session, requestMessages } = window.palimpsestDemo
    const messages = (await session()?.deriveMessages()) ?? []
    const { messages: sent, changes: made } = requestMessages(messages)
    return { derived: messages, requested: [...sent], changes: [...made] }
  })
  await page.getByRole('button', { name: 'Stop' }).click()
  await demo.ended(2)
  expect(requested).toEqual(derived)
  expect(changes).toEqual([])
  const requests = await demo.requests(mark)
  expect(requests).toHaveLength(3)
  expect(requests.at(-1)?.messages).toEqual(requested.map(toWire))
  expect(derived.map(message => message.role)).toEqual(['system', 'user', 'assistant', 'user', 'assistant', 'user'])
  expect(await demo.requests(mark, 400)).toEqual([])
})
