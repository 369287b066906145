/** Prompts sent while a turn runs wait: for the end of it, or for its next step. They are recorded, so nothing is lost. */
import { type Demo, expect, test } from './demo.ts'

const queue = ({ page }: Demo) => page.locator('section.queue')
const queued = ({ page }: Demo) => page.locator('section.queue .preview')
const prompts = ({ page }: Demo) => page.locator('.row.user .body')

/** Starts a turn that goes on until it is stopped. */
async function start(demo: Demo): Promise<void> {
  await demo.open()
  await demo.send('Tell me about the sea. [slow]')
  await expect(demo.live).toHaveText(/\S/)
  await expect(demo.page.locator('#send')).toHaveText('Queue')
}

test('[E13] prompts sent during an answer wait in order, and each gets a turn of its own', async ({ demo, page }) => {
  await demo.open()
  await expect(page.locator('#send')).toHaveText('Send')
  await expect(page.locator('#steer')).toHaveCount(0)
  await demo.send('Tell me about the sea.')
  await demo.send('The second one. [fast]')
  await demo.send('The third one. [fast]')
  await expect(queued(demo)).toHaveText(['The second one. [fast]', 'The third one. [fast]'])
  await expect(queue(demo)).toContainText('after this turn')
  await expect(demo.status).toContainText('2 queued')
  await expect(demo.notice).toHaveCount(0)
  await demo.ended(3)
  await expect(queue(demo)).toHaveCount(0)
  await expect(prompts(demo)).toHaveText(['Tell me about the sea.', 'The second one. [fast]', 'The third one. [fast]'])
  const events = await demo.stored()
  const ends = events.filter(event => event.type === 'turn/end').map(event => event.data)
  expect(ends).toEqual([1, 2, 3].map(turn => ({ turn, reason: { kind: 'completed' } })))
  expect(events.filter(event => event.type === 'user/message')).toHaveLength(3)
})

test('[E13] stopping keeps what is queued; it can be changed, removed and sent', async ({ demo, page }) => {
  await start(demo)
  for (const text of ['Keep me. [fast]', 'Change me. [fast]', 'Remove me. [fast]']) await demo.send(text)
  await demo.prompt.press('Escape')
  await demo.ended(1)
  await expect(page.locator('.ending', { hasText: 'You stopped this turn.' })).toBeVisible()
  await expect(queued(demo)).toHaveText(['Keep me. [fast]', 'Change me. [fast]', 'Remove me. [fast]'])
  await expect(demo.prompt).toHaveValue('')
  await expect(page.locator('#send')).toHaveText('Send')

  const item = (text: string) => queue(demo).getByRole('listitem').filter({ hasText: text })
  await item('Change me.').getByRole('button', { name: 'Edit' }).click()
  const field = page.getByRole('textbox', { name: 'Queued message' })
  await expect(field).toBeFocused()
  await field.fill('Given up')
  await field.press('Escape')
  await expect(queued(demo).nth(1)).toHaveText('Change me. [fast]')
  await item('Change me.').getByRole('button', { name: 'Edit' }).click()
  await field.fill('Changed. [fast]')
  await field.press('Enter')
  await expect(queued(demo)).toHaveText(['Keep me. [fast]', 'Changed. [fast]', 'Remove me. [fast]'])
  await item('Remove me.').getByRole('button', { name: 'Remove' }).click()
  await expect(queued(demo)).toHaveText(['Keep me. [fast]', 'Changed. [fast]'])

  await page.getByRole('button', { name: 'Send what is queued' }).click()
  await demo.ended(3)
  await expect(queue(demo)).toHaveCount(0)
  await expect(prompts(demo)).toHaveText(['Tell me about the sea. [slow]', 'Keep me. [fast]', 'Changed. [fast]'])
  expect(JSON.stringify(await demo.requests('Remove me.'))).toBe('[]')
  expect(JSON.stringify(await demo.requests('Given up'))).toBe('[]')
})

test('[E13] an edit that leaves nothing to send is refused in words', async ({ demo, page }) => {
  await start(demo)
  await demo.send('Wait here. [fast]')
  await queue(demo).getByRole('button', { name: 'Edit' }).click()
  const field = page.getByRole('textbox', { name: 'Queued message' })
  await field.fill('  ')
  await field.press('Enter')
  await expect(demo.notice).toContainText('There is nothing to send')
  await field.press('Escape')
  await expect(queued(demo)).toHaveText(['Wait here. [fast]'])
  await page.getByRole('button', { name: 'Stop' }).click()
  await demo.ended(1)
  await expect(queued(demo)).toHaveText(['Wait here. [fast]'])
})

test('[E13] a reload keeps what is queued, and it is sent when a person says so', async ({ demo, page }) => {
  await start(demo)
  await demo.send('After the reload. [fast]')
  await expect.poll(async () => (await demo.stored()).map(event => event.type)).toContain('agent/inbox/spliced')
  await page.reload()
  await expect(demo.status).toHaveText('Idle · 1 queued · saved')
  await expect(page.locator('.ending', { hasText: 'This turn was interrupted.' })).toBeVisible()
  await expect(queued(demo)).toHaveText(['After the reload. [fast]'])
  await page.getByRole('button', { name: 'Send what is queued' }).click()
  await demo.ended(2)
  await expect(queue(demo)).toHaveCount(0)
  await expect(prompts(demo).last()).toHaveText('After the reload. [fast]')
  await expect(demo.rows.last()).toContainText('You wrote “After the reload.”')
})

for (const way of ['Ctrl+Enter', 'the button']) {
  test(`[E13] steering with ${way} is read before the next step of the same turn`, async ({ demo, page }) => {
    const mark = `mark-${crypto.randomUUID()}`
    await demo.open()
    await demo.send(`Remember that ${mark} is slow [slow-tool]`)
    await expect(demo.status).toHaveText(/^Running tool write_note/, { timeout: 10_000 })
    await demo.prompt.fill('Tell me what my first words were. [fast]')
    if (way === 'the button') await page.locator('#steer').click()
    else await demo.prompt.press('Control+Enter')
    await expect(demo.prompt).toHaveValue('')
    await expect(queue(demo)).toContainText('before the next step')
    await demo.ended(1)
    await expect(queue(demo)).toHaveCount(0)
    await expect(page.locator('.tool .state')).toHaveText(/✓ done/)
    const events = await demo.stored()
    const types = events.map(event => event.type)
    expect(types.filter(type => type === 'turn/start')).toHaveLength(1)
    // After the tool's result, before the answer of the step that read it.
    const said = events.filter(event => event.type === 'user/message').map(event => event.seq)
    expect(said).toHaveLength(2)
    expect(said[1]).toBeGreaterThan(types.indexOf('tool/result'))
    expect(said[1]).toBeLessThan(types.lastIndexOf('assistant/message'))
    const requests = await demo.requests(mark)
    expect(requests.at(-1)?.messages.map(message => message['role'])).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'user',
    ])
    expect(await demo.requests(mark, 400)).toEqual([])
  })
}
