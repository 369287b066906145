/** Several sessions and several tabs. */
import { Demo, expect, test } from './demo.ts'

test('[E6] two sessions do not mix', async ({ demo, page }) => {
  const [alpha, beta] = ['alpha', 'beta'].map(name => `${name}-${crypto.randomUUID().slice(0, 8)}`) as [string, string]
  const first = await demo.open()
  await demo.send(`Tell me about ${alpha}. [slow]`)
  await expect(demo.live).not.toHaveText('')
  // The first one keeps answering while the second one works.
  const second = await demo.startSession()
  expect(second).not.toBe(first)
  await demo.ask(`Tell me about ${beta}. [fast]`)
  await expect(page.locator('#rows')).not.toContainText(alpha)
  await page
    .locator('#sessions')
    .getByRole('button', { name: `Tell me about ${alpha}.`, exact: true })
    .click()
  await expect(demo.status).toHaveText(/^Answering/)
  await expect(page.locator('#rows')).toContainText(alpha)
  await expect(page.locator('#rows')).not.toContainText(beta)
  await page.getByRole('button', { name: 'Stop' }).click()
  await demo.ended(1)

  expect(JSON.stringify(await demo.stored(first))).not.toContain(beta)
  expect(JSON.stringify(await demo.stored(second))).not.toContain(alpha)
  for (const { messages } of await demo.requests(alpha)) expect(JSON.stringify(messages)).not.toContain(beta)
  for (const { messages } of await demo.requests(beta)) expect(JSON.stringify(messages)).not.toContain(alpha)
})

test('[E6] drafts stay with their session', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Hello there. [fast]')
  await demo.prompt.fill('not sent yet')
  await demo.reload()
  await expect(demo.prompt).toHaveValue('not sent yet')
  await demo.startSession()
  await expect(demo.prompt).toHaveValue('')
  await page.goBack()
  await expect(demo.prompt).toHaveValue('not sent yet')
  await expect(demo.rows).toHaveCount(3)
})

test('[E6] a deleted session leaves the list at once and is gone for good 8 s later; taken back it has every event', async ({
  demo,
  page,
}) => {
  const entry = (name: string) => page.locator('#sessions').getByRole('button', { name, exact: true })
  const undo = page.locator('.undo')
  const gone = await demo.open()
  await demo.ask('Let me go. [fast]')
  await demo.startSession()
  const back = demo.id
  await demo.ask('Keep me. [fast]')
  await demo.prompt.fill('not sent yet')
  const events = await demo.stored(back)

  await demo.remove('Keep me.')
  await expect(entry('Keep me.')).toHaveCount(0)
  await expect(undo).toContainText('“Keep me.” is deleted in 8 s.')
  expect(demo.id).toBe(gone) // the page shows another one
  expect((await demo.stored(back)).slice(0, events.length)).toEqual(events)
  await undo.getByRole('button', { name: 'Undo' }).click()
  await expect(undo).toBeEmpty()
  await expect(entry('Keep me.')).toBeVisible()
  expect(demo.id).toBe(back)
  await expect(demo.rows).toHaveCount(3)
  await expect(demo.prompt).toHaveValue('not sent yet')

  // Left alone, it is gone; what was taken back stays.
  await demo.remove('Let me go.')
  await expect(undo).toContainText('“Let me go.” is deleted in 8 s.')
  await expect(entry('Let me go.')).toHaveCount(0)
  await page.waitForTimeout(6_000)
  expect(await demo.stored(gone)).not.toEqual([])
  await expect(undo).toBeEmpty({ timeout: 4_000 })
  await expect.poll(() => demo.stored(gone)).toEqual([])
  expect(demo.id).toBe(back)
  await demo.reload()
  await expect(entry('Let me go.')).toHaveCount(0)
  await expect(entry('Keep me.')).toBeVisible()
  expect((await demo.stored(back)).slice(0, events.length)).toEqual(events)

  // The last session that is deleted leaves an empty one.
  await demo.remove('Keep me.')
  await expect(page.getByText('One log, three readings of it.')).toBeVisible()
})

test('[E6] a deletion that a reload finds waiting is carried out, and a session of its name starts empty', async ({
  demo,
  page,
}) => {
  const first = await demo.open()
  await demo.ask('Short lived. [fast]')
  await demo.remove('Short lived.')
  await expect(page.locator('.undo')).toContainText('Undo')
  await demo.reload()
  await expect.poll(() => demo.stored(first)).toEqual([])
  await expect(page.locator('.undo')).toBeEmpty()
  await expect(page.locator('#sessions')).not.toContainText('Short lived.')
  await demo.open({ id: first })
  await expect(page.getByText('One log, three readings of it.')).toBeVisible()
})

test('[E6] a session is renamed in the list, and keeps its name', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Hello there. [fast]')
  await page.getByRole('button', { name: 'Rename Hello there.' }).click()
  const field = page.getByRole('textbox', { name: 'New name of Hello there.' })
  await field.fill('  ')
  await field.press('Enter')
  await expect(page.locator('#sessions .session[aria-current]')).toHaveText('Hello there.')
  await page.locator('#sessions .session[aria-current]').dblclick()
  await field.fill('<b>Greetings</b>')
  await field.press('Enter')
  await expect(page.locator('#sessions .session[aria-current]')).toHaveText('<b>Greetings</b>')
  await expect(page).toHaveTitle('<b>Greetings</b> · Palimpsest')
  await demo.ask('One more. [fast]')
  await demo.reload()
  await expect(page.locator('#conversation-title')).toHaveText('<b>Greetings</b>')
})

test('[E6] an address without a session starts a new one, and a page for people has no test hook', async ({
  demo,
  page,
}) => {
  await page.goto('/')
  await expect(demo.status).toHaveText('Idle · nothing to save yet')
  expect(demo.id).toMatch(/^[\da-f-]{36}$/)
  await expect(demo.prompt).toBeFocused()
  await page.getByRole('button', { name: 'Remember that the tide is high at noon on Sunday.' }).click()
  await demo.ended(1)
  await expect(page).toHaveTitle('Remember that the tide is high at noon… · Palimpsest')
  expect(await page.evaluate(() => 'palimpsestDemo' in window)).toBe(false)
})

test('[E8] a session that is open in another tab is refused in words, and opens once that tab is closed', async ({
  demo,
  context,
}) => {
  const id = await demo.open()
  await demo.ask('Hold this session. [fast]')
  const other = new Demo(await context.newPage())
  await other.page.goto(`/?e2e#session=${id}`)
  await expect(other.page.getByText('This session is open in another tab.')).toBeVisible()
  await expect(other.page.getByText('Close it there, then try again.')).toBeVisible()
  await expect(other.page.getByRole('button', { name: 'Send' })).toBeDisabled()
  await other.page.screenshot({ path: 'test-results/in-use.png' })
  const again = other.page.getByRole('button', { name: 'Try again' })
  await again.click()
  await expect(other.page.getByText('This session is open in another tab.')).toBeVisible()

  // The tab that has it goes on as if nothing had happened, and a new session in the other one works.
  await demo.ask('Still mine? [fast]')
  await other.startSession()
  await other.ask('Something else. [fast]')
  await other.page.goBack()
  await expect(other.page.getByText('This session is open in another tab.')).toBeVisible()
  await demo.page.close()
  await again.click()
  await expect(other.status).toHaveText('Idle · saved')
  await expect(other.page.locator('.row.user').last()).toContainText('Still mine?')
  await other.ask('Now mine. [fast]')
})
