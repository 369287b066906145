/** Saying it otherwise, having it again, going on from an earlier place: in branches, and nothing is lost. */
import { type Demo, expect, test } from './demo.ts'

test.use({ viewport: { width: 1440, height: 900 } })

const prompts = ({ page }: Demo) => page.locator('.row.user .body')
const edit = ({ page }: Demo, nth: number) => page.locator('.edit-prompt').nth(nth)
const field = ({ page }: Demo) => page.getByRole('textbox', { name: 'Your message, said otherwise' })

/** What was recorded, without the marks of opening. */
const recorded = async (demo: Demo, id?: string) =>
  (await demo.stored(id)).filter(({ type }) => type !== 'session/end-seed')

/** Three turns. */
async function talk(demo: Demo): Promise<string> {
  const id = await demo.open()
  for (const prompt of ['The first thing. [fast]', 'The second thing. [fast]', 'The third thing. [fast]']) {
    await demo.ask(prompt)
  }
  return id
}

test('[E34] a prompt is said otherwise in its place, and goes on in a branch', async ({ demo, page }) => {
  const parent = await talk(demo)
  const before = await recorded(demo)
  // Quiet until it is pointed at.
  await page.mouse.move(0, 0)
  await expect(edit(demo, 1)).toHaveCSS('opacity', '0')
  await page.locator('.row.user').nth(1).hover()
  await expect(edit(demo, 1)).toHaveCSS('opacity', '1')
  await edit(demo, 1).click()
  await expect(field(demo)).toBeFocused()
  await expect(field(demo)).toHaveValue('The second thing. [fast]')
  await field(demo).fill('Given up')
  await field(demo).press('Escape')
  await expect(field(demo)).toHaveCount(0)
  await expect(edit(demo, 1)).toBeFocused()
  await expect(prompts(demo).nth(1)).toHaveText('The second thing. [fast]')
  expect(demo.id).toBe(parent)

  await edit(demo, 1).click()
  await field(demo).fill('   ')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.locator('.prompt-editor [role=alert]')).toHaveText(
    'There is nothing to send: the message has no visible text.',
  )
  await field(demo).fill('Something else, on two lines.')
  await field(demo).press('Shift+Enter')
  await field(demo).pressSequentially('Please. [fast]')
  await field(demo).press('Enter')

  await expect.poll(() => demo.id).not.toBe(parent)
  await demo.ended(2)
  await expect(prompts(demo)).toHaveText(['The first thing. [fast]', 'Something else, on two lines.\nPlease. [fast]'])
  await expect(demo.rows.last()).toContainText('You wrote “Something else, on two lines. Please.”; 3 earlier messages')
  await expect(page.locator('#conversation-title')).toHaveText('The first thing.')
  await expect(demo.prompt).toBeFocused()
  await demo.ask('And on from here. [fast]')
  await expect(demo.rows.last()).toContainText('You wrote “And on from here.”')

  // Where it came from stays as it was.
  expect(await recorded(demo, parent)).toEqual(before)
  await page.goBack()
  await expect(prompts(demo)).toHaveText([
    'The first thing. [fast]',
    'The second thing. [fast]',
    'The third thing. [fast]',
  ])
  await expect(demo.status).toHaveText('Idle · saved')
  expect(await recorded(demo)).toEqual(before)
})

test('[E34] the first prompt said otherwise begins anew, also while its answer arrives', async ({ demo, page }) => {
  const parent = await demo.open()
  await demo.send('Tell me about the sea. [slow]')
  await expect(demo.live).toHaveText(/\S/)
  await page.locator('.row.user').hover()
  await edit(demo, 0).click()
  await field(demo).fill('Tell me about the moon. [fast]')
  await field(demo).press('Enter')
  await expect.poll(() => demo.id).not.toBe(parent)
  await demo.ended(1)
  await expect(prompts(demo)).toHaveText(['Tell me about the moon. [fast]'])
  await expect(page.locator('#conversation-title')).toHaveText('Tell me about the moon.')
  await expect(page.locator('#sessions .session')).toHaveCount(2)
})

