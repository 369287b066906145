/** No network: said so, nothing is tried in vain, and what waits goes on by itself. */
import { type Demo, expect, test } from './demo.ts'
import { calls, provide, says } from './far-provider.ts'
import { ProviderDialog } from './provider-dialog.ts'

const prompts = ({ page }: Demo) => page.locator('.row.user .body')

test('[E33] without a network prompts wait, and are answered in order when there is one', async ({
  demo,
  page,
  context,
}) => {
  await demo.open()
  const asked = await provide(context, page, [says('Polly is here.')])
  await demo.ask('Are you there?')
  await expect(demo.rows.last()).toContainText('Polly is here.')

  await context.setOffline(true)
  await demo.send('The first that waits.')
  await expect(demo.status).toHaveText('Offline · 1 queued · saved')
  await demo.send('The second that waits.')
  await expect(demo.status).toHaveText('Offline · 2 queued · saved')
  const queue = page.locator('section.queue')
  await expect(queue.locator('.preview')).toHaveText(['The first that waits.', 'The second that waits.'])
  await expect(queue).toContainText('once there is a network')
  await expect(queue.getByRole('button', { name: 'Send what is queued' })).toHaveCount(0)
  await expect(demo.turnEnds).toHaveCount(1)
  expect(asked).toHaveLength(1)

  await context.setOffline(false)
  await demo.ended(3)
  await expect(queue).toHaveCount(0)
  await expect(prompts(demo)).toHaveText(['Are you there?', 'The first that waits.', 'The second that waits.'])
  expect(asked).toHaveLength(3)
  await expect(page.locator('.row.aside, .ending')).toHaveCount(0)
})

test('[E33] a turn whose network goes away waits for it, and uses up no try', async ({ demo, page, context }) => {
  await demo.open()
  const note = { title: 'A slow one', text: 'Written while the network went away [slow-tool]' }
  const asked = await provide(context, page, [calls('write_note', note), says('It is written.')])
  await demo.send('Write it down.')
  await expect(demo.status).toHaveText(/^Running tool write_note/)
  await context.setOffline(true)
  await expect(demo.status).toHaveText('Waiting for the network · saved', { timeout: 10_000 })
  await expect(page.getByRole('button', { name: 'Stop' })).toBeEnabled()
  expect(asked).toHaveLength(1)
  await context.setOffline(false)
  await demo.ended(1)
  await expect(demo.rows.last()).toContainText('It is written.')
  expect((await demo.stored()).filter(event => event.type === 'llm/retry')).toEqual([])

  // Stopped while it waits, it ends.
  await context.setOffline(true)
  await demo.send('And another one.')
  await expect(demo.status).toHaveText('Offline · 1 queued · saved')
  await page.locator('section.queue').getByRole('button', { name: 'Remove' }).click()
  await expect(demo.status).toHaveText('Idle · saved')
})

test('[E33] the embedded provider needs no network', async ({ demo, page, context }) => {
  await demo.open()
  await new ProviderDialog(page).use({ kind: 'Embedded' })
  await demo.ask('Hello. [fast]')
  await context.setOffline(true)
  await demo.ask('Hello again. [fast]')
  await expect(demo.rows.last()).toContainText('You wrote “Hello again.”')
})
