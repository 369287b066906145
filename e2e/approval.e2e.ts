/** Calls that a person has to allow: asked where they stand, with what would run, and nothing runs before the answer. */
import { type Demo, expect, test } from './demo.ts'
import { calls, provide, says } from './far-provider.ts'

const card = ({ page }: Demo) => page.locator('.approval')
const notes = ({ page }: Demo) => page.locator('#notes .note b')
const waiting = 'Waiting for you: may delete_note run? · saved'

/** A session in which the agent asks whether it may delete a note. */
async function asked(demo: Demo, prompt = 'Delete the note about tides. [fast]'): Promise<void> {
  await demo.open()
  await demo.ask('Remember that spring tides come at full moon. [fast]')
  await demo.send(prompt)
  await expect(card(demo).first()).toBeVisible()
  await expect(demo.status).toHaveText(waiting)
}

test('[E31] a call that needs it is asked for with its exact arguments, and runs once it is allowed', async ({
  demo,
  page,
}) => {
  await asked(demo)
  await expect(page.locator('.tool.waiting .state')).toHaveText('waiting for you')
  await expect(card(demo)).toContainText('May delete_note run? A note that is deleted cannot be brought back.')
  await expect(card(demo).getByRole('group', { name: 'Arguments' })).toHaveText(
    '{\n  "title": "Spring tides come at full moon"\n}',
  )
  await expect(page.locator('#announcer-trouble')).toHaveText(
    'The agent waits for you: may delete_note run? A note that is deleted cannot be brought back.',
  )
  await expect(notes(demo)).toHaveText(['Spring tides come at full moon'])
  expect((await demo.stored()).map(event => event.type).slice(-2)).toEqual(['tool/call', 'approval/asked'])

  await page.getByRole('button', { name: 'Allow once' }).click()
  await demo.ended(2)
  await expect(card(demo)).toHaveCount(0)
  await expect(page.locator('.tool .decision')).toHaveText('You allowed this once')
  await expect(page.locator('.tool').last().locator('.state')).toHaveText('✓ done')
  await expect(demo.rows.last()).toContainText('I deleted the note “Spring tides come at full moon”.')
  await expect(page.locator('#notes')).toHaveText('None yet.')
  const decided = (await demo.stored()).find(event => event.type === 'approval/decided')
  expect(decided?.data).toMatchObject({ outcome: 'allowed-once' })
})

test('[E31] what is rejected does not run, and is no failure', async ({ demo, page }) => {
  await asked(demo)
  await page.getByRole('button', { name: 'Reject' }).click()
  await demo.ended(2)
  const tool = page.locator('.tool').last()
  await expect(tool).toHaveClass(/\bdeclined\b/)
  await expect(tool.locator('.state')).toHaveText('not run')
  await expect(tool.locator('.decision')).toHaveText('You rejected this')
  await expect(tool).not.toHaveAttribute('open')
  await expect(page.locator('.ending')).toHaveCount(0)
  await expect(demo.rows.last()).toContainText('I have not tried it again.')
  await expect(notes(demo)).toHaveText(['Spring tides come at full moon'])
  await expect(page.locator('#announcer-trouble')).toHaveText('The tool delete_note did not run. You rejected this.')
})

test('[E31] a question survives a reload, and the turn goes on with the answer', async ({ demo, page }) => {
  await asked(demo)
  const before = await demo.stored()
  for (let time = 0; time < 2; time += 1) {
    await page.reload()
    await expect(demo.status).toHaveText(waiting)
    await expect(card(demo)).toContainText('May delete_note run?')
    await expect(page.locator('#announcer-trouble')).toContainText('The agent waits for you: may delete_note run?')
    await expect(page.locator('.ending')).toHaveCount(0)
    await expect(notes(demo)).toHaveText(['Spring tides come at full moon'])
    expect((await demo.stored()).filter(event => event.type !== 'session/end-seed')).toEqual(before)
  }
  await page.getByRole('button', { name: 'Allow once' }).click()
  await demo.ended(2)
  expect(await demo.lastEnd()).toEqual({ turn: 2, reason: { kind: 'completed' } })
  await expect(page.locator('.tool .decision')).toHaveText('You allowed this once')
  await expect(page.locator('#notes')).toHaveText('None yet.')
  await demo.reload()
  await expect(page.locator('.tool .decision')).toHaveText('You allowed this once')
})