test('[E34] the last turn is had again', async ({ demo, page }) => {
  const parent = await talk(demo)
  const again = page.getByRole('button', { name: 'Try again' })
  await expect(again).toHaveCount(1) // of the last turn only
  await again.click()
  await expect.poll(() => demo.id).not.toBe(parent)
  await demo.ended(3)
  await expect(prompts(demo)).toHaveText([
    'The first thing. [fast]',
    'The second thing. [fast]',
    'The third thing. [fast]',
  ])
  const [said, saidAgain] = [await demo.stored(parent), await demo.stored()].map(events =>
    events.filter(({ type }) => type === 'user/message').map(({ data }) => data['id']),
  )
  expect(saidAgain).toEqual(said?.slice(-1)) // what it shares with the other one is stored there
})

test('[E34] a fork goes on from the end of an earlier turn', async ({ demo, page }) => {
  const parent = await talk(demo)
  const before = await recorded(demo)
  const fork = page.getByRole('button', { name: 'Fork from here, after turn 1' })
  await page.locator('.row.agent').first().hover()
  await expect(fork).toHaveCSS('opacity', '1')
  await fork.click()
  await expect.poll(() => demo.id).not.toBe(parent)
  await expect(prompts(demo)).toHaveText(['The first thing. [fast]'])
  await expect(demo.status).toHaveText('Idle · saved')
  await expect(page.locator('#conversation-title')).toHaveText('The first thing.')
  await demo.ask('Another way. [fast]')
  await expect(demo.rows.last()).toContainText('You wrote “Another way.”; 3 earlier messages')
  expect(await recorded(demo, parent)).toEqual(before)
})

test('[E34] with keys alone: a message is chosen, said otherwise, and the branch is written in', async ({
  demo,
  page,
}) => {
  const parent = await talk(demo)
  await page.locator('#transcript').focus()
  for (const _ of ['agent', 'user', 'agent', 'user']) await page.keyboard.press('k')
  await expect(page.locator('.row.user').nth(1)).toBeFocused()
  await page.keyboard.press('m')
  await expect(field(demo)).toBeFocused()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText('Otherwise, then. [fast]')
  await page.keyboard.press('Enter')
  await expect.poll(() => demo.id).not.toBe(parent)
  await demo.ended(2)
  await expect(demo.prompt).toBeFocused()
  await expect(prompts(demo)).toHaveText(['The first thing. [fast]', 'Otherwise, then. [fast]'])
  // Every action can be reached, and is in sight then.
  await page.keyboard.press('Shift+Tab')
  const last = page.locator('.turn-end').last().getByRole('button').last()
  await expect(last).toBeFocused()
  await expect(last).toHaveCSS('opacity', '1')
})

test('[E34] what software said is one line that opens, and comes along into a branch', async ({ demo, page }) => {
  const parent = await demo.open()
  await demo.ask('Hello. [fast]')
  await page.evaluate(() =>
    window.palimpsestDemo.session()?.inject({ text: 'It is noon by the clock.', summary: 'From the tool clock' }),
  )
  await demo.ask('What time is it? [fast]')
  const notice = page.locator('.row.aside')
  await expect(notice).toHaveText(/From the tool clock/)
  await expect(prompts(demo)).toHaveText(['Hello. [fast]', 'What time is it? [fast]'])
  await expect(notice.getByText('It is noon by the clock.')).toBeHidden()
  await notice.locator('summary').click()
  await expect(notice.getByText('It is noon by the clock.')).toBeVisible()
  await page.locator('.row.user').last().hover()
  await edit(demo, 1).click()
  await field(demo).fill('How late is it? [fast]')
  await field(demo).press('Enter')
  await expect.poll(() => demo.id).not.toBe(parent)
  await demo.ended(2)
  await expect(notice).toHaveText(/From the tool clock/)
  await expect(prompts(demo)).toHaveText(['Hello. [fast]', 'How late is it? [fast]'])
})

test('[E34] only what a turn began with can be said otherwise', async ({ demo, page }) => {
  await demo.open()
  await demo.send('Remember that this is slow [slow-tool]')
  await expect(demo.status).toHaveText(/^Running tool write_note/, { timeout: 10_000 })
  await demo.prompt.fill('Steered into it. [fast]')
  await demo.prompt.press('Control+Enter')
  await demo.ended(1)
  await expect(prompts(demo)).toHaveText(['Remember that this is slow [slow-tool]', 'Steered into it. [fast]'])
  await expect(page.locator('.edit-prompt')).toHaveCount(1)
})
