/** Turns that are stopped or cut off leave a session that goes on. */
import { type Demo, expect, test } from './demo.ts'

/** Sends one more prompt and checks that the strict provider took the repaired history. */
async function expectNextPromptWorks(demo: Demo, mark: string, turn: number): Promise<void> {
  await demo.ask(`Go on with ${mark}. [fast]`)
  expect(await demo.lastEnd()).toEqual({ turn, reason: { kind: 'completed' } })
  expect(await demo.requests(`Go on with ${mark}`)).toHaveLength(1)
  expect(await demo.requests(mark, 400)).toEqual([])
}

test('[E4] stop in mid-stream keeps the partial text, also after a reload', async ({ demo, page }) => {
  const mark = `mark-${crypto.randomUUID()}`
  await demo.open()
  await demo.send(`Tell me about ${mark}. [slow]`)
  await expect.poll(() => demo.live.textContent()).toMatch(/\S+ \S+ \S+/)
  await page.getByRole('button', { name: 'Stop' }).click()
  await demo.ended(1)
  const answer = page.locator('.row.agent .markdown')
  const partial = await answer.innerText()
  expect(partial).toMatch(/^You wrote/)
  expect(partial.split(' ').length).toBeLessThan(60)
  await expect(page.locator('.ending', { hasText: 'You stopped this turn.' })).toBeVisible()
  await demo.reload()
  await expect(answer).toHaveText(partial)
  await expect(page.locator('.ending', { hasText: 'You stopped this turn.' })).toBeVisible()

  const events = await demo.stored()
  const message = events.find(event => event.type === 'assistant/message')
  expect(message?.data).toMatchObject({ interrupted: true, message: { content: [{ type: 'text', text: partial }] } })
  expect(events.map(event => event.type).slice(-3)).toEqual(['step/end', 'turn/end', 'session/end-seed'])
  expect(events.at(-2)?.data).toEqual({ turn: 1, reason: { kind: 'aborted', reason: { kind: 'user' } } })
  await expectNextPromptWorks(demo, mark, 2)
})

test('[E5] a reload in the middle of a stream keeps what was shown, and leaves a repaired session', async ({
  demo,
  page,
}) => {
  const mark = `mark-${crypto.randomUUID()}`
  await demo.open()
  await demo.send(`Tell me about ${mark}. [slow]`)
  await expect.poll(() => demo.live.textContent()).toMatch(/\S+ \S+/)
  const before = await demo.stored()
  const shown = (await demo.live.innerText()).trim()
  // What comes after it takes longer than a journal does.
  await expect.poll(async () => (await demo.live.innerText()).length).toBeGreaterThan(shown.length + 40)
  await demo.reload()
  await expect(page.locator('.ending', { hasText: 'This turn was interrupted.' })).toBeVisible()
  await expect(demo.status).toHaveText('Idle · saved')
  const events = await demo.stored()
  expect(events.slice(0, before.length)).toEqual(before)
  const [kept, ...closers] = events.slice(before.length).map(({ type, data }) => ({ type, data }))
  expect(kept).toMatchObject({ type: 'assistant/message', data: { interrupted: true } })
  const { message } = kept?.data as { message: { content: { text: string }[] } }
  expect(message.content[0]?.text.startsWith(shown)).toBe(true)
  await expect(page.locator('.row.agent .markdown')).toContainText(shown)
  expect(closers).toEqual([
    { type: 'step/end', data: { turn: 1, step: 1 } },
    { type: 'turn/end', data: { turn: 1, reason: { kind: 'interrupted' } } },
    { type: 'session/end-seed', data: {} },
  ])
  await expectNextPromptWorks(demo, mark, 2)
})

