/** Model calls that fail and are tried again, and what is left when that was no use. */
import { expect, test } from './demo.ts'

test('[E32] a failed call is tried again after a wait that is counted down, and the turn goes on', async ({
  demo,
  page,
}) => {
  const mark = `mark-${crypto.randomUUID()}`
  await demo.open()
  const said = await page.evaluateHandle(() => {
    const texts: string[] = []
    new MutationObserver(() => texts.push(document.querySelector('#status')?.textContent ?? '')).observe(
      document.querySelector('#status') as Element,
      { childList: true, characterData: true, subtree: true },
    )
    return texts
  })
  await demo.send(`Tell me about ${mark}. [fast] [fail:once:rate-limit]`)
  const line = page.locator('.row.aside')
  await expect(line).toContainText(/Trying again in [12] s · 1 of 5: the provider asks for a pause/)
  await expect(demo.status).toHaveText(/^Trying again in [12] s · 1 of 5 · saved$/)
  await demo.ended(1)
  await expect(line).toContainText('Tried again after 2 s · 1 of 5: the provider asks for a pause: too many requests')
  await expect(demo.rows.last()).toContainText(`You wrote “Tell me about ${mark}.”`)
  await expect(page.locator('.ending')).toHaveCount(0)
  const seconds = (await said.jsonValue()).flatMap(text => /^Trying again in (\d) s/.exec(text)?.[1] ?? [])
  expect([...new Set(seconds)]).toEqual(['2', '1'])
  // It is told once, not with each second.
  await expect(page.locator('#announcer-trouble')).toHaveText(
    'The provider asks for a pause: too many requests. Trying again.',
  )
  const types = (await demo.stored()).map(event => event.type)
  expect(types.filter(type => type.startsWith('llm/'))).toEqual(['llm/retry', 'llm/retry-started'])
  expect(await demo.requests(mark)).toHaveLength(2)
  await demo.reload()
  await expect(line).toContainText('Tried again after 2 s · 1 of 5')
})

test('[E32] what had arrived of a failed call folds up once it is tried again', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Tell me about the sea. [fast] [fail:once:cut]')
  const attempt = page.locator('.row.attempt details')
  await expect(attempt).toHaveCount(1)
  await expect(attempt).not.toHaveAttribute('open')
  await attempt.locator('summary').click()
  await expect(attempt).toContainText('You wrote “Tell me')
  await expect(page.locator('.row.agent .markdown')).toHaveCount(1)
})

test('[E32] a stop while it waits ends the turn at once', async ({ demo, page }) => {
  await demo.open()
  await demo.send('Tell me about the sea. [fast] [fail:rate-limit]')
  await expect(demo.status).toHaveText(/^Trying again in /)
  await page.getByRole('button', { name: 'Stop' }).click()
  await demo.ended(1, 2_000)
  await expect(page.locator('.ending', { hasText: 'You stopped this turn.' })).toBeVisible()
  await expect(page.locator('.row.aside')).toContainText('Not tried again · 1 of 5')
  await demo.ask('And now? [fast]')
  await expect(demo.rows.last()).toContainText('You wrote “And now?”')
})

test('[E32] a turn that failed is had again with one press, in a branch that works', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Hello. [fast]')
  await demo.ask('Tell me about the sea. [fail:overflow]')
  const failed = demo.id
  const before = await demo.stored()
  await expect(page.locator('.ending')).toContainText('Trying again makes a new branch; this one stays as it is.')
  await page.locator('.ending').getByRole('button', { name: 'Try again' }).dblclick()
  await expect.poll(() => demo.id).not.toBe(failed)
  await demo.ended(2)
  await expect(page.locator('.row.user .body')).toHaveText(['Hello. [fast]', 'Tell me about the sea. [fail:overflow]'])
  await expect(page.locator('#conversation-title')).toHaveText('Hello.')
  expect((await demo.stored(failed)).filter(event => event.type !== 'session/end-seed')).toEqual(before)
  await expect(demo.prompt).toBeFocused()
  await demo.ask('Another way, then. [fast]')
  await expect(demo.rows.last()).toContainText('You wrote “Another way, then.”')
  // Two presses made one branch, and the way back is the browser's.
  await expect(page.locator('#sessions .session')).toHaveCount(2)
  await page.goBack()
  await expect(demo.rows.last()).toContainText('The conversation is too long for the model.')
})
