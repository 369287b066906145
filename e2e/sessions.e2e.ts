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
  await page.getByRole('button', { name: `Tell me about ${alpha}.`, exact: true }).click()
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

test('[E6] drafts stay with their session, and a deleted session is gone', async ({ demo, page }) => {
  const first = await demo.open()
  await demo.ask('Hello there. [fast]')
  await demo.prompt.fill('not sent yet')
  await demo.reload()
  await expect(demo.prompt).toHaveValue('not sent yet')
  await demo.startSession()
  await expect(demo.prompt).toHaveValue('')
  await page.goBack()
  await expect(demo.prompt).toHaveValue('not sent yet')
  await expect(demo.rows).toHaveCount(3)

  await page.getByRole('button', { name: 'Delete Hello there.' }).click()
  await expect(page.getByRole('dialog')).toContainText(`Its ${await demo.log.count()} events will be gone for good.`)
  await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click()
  expect(await demo.stored(first)).not.toEqual([])
  await page.getByRole('button', { name: 'Delete Hello there.' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await expect(page.getByText('One log, three readings of it.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Hello there.' })).toHaveCount(0)
  expect(await demo.stored(first)).toEqual([])
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