test('[E5] a reload in the middle of a tool leaves a repaired session', async ({ demo, page }) => {
  const mark = `mark-${crypto.randomUUID()}`
  await demo.open()
  await demo.send(`Remember that ${mark} is slow [slow-tool]`)
  await expect(demo.status).toHaveText(/^Running tool write_note/, { timeout: 10_000 })
  // The tool says how far it is.
  await expect(page.locator('.tool .state')).toHaveText(/^writing, part [1-4] of 4 running/)
  await expect.poll(async () => (await demo.stored()).at(-1)?.type).toBe('tool/call')
  const before = await demo.stored()
  await demo.reload()
  await expect(page.locator('.ending', { hasText: 'This turn was interrupted.' })).toBeVisible()
  await expect(page.locator('.tool .state')).toHaveText(/✗ failed/)
  await expect(page.locator('.tool')).toContainText('its result is unknown')
  await expect(demo.status).toHaveText('Idle · saved')

  const events = await demo.stored()
  const call = before.at(-1)
  const { callId } = call?.data as { callId: string }
  expect(events.slice(0, before.length)).toEqual(before)
  expect(events.slice(before.length)).toEqual([
    {
      type: 'tool/result',
      seq: before.length,
      time: call?.time,
      data: {
        turn: 1,
        step: 1,
        message: {
          id: `interrupted-tool-result-${callId}-${before.length}`,
          role: 'user',
          content: [
            {
              type: 'tool-result',
              toolCallId: callId,
              content: [{ type: 'text', text: expect.stringContaining('its result is unknown') as unknown }],
              isError: true,
            },
          ],
          source: { kind: 'tool', callId },
        },
        error: { name: 'ToolOutcomeUnknownError', code: 'TOOL_OUTCOME_UNKNOWN' },
      },
      surfaceOp: 'append',
      sourceEventSeqs: [call?.seq],
    },
    { type: 'step/end', seq: before.length + 1, time: call?.time, data: { turn: 1, step: 1 } },
    { type: 'turn/end', seq: before.length + 2, time: call?.time, data: { turn: 1, reason: { kind: 'interrupted' } } },
    { type: 'session/end-seed', seq: before.length + 3, time: expect.any(Number) as unknown, data: {} },
  ])
  await expectNextPromptWorks(demo, mark, 2)
})

test('[E5] stop in the middle of a tool answers its call', async ({ demo, page }) => {
  const mark = `mark-${crypto.randomUUID()}`
  await demo.open()
  await demo.send(`Remember that ${mark} is slow [slow-tool]`)
  await expect(demo.status).toHaveText(/^Running tool write_note/, { timeout: 10_000 })
  await page.getByRole('button', { name: 'Stop' }).click()
  await demo.ended(1)
  await expect(page.locator('.ending', { hasText: 'You stopped this turn.' })).toBeVisible()
  await expect(page.locator('.tool .state')).toHaveText(/✗ failed/)
  await expectNextPromptWorks(demo, mark, 2)
  await expect(page.locator('#notes')).toHaveText('None yet.')
})

test('[E5] a turn that was interrupted is continued with one press, and says so in one line', async ({
  demo,
  page,
}) => {
  const mark = `mark-${crypto.randomUUID()}`
  await demo.open()
  await demo.send(`Tell me about ${mark}. [slow]`)
  await expect.poll(() => demo.live.textContent()).toMatch(/\S+ \S+/)
  await demo.reload()
  const ending = page.locator('.ending', { hasText: 'This turn was interrupted.' })
  await expect(ending).toContainText('Goes on from where it stopped. Or send something else.')
  await page.getByRole('button', { name: 'Continue' }).click()
  await demo.ended(2)
  await expect(page.getByRole('button', { name: 'Continue' })).toHaveCount(0)
  await expect(demo.rows.last()).toContainText(`I go on where I was cut off. You wrote “Tell me about ${mark}.”`)
  // What the model was told is a line that opens, and nothing the person said.
  const notice = page.locator('.row.aside')
  await expect(notice).toContainText('Continued after an interruption')
  await expect(page.locator('.row.user')).toHaveCount(1)
  await notice.locator('summary').click()
  await expect(notice).toContainText('The turn before was cut off before it was finished.')
  expect(await demo.lastEnd()).toEqual({ turn: 2, reason: { kind: 'completed' } })
  expect(await demo.requests(mark, 400)).toEqual([])
})

test('[E5] with something queued an interrupted turn is followed by that, and not continued', async ({
  demo,
  page,
}) => {
  await demo.open()
  await demo.send('Tell me about the sea. [slow]')
  await expect(demo.live).toHaveText(/\S/)
  await demo.send('After that. [fast]')
  await expect.poll(async () => (await demo.stored()).map(event => event.type)).toContain('agent/inbox/spliced')
  await page.reload()
  await expect(demo.status).toHaveText('Idle · 1 queued · saved')
  await expect(page.getByRole('button', { name: 'Continue' })).toHaveCount(0)
  await page.locator('section.queue').getByRole('button', { name: 'Remove' }).click()
  await expect(page.getByRole('button', { name: 'Continue' })).toBeVisible()
})
