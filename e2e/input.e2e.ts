/** Prompts that are hard to take: nothing is lost, and what is wrong is said. */
import { expect, test } from './demo.ts'

test('[E9] a prompt of only spaces is refused in words and the draft kept', async ({ demo }) => {
  await demo.open()
  await demo.prompt.fill(' \n\t ')
  await demo.prompt.press('Enter')
  await expect(demo.notice).toContainText('There is nothing to send')
  await expect(demo.prompt).toHaveValue(' \n\t ')
  expect(await demo.stored()).toEqual([])
  await demo.ask('Words this time. [fast]')
  await expect(demo.notice).toBeHidden()
})

test('[E9] broken characters are refused, and the draft is offered without them', async ({ demo, page }) => {
  await demo.open()
  await demo.prompt.evaluate((field: HTMLTextAreaElement) => {
    field.value = 'half a pair \ud83d here, a whole one 🌊 there [fast]'
  })
  await page.getByRole('button', { name: 'Send' }).click()
  await expect(demo.notice).toContainText('broken characters')
  const isKept = (field: HTMLTextAreaElement) => field.value === 'half a pair \ud83d here, a whole one 🌊 there [fast]'
  expect(await demo.prompt.evaluate(isKept)).toBe(true)
  await page.reload()
  await expect(demo.status).toHaveText(/^Idle/)
  expect(await demo.prompt.evaluate(isKept)).toBe(true)
  expect(await demo.stored()).toEqual([])

  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('button', { name: 'Replace them with �' }).click()
  await expect(demo.prompt).toHaveValue('half a pair � here, a whole one 🌊 there [fast]')
  await expect(demo.prompt).toBeFocused()
  expect(await demo.stored()).toEqual([]) // it is for a person to look at first
  await demo.prompt.press('Enter')
  await demo.ended(1)
  await expect(page.locator('.row.user')).toContainText('half a pair � here, a whole one 🌊 there')
})

test('[E9] a prompt of 1 MB is taken, recorded and shown without a frozen page', async ({ demo, page }) => {
  await demo.open()
  const line = 'The sea is wide, and this line says so again and again. 🌊\n'
  const long = `${line.repeat(Math.ceil(1_048_576 / line.length))}The end of it.`
  await demo.prompt.evaluate((field: HTMLTextAreaElement, text: string) => {
    field.value = text
  }, long)
  const longest = await page.evaluateHandle(() => {
    const spent = { ms: 0 }
    let last = performance.now()
    const look = () => {
      const now = performance.now()
      spent.ms = Math.max(spent.ms, now - last)
      last = now
      setTimeout(look, 10)
    }
    look()
    return spent
  })
  await page.getByRole('button', { name: 'Send' }).click()
  await demo.ended(1)
  expect((await longest.jsonValue()).ms).toBeLessThan(2_000)
  await expect(demo.prompt).toHaveValue('')

  // It is longer than the model's window, which is the provider's to say.
  await expect(demo.rows.last()).toContainText('The conversation is too long for the model.')
  const prompt = (await demo.stored()).find(event => event.type === 'user/message')
  expect((prompt?.data as { content: { text: string }[] }).content[0]?.text).toBe(long)
  await page
    .getByRole('button', { name: /^Show all 1,\d{3},\d{3} characters$/ })
    .first()
    .click()
  await expect(page.locator('.row.user .whole')).toContainText('The end of it.')
  expect(await page.locator('.row.user .whole').evaluate(element => element.textContent)).toBe(long)

  // The model reads less from now on; the log and the conversation keep it all.
  await page.getByRole('button', { name: 'Let the model read a shortened version' }).click()
  await expect(page.locator('#surface .role').filter({ hasText: 'stands for 1' })).toHaveCount(1)
  await expect(page.locator('.ending.error').last()).toContainText('The model reads a shortened version')
  await demo.ask('Was that long? [fast]')
  await expect(demo.rows.last()).toContainText('You wrote “Was that long?”')
  await demo.reload()
  await expect(page.locator('.row.user').first()).toContainText('The sea is wide')
})

test('[E9] Shift+Enter starts a line', async ({ demo, page }) => {
  await demo.open()
  await demo.prompt.fill('one')
  await demo.prompt.press('Shift+Enter')
  await demo.prompt.pressSequentially('two [fast]')
  await expect(demo.prompt).toHaveValue('one\ntwo [fast]')
  await demo.prompt.press('Enter')
  await demo.ended(1)
  await expect(page.locator('.row.user .text')).toHaveText('one\ntwo [fast]')
})