test('[E31] a stop cancels the question; what is sent meanwhile waits', async ({ demo, page }) => {
  await asked(demo)
  await demo.send('And this comes after it. [fast]')
  await expect(page.locator('section.queue')).toContainText('And this comes after it.')
  await page.getByRole('button', { name: 'Stop' }).click()
  await demo.ended(2)
  await expect(card(demo)).toHaveCount(0)
  await expect(page.locator('.tool .decision')).toHaveText('Cancelled before anybody decided')
  await expect(page.locator('.ending', { hasText: 'You stopped this turn.' })).toBeVisible()
  await expect(notes(demo)).toHaveText(['Spring tides come at full moon'])
})

test('[E31] several calls are asked for one after the other', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Remember that spring tides come at full moon. [fast]')
  await demo.ask('Remember that neap tides come at half moon. [fast]')
  await demo.send('Delete all notes about tides. [fast]')
  await expect(card(demo)).toHaveCount(1)
  await expect(page.locator('.tool .state').filter({ hasText: 'asked for' })).toHaveCount(1)
  const first = (await card(demo).getByRole('group', { name: 'Arguments' }).textContent()) ?? ''
  await page.getByRole('button', { name: 'Allow once' }).click()
  await expect(card(demo).getByRole('group', { name: 'Arguments' })).not.toHaveText(first)
  await page.getByRole('button', { name: 'Reject' }).click()
  await demo.ended(3)
  await expect(page.locator('.tool .decision')).toHaveText(['You allowed this once', 'You rejected this'])
  await expect(notes(demo)).toHaveCount(1)
})

test('[E31] the safe choice has the focus of whoever waits, and nobody who writes loses it', async ({ demo, page }) => {
  await page.setViewportSize({ width: 1440, height: 900 })
  await asked(demo)
  const reject = page.getByRole('button', { name: 'Reject' })
  await expect(reject).toBeFocused()
  // Who begins to write is back in the field, with the first letter.
  await page.keyboard.type('no')
  await expect(demo.prompt).toBeFocused()
  await expect(demo.prompt).toHaveValue('no')
  await expect(card(demo)).toHaveCount(1)
  // Back with a key, and on to the other choice.
  await demo.prompt.fill('')
  await page.locator('#transcript').focus()
  await page.keyboard.press('w')
  await expect(reject).toBeFocused()
  await page.keyboard.press('Tab')
  await expect(page.getByRole('button', { name: 'Allow once' })).toBeFocused()
  await page.keyboard.press('Enter')
  await demo.ended(2)
  await expect(page.locator('#notes')).toHaveText('None yet.')
  await expect(demo.prompt).toBeFocused()

  // Somebody in the middle of a sentence goes on with it.
  await demo.ask('Remember that spring tides come at full moon. [fast]')
  await demo.send('Delete the note about tides.')
  await demo.prompt.pressSequentially('I am still writ', { delay: 20 })
  await expect(card(demo)).toBeVisible({ timeout: 15_000 })
  await expect(demo.prompt).toBeFocused()
  await demo.prompt.pressSequentially('ing')
  await expect(demo.prompt).toHaveValue('I am still writing')
  await page.getByRole('button', { name: 'Reject' }).click()
  await demo.ended(4)
})

test('[E31] arguments are shown to their end, however long, and hidden signs in them are named', async ({
  demo,
  page,
  context,
}) => {
  await demo.open()
  const title = `The tide ${'goes in and out '.repeat(2_000)}and\u202e ends <b>here</b>`
  await provide(context, page, [calls('delete_note', { title }), says('I have not deleted it.')])
  await demo.send('Delete something.')
  const text = card(demo).getByRole('group', { name: 'Arguments' })
  await expect(text).toContainText('andU+202E ends <b>here</b>"\n}')
  const { height, whole } = await text.evaluate(element => ({
    height: element.clientHeight,
    whole: element.scrollHeight,
  }))
  expect(whole).toBeGreaterThan(height)
  expect(height).toBeLessThan(400)
  // It scrolls with the keys.
  await text.focus()
  await page.keyboard.press('End')
  await expect.poll(() => text.evaluate(element => element.scrollTop)).toBeGreaterThan(0)
  await page.getByRole('button', { name: 'Reject' }).click()
  await demo.ended(1)
})

test('[E31] tools that run side by side all say so', async ({ demo, page }) => {
  await demo.open()
  await demo.send('Search my notes for boats [slow-tool] and remember that boats are slow [slow-tool]')
  const running = page.locator('.tool.running .state')
  await expect(running).toHaveCount(2, { timeout: 10_000 })
  await expect(running.nth(0)).toContainText('running')
  await expect(running.nth(1)).toContainText('running')
  await expect(demo.status).toHaveText(/^Running tool (?:search_notes|write_note)/)
  await demo.ended(1)
  await expect(page.locator('.tool .state')).toHaveText([/✓ done/, /✓ done/])
})
