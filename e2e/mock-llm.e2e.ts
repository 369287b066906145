/** A conversation with a provider that nobody here wrote: a mock of OpenAI's API, behind the form for providers. */
import { expect, test } from './demo.ts'
import { everythingKept } from './kept.ts'
import { type Fixture, type MockLlm, startMockLlm } from './mock-llm.ts'
import { ProviderDialog } from './provider-dialog.ts'

const key = 'mock-key-5f0e1c9a7b'
const model = 'mock-model-1'

const error = (message: string, type: string) => ({ error: { message, type } })
const fixtures: readonly Fixture[] = [
  {
    match: { userMessage: 'lighthouse' },
    response: {
      content: 'The **lighthouse** stands at the end of the pier, and its lamp turns once in ten seconds.',
      usage: { prompt_tokens: 1_200, completion_tokens: 34 },
    },
    latency: 60,
    chunkSize: 4,
  },
  {
    match: { userMessage: 'how high' },
    response: { content: 'It is 41 metres high.', usage: { prompt_tokens: 1_250, completion_tokens: 9 } },
  },
  {
    match: { userMessage: 'busy', sequenceIndex: 0 },
    response: { ...error('Rate limit reached for requests', 'requests'), status: 429 },
  },
  { match: { userMessage: 'busy' }, response: { content: 'Now there is time.' } },
  {
    match: { userMessage: 'hiccup', sequenceIndex: 0 },
    response: { ...error('The server had an error while processing your request', 'server_error'), status: 500 },
  },
  { match: { userMessage: 'hiccup' }, response: { content: 'Back again.' } },
  {
    match: { userMessage: 'forbidden' },
    response: { ...error('This model does not take that parameter', 'invalid_request_error'), status: 400 },
  },
  // What the test of a connection says.
  { match: { userMessage: 'Hi' }, response: { content: 'Hi.' } },
]

let mock: MockLlm
test.beforeEach(async () => {
  mock = await startMockLlm(fixtures, key)
})
test.afterEach(() => mock.stop())

test('[E14] a conversation with a mock of OpenAI’s API: it streams, and hears what was said before', async ({
  demo,
  page,
}) => {
  await demo.open()
  const provider = new ProviderDialog(page)
  await provider.open()
  await provider.fill({ kind: 'OpenAI-compatible', url: mock.baseURL, model, key })
  await provider.test()
  await expect(provider.said).toContainText(`answers, and so did ${model}: it was asked for a single token.`)
  await provider.close()
  await provider.use({ kind: 'OpenAI-compatible', url: mock.baseURL, model, key })
  await expect(page.locator('#provider-button')).toHaveText(`${new URL(mock.baseURL).host} · ${model}`)

  await demo.send('Where is the lighthouse?')
  await expect(demo.live).toContainText('The lighthouse stands')
  await expect(demo.live).not.toContainText('ten seconds.', { timeout: 1 })
  await demo.ended(1)
  const answer = page.locator('.row.agent').last()
  await expect(answer).toContainText('The lighthouse stands at the end of the pier, and its lamp turns once')
  await expect(answer.locator('strong')).toHaveText('lighthouse')
  await demo.ask('And how high is it?')
  await expect(page.locator('.row.agent').last()).toContainText('It is 41 metres high.')

  const [, first, second, ...more] = await mock.requests()
  expect(more).toEqual([])
  expect(first).toMatchObject({ status: 200, model, isStreamed: true })
  expect(first?.messages.map(({ role }) => role)).toEqual(['system', 'user'])
  expect(second?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
  expect(second?.messages.slice(0, 2)).toEqual(first?.messages)
  expect(second?.messages[2]?.content).toContain('its lamp turns once in ten seconds.')

  // What it counted is what was spent; nobody knows its prices.
  const spent = page.locator('#spent')
  await expect(spent).toContainText('Spent so far 2 calls · 2.5k tokens read, 43 written · no price known')
  await spent.locator('summary').click()
  await expect(spent.locator('tbody th')).toHaveText(`${model}, demo.chat`)
  await expect(spent.locator('tbody td')).toHaveText(['2', '2.5k', '0', '0', '43', 'no price known'])

  await demo.reload()
  expect(await page.evaluate(everythingKept)).not.toContain(key)
  const log = await page.evaluate(
    async id => (await window.palimpsestDemo.palimpsest.sessions.export(id)).text(),
    demo.id,
  )
  expect(log).toContain('its lamp turns once in ten seconds.')
  expect(log).not.toContain(key)
})

test('[E14] what the mock fails at is tried again, and said when it cannot be', async ({ demo, page, reports }) => {
  reports.expect(/^Failed to load resource: /)
  await demo.open()
  await new ProviderDialog(page).use({ kind: 'OpenAI-compatible', url: mock.baseURL, model, key })
  for (const [prompt, status, answer] of [
    ['Are you busy?', 429, 'Now there is time.'],
    ['Any hiccup?', 500, 'Back again.'],
  ] as const) {
    await demo.send(prompt)
    await expect(demo.status).toHaveText(/^Trying again/)
    const ends = await demo.turnEnds.count()
    await demo.ended(Math.max(1, ends + 1))
    await expect(page.locator('.row.agent').last()).toContainText(answer)
    const asked = (await mock.requests()).filter(({ messages }) => JSON.stringify(messages.at(-1)).includes(prompt))
    expect(asked.map(each => each.status)).toEqual([status, 200])
    expect(asked[0]?.messages).toEqual(asked[1]?.messages)
  }

  await demo.ask('Is it forbidden?')
  const ending = page.locator('.ending.error').last()
  await expect(ending).toContainText('This model does not take that parameter')
  const refused = (await mock.requests()).filter(({ messages }) =>
    JSON.stringify(messages.at(-1)).includes('forbidden'),
  )
  expect(refused.map(({ status }) => status)).toEqual([400])

  // A key it does not take.
  await new ProviderDialog(page).use({ key: 'another-key-5f0e1c9a7b' })
  await demo.ask('Where is the lighthouse?')
  await expect(page.locator('.ending.error').last()).toContainText('The provider refused the key.')
  await new ProviderDialog(page).use({ key })
  await demo.ask('And how high is it?')
  await expect(page.locator('.row.agent').last()).toContainText('It is 41 metres high.')
  const kept = await page.evaluate(everythingKept)
  for (const secret of [key, 'another-key-5f0e1c9a7b']) expect(kept).not.toContain(secret)
})
