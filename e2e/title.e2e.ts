/** Names of sessions: their agent gives them, and a person’s own name wins. */
import { Demo, expect, test } from './demo.ts'

const current = (demo: Demo) => demo.page.locator('#sessions .session[aria-current]')

test('[A27] a session is named by its agent once a turn ended well, and a list shows it at once', async ({
  demo,
  page,
  context,
}) => {
  const other = new Demo(await context.newPage())
  await other.open()
  await demo.open()
  // Until then the page calls it what it will be called.
  await demo.send('Where do the ferries go? [slow]')
  await expect(current(demo)).toHaveText('Where do the ferries go?')
  await expect(page.locator('#conversation-title')).toHaveText('Where do the ferries go?')
  expect((await demo.stored()).filter(({ type }) => type === 'session/title')).toEqual([])
  await page.getByRole('button', { name: 'Stop' }).click()
  await demo.ended(1)
  await demo.reload()
  await expect(page.locator('#conversation-title')).toHaveText('Where do the ferries go?')
  expect((await demo.stored()).filter(({ type }) => type === 'session/title')).toEqual([])

  await demo.ask('And when? [fast]')
  await expect.poll(async () => (await demo.stored()).filter(({ type }) => type === 'session/title').length).toBe(1)
  const [title] = (await demo.stored()).filter(({ type }) => type === 'session/title')
  expect(title?.data).toMatchObject({ title: 'Where do the ferries go?', source: { kind: 'agent' } })
  await expect(current(demo)).toHaveText('Where do the ferries go?')
  // Also where nobody did anything.
  await expect(other.page.locator('#sessions .session[title="Where do the ferries go?"]')).toBeVisible()
  await demo.reload()
  await expect(current(demo)).toHaveText('Where do the ferries go?')
})

test('[A27] the list of a page that says nothing itself shows the name without a reload', async ({ demo, page }) => {
  await demo.open()
  // Not through the page, which would know what was said.
  await page.evaluate(async () => {
    const { sessions } = window.palimpsestDemo.palimpsest as unknown as {
      sessions: { open(id: string): Promise<{ send(prompt: object): { done: Promise<unknown> } }> }
    }
    const session = await sessions.open('in-the-background')
    await session.send({ text: 'Counting gulls. [fast]' }).done
  })
  await expect(page.locator('#sessions .session[title="Counting gulls."]')).toBeVisible()
  await page.locator('#sessions .session[title="Counting gulls."]').click()
  await expect(page.locator('#conversation-title')).toHaveText('Counting gulls.')
})

test('[A27] a person’s own name stays, given before or after', async ({ demo, page }) => {
  const rename = async (from: string, to: string) => {
    await page.getByRole('button', { name: `Rename ${from}` }).click()
    await page.getByRole('textbox', { name: `New name of ${from}` }).fill(to)
    await page.getByRole('textbox', { name: `New name of ${from}` }).press('Enter')
    await expect(current(demo)).toHaveText(to)
  }
  await demo.open()
  await demo.send('Which knots hold? [slow]')
  await rename('Which knots hold?', 'Knots')
  await page.getByRole('button', { name: 'Stop' }).click()
  await demo.ended(1)
  await demo.ask('Once more. [fast]')
  await demo.reload()
  await expect(current(demo)).toHaveText('Knots')
  expect((await demo.stored()).filter(({ type }) => type === 'session/title').map(({ data }) => data['title'])).toEqual(
    ['Knots'],
  )

  await demo.startSession()
  await demo.ask('Which sails tear? [fast]')
  await expect.poll(async () => (await demo.stored()).filter(({ type }) => type === 'session/title').length).toBe(1)
  await rename('Which sails tear?', 'Sails')
  await demo.ask('And why? [fast]')
  await demo.reload()
  await expect(current(demo)).toHaveText('Sails')
})
