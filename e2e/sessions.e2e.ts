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

test('[E6] a deleted session leaves the list at once, and for a while the way back is at hand', async ({
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
  await expect(undo).toContainText('“Keep me.” was deleted.')
  await expect.poll(() => demo.id).toBe(gone) // the page shows another one
  expect((await demo.stored(back)).slice(0, events.length)).toEqual(events)
  await undo.getByRole('button', { name: 'Undo' }).click()
  await expect(undo).toBeEmpty()
  await expect(entry('Keep me.')).toBeVisible()
  await expect.poll(() => demo.id).toBe(back)
  await expect(demo.rows).toHaveCount(3)
  await expect(demo.prompt).toHaveValue('not sent yet')
  await expect(page.locator('#deleted')).toHaveCount(0)

  // Left alone, the way back is at hand no more, but it is there.
  await demo.remove('Let me go.')
  await expect(undo).toContainText('“Let me go.” was deleted.')
  await expect(entry('Let me go.')).toHaveCount(0)
  await page.waitForTimeout(6_000)
  await expect(undo).toContainText('Undo')
  await expect(undo).toBeEmpty({ timeout: 4_000 })
  await expect(page.locator('#deleted summary')).toHaveText('Deleted (1)…')
  expect(demo.id).toBe(back)

  // The last session that is deleted leaves an empty one.
  await demo.remove('Keep me.')
  await expect(page.getByText('One log, three readings of it.')).toBeVisible()
  await expect(page.locator('#deleted summary')).toHaveText('Deleted (2)…')
})

test('[E6] [X7] after a reload, and in another tab, a deleted session can be brought back or deleted for good', async ({
  demo,
  page,
  context,
}) => {
  const entry = (name: string, of = page) => of.locator('#sessions').getByRole('button', { name, exact: true })
  const first = await demo.open()
  await demo.ask('Kept in the end. [fast]')
  await demo.startSession()
  const second = demo.id
  await demo.ask('Gone in the end. [fast]')
  const other = new Demo(await context.newPage())
  await other.open()
  await expect(entry('Kept in the end.', other.page)).toBeVisible()

  await demo.remove('Kept in the end.')
  await demo.remove('Gone in the end.')
  await expect(page.locator('#deleted summary')).toHaveText('Deleted (2)…')
  await expect(entry('Kept in the end.', other.page)).toHaveCount(0)
  await expect(other.page.locator('#deleted summary')).toHaveText('Deleted (2)…')
  await expect(other.page.locator('.undo')).toBeEmpty()
  await demo.reload()
  await expect(page.locator('.undo')).toBeEmpty()
  await expect(page.locator('#sessions')).not.toContainText('in the end.')
  expect(await demo.stored(first)).not.toEqual([])

  const deleted = await demo.openDeleted()
  await expect(deleted.locator('.deleted-title')).toHaveText(['Gone in the end.', 'Kept in the end.'])
  await expect(deleted.locator('li').first()).toContainText(/deleted today, \d\d:\d\d/)
  await deleted.getByRole('button', { name: 'Bring back Kept in the end.' }).click()
  await expect(entry('Kept in the end.')).toBeVisible()
  await expect(deleted.locator('summary')).toBeFocused()
  await expect(page.locator('#sessions-heard')).toHaveText('“Kept in the end.” is back.')
  await expect(entry('Kept in the end.', other.page)).toBeVisible()
  await deleted.getByRole('button', { name: 'Delete for good Gone in the end.' }).click()
  await expect(deleted).toHaveCount(0)
  await expect(page.locator('#sessions .session[aria-current]')).toBeFocused()
  await expect(page.locator('#sessions-heard')).toHaveText('“Gone in the end.” is deleted for good.')
  await expect(other.page.locator('#deleted')).toHaveCount(0)
  expect(await demo.stored(second)).toEqual([])

  await entry('Kept in the end.').click()
  await expect(demo.rows).toHaveCount(3)
  await demo.ask('As if nothing had happened. [fast]')
  await demo.open({ id: second })
  await expect(page.getByText('One log, three readings of it.')).toBeVisible()
})

test('[E6] the address of a deleted session says so, and brings it back', async ({ demo, page, context }) => {
  const id = await demo.open()
  await demo.ask('Found again. [fast]')
  await demo.remove('Found again.')
  await expect(page.getByText('One log, three readings of it.')).toBeVisible()
  await page.goto('about:blank')
  await page.goto(`/?e2e#session=${id}`)
  const words = page.locator('#rows .ending')
  await expect(words).toHaveText(/^This session was deleted\. It is kept for a week/)
  await expect(page.locator('#conversation-title')).toHaveText('Found again.')
  await expect(demo.status).toHaveText('Deleted')
  await expect(page.locator('#sessions .session')).toHaveCount(0)
  await expect(page.getByRole('button', { name: 'Send' })).toBeDisabled()

  // In another tab that shows it, too, it is back.
  const other = new Demo(await context.newPage())
  await other.page.goto(`/?e2e#session=${id}`)
  await expect(other.page.locator('#rows .ending')).toContainText('This session was deleted.')
  await words.getByRole('button', { name: 'Bring it back' }).click()
  await expect(demo.rows).toHaveCount(3)
  await expect(demo.status).toHaveText('Idle · saved')
  await expect(page.locator('#sessions .session[aria-current]')).toHaveText('Found again.')
  await expect(other.page.getByText('This session is open in another tab.')).toBeVisible()
  await demo.ask('Hello again. [fast]')
})

test('[E6] a session that is open in another tab is not deleted, and stays listed', async ({ demo, page, context }) => {
  await demo.open()
  await demo.ask('Held there. [fast]')
  const other = new Demo(await context.newPage())
  await other.open()
  await other.remove('Held there.')
  await expect(other.page.locator('#sessions-said')).toHaveText(
    '“Held there.” was not deleted: it is open in another tab.',
  )
  await expect(other.page.locator('.undo')).toBeEmpty()
  await expect(other.page.locator('#sessions').getByRole('button', { name: 'Held there.', exact: true })).toBeVisible()
  await expect(page.locator('#deleted')).toHaveCount(0)
  await demo.ask('Still here. [fast]')
})

test('[E6] pinned sessions are listed first, also after a reload and while others change', async ({ demo, page }) => {
  const titles = () =>
    page.locator('#sessions .session').evaluateAll(all => all.map(each => each.getAttribute('title')))
  await demo.open()
  await demo.ask('One. [fast]')
  await demo.startSession()
  await demo.ask('Two. [fast]')
  expect(await titles()).toEqual(['Two.', 'One.'])
  await page.locator('#sessions').getByRole('button', { name: 'One.', exact: true }).click()
  await expect(demo.status).toHaveText('Idle · saved')
  const pin = page.getByRole('button', { name: 'Pin One.' })
  await expect(pin).toHaveAttribute('aria-pressed', 'false')
  await pin.press('Enter')
  await expect(pin).toHaveAttribute('aria-pressed', 'true')
  await expect(pin).toBeFocused()
  await expect(page.locator('#sessions-heard')).toHaveText('“One.” is listed first now.')
  await expect(page.getByRole('button', { name: 'One. pinned', exact: true })).toBeVisible()

  await page.locator('#sessions .session[title="Two."]').click()
  await demo.ask('And more. [fast]')
  await expect.poll(titles).toEqual(['One.', 'Two.'])
  await demo.reload()
  await expect.poll(titles).toEqual(['One.', 'Two.'])
  await expect(page.locator('.pin-mark')).toHaveCount(1)

  // Deleted and brought back it is pinned as it was.
  await demo.remove('One.')
  await page.locator('.undo').getByRole('button', { name: 'Undo' }).click()
  await expect(pin).toHaveAttribute('aria-pressed', 'true')
  await pin.click()
  await expect(page.locator('#sessions-heard')).toHaveText('“One.” is not pinned any more.')
  await expect(page.locator('.pin-mark')).toHaveCount(0)
})

test('[E6] many sessions are shown fifty at a time, and the one on the page always', async ({ demo, page }) => {
  const first = await demo.open()
  await demo.ask('The oldest. [fast]')
  const log = await page.evaluate(
    async id => (await window.palimpsestDemo.palimpsest.sessions.export(id)).text(),
    first,
  )
  await page.evaluate(async text => {
    const { sessions } = window.palimpsestDemo.palimpsest
    for (let n = 0; n < 70; n += 1) await sessions.import(text, { id: `copy-${n}` })
  }, log)
  await demo.open()
  await demo.reload()
  const listed = page.locator('#sessions .session')
  const more = page.getByRole('button', { name: 'Show more' })
  await expect(more).toBeVisible()
  const before = await listed.count()
  expect(before).toBeLessThanOrEqual(52)
  await more.press('Enter')
  await expect(more).toHaveCount(0)
  await expect.poll(() => listed.count()).toBeGreaterThan(70)
  await expect(listed.nth(before)).toBeFocused()
  await demo.open({ id: first })
  await expect(page.locator('#sessions .session[aria-current]')).toHaveText('The oldest.')
  await expect(page.locator('#conversation-title')).toHaveText('The oldest.')
})

test('[E6] how much is stored is said, and the browser can be asked to keep it', async ({ demo, page }) => {
  await page.addInitScript(() => {
    const answers = { persist: false, persisted: false }
    Object.assign(window, { storageAnswers: answers })
    navigator.storage.persist = async () => (answers.persisted = answers.persist)
    navigator.storage.persisted = async () => answers.persisted
  })
  await demo.open()
  await demo.ask('Hello there. [fast]')
  const storage = page.getByRole('group', { name: 'Storage' })
  await expect(storage).toContainText(/^\d.* (bytes|kB|MB) stored\. The browser may clear it when space runs low\./)
  await expect(page.locator('#log-sum')).toHaveText(/events, \d[\d.]* (bytes|kB)$/)
  const ask = storage.getByRole('button', { name: 'Ask the browser to keep it' })
  await ask.click()
  await expect(storage.getByRole('status').last()).toHaveText(/^The browser did not promise it\./)
  await page.evaluate(() => {
    ;(window as unknown as { storageAnswers: { persist: boolean } }).storageAnswers.persist = true
  })
  await ask.press('Enter')
  await expect(storage).toContainText('stored. The browser keeps it.')
  await expect(storage.getByRole('status').last()).toHaveText('The browser promised to keep it.')
  await expect(ask).toHaveCount(0)
  await expect(storage).toBeFocused()
})

test('[E6] little room is said in words, and nothing where the browser says nothing', async ({ demo, page }) => {
  await page.addInitScript(() => {
    navigator.storage.estimate = async () => (location.search.includes('silent') ? {} : { usage: 9.1e8, quota: 1e9 })
  })
  await demo.open()
  const storage = page.getByRole('group', { name: 'Storage' })
  await expect(storage).toContainText('910 MB stored.')
  await expect(storage.getByRole('status').first()).toHaveText(/^91 % of the 1\.0 GB this browser allows are used\./)
  await demo.open({ query: '&silent' })
  await expect(page.locator('#notes')).toBeVisible()
  await expect(storage).toHaveCount(0)
})

test('[E6] a session nothing was said in is listed until it is left, however often it is opened', async ({
  demo,
  page,
}) => {
  await demo.open()
  await demo.ask('Something was said. [fast]')
  const empty = await demo.startSession()
  for (let n = 0; n < 2; n += 1) {
    await demo.reload()
    await expect(page.getByText('One log, three readings of it.')).toBeVisible()
    await expect(page.locator('#sessions .session')).toHaveText(['New session', 'Something was said.'])
  }
  await page.getByRole('button', { name: 'Something was said.', exact: true }).click()
  await expect(page.locator('#sessions .session')).toHaveText(['Something was said.'])
  await demo.open({ id: empty })
  await expect(page.locator('#sessions .session[aria-current]')).toHaveText('New session')
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
