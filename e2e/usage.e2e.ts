/** What a session has spent, and how full the window is: two numbers that are never one. */
import { type Demo, expect, test } from './demo.ts'
import { look, openAt } from './look.ts'
import { ProviderDialog } from './provider-dialog.ts'

test.use({ viewport: { width: 1440, height: 900 } })

const spent = ({ page }: Demo) => page.locator('#spent')
const rowsOf = (demo: Demo, model: string) => spent(demo).locator('tbody', { hasText: model }).getByRole('row').last()

/** The sums of what the log says was used, as anybody could add them up. */
async function loggedUsage(demo: Demo): Promise<{ calls: number; input: number; output: number }> {
  const answers = (await demo.stored()).filter(({ type }) => type === 'assistant/message')
  const usages = answers.map(({ data }) => data['usage'] as { inputTokens: number; outputTokens: number })
  return {
    calls: answers.length,
    input: usages.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    output: usages.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  }
}

test('[V8] tokens, calls and cost by model are what the log says, and only grow', async ({ demo, page }) => {
  await demo.open()
  await expect(spent(demo)).toHaveCount(0)
  await demo.ask('Hello. [fast]')
  await demo.ask('Remember that the ferry is red. [fast]')
  const first = await loggedUsage(demo)
  expect(first.calls).toBe(3)
  await expect(spent(demo).locator('summary')).toHaveText(
    new RegExp(`^Spent so far ${first.calls} calls · .* tokens read, .* written · \\$[\\d.]+ at example prices$`),
  )
  await spent(demo).locator('summary').click()
  const cell = (index: number) => rowsOf(demo, 'embedded-small').getByRole('cell').nth(index)
  await expect(cell(0)).toHaveText(String(first.calls))
  await expect(cell(1)).toHaveAttribute('title', `${first.input.toLocaleString('en')} tokens`)
  await expect(cell(4)).toHaveAttribute('title', `${first.output.toLocaleString('en')} tokens`)
  const cost = (first.input * 0.2 + first.output * 0.8) / 1e6
  await expect(cell(5)).toHaveText(`$${Number(cost.toPrecision(2))}`)
  await expect(spent(demo)).toContainText('The prices are invented, as an example.')

  // Another model has a row of its own.
  await new ProviderDialog(page).use({ model: 'embedded-large' })
  await demo.ask('Hello again. [fast]')
  await expect(spent(demo).locator('tbody th')).toHaveText(['embedded-small, demo.chat', 'embedded-large, demo.chat'])
  await expect(cell(0)).toHaveText(String(first.calls))
  await demo.reload()
  await expect(spent(demo).locator('summary')).toContainText(`Spent so far ${first.calls + 1} calls`)
})

test('[V8] what a cache gave and took is told apart, and priced', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Hello. [fast]')
  // Of a provider that has a cache: the same log, with other counts.
  await page.evaluate(async id => {
    const { sessions } = window.palimpsestDemo.palimpsest
    const usage = { inputTokens: 1_000, outputTokens: 500, cacheReadTokens: 40_000, cacheWriteTokens: 8_000 }
    const log = await (await sessions.export(id)).text()
    const events = log.split('\n').map(line => {
      const event = line === '' ? null : (JSON.parse(line) as { type: string; data?: { usage?: unknown } })
      if (event?.type !== 'assistant/message') return line
      return JSON.stringify({ ...event, data: { ...event.data, usage } })
    })
    await sessions.import(events.join('\n'), { id: `${id}-cached` })
  }, demo.id)
  await demo.open({ id: `${demo.id}-cached` })
  const cost = (1_000 * 0.2 + 500 * 0.8 + 40_000 * 0.02 + 8_000 * 0.25) / 1e6
  await expect(spent(demo).locator('summary')).toHaveText(
    `Spent so far 1 call · 49k tokens read, 500 written · $${cost} at example prices`,
  )
  await spent(demo).locator('summary').click()
  await expect(rowsOf(demo, 'embedded-small').getByRole('cell')).toHaveText([
    '1',
    '1.0k',
    '40k',
    '8.0k',
    '500',
    `$${cost}`,
  ])
})

test('[V8] a shortened message empties the window and takes nothing back of what was spent', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Hello. [fast]')
  await demo.prompt.fill('The sea is wide. '.repeat(5_000))
  await demo.prompt.press('Enter')
  await demo.ended(2)
  const summary = spent(demo).locator('summary')
  const fill = page.locator('#surface-sum')
  const tokensOf = async () => {
    const [, count, unit] = /≈([\d.]+)(k?) tokens/.exec((await fill.textContent()) ?? '') ?? []
    return Number(count) * (unit === 'k' ? 1_000 : 1)
  }
  const [before, full] = [await summary.textContent(), await tokensOf()]
  expect(full).toBeGreaterThan(16_000)
  await page.getByRole('button', { name: 'Let the model read a shortened version' }).click()
  await expect(page.locator('.replacement')).toBeVisible()
  await expect.poll(tokensOf).toBeLessThan(full)
  await expect(summary).toHaveText(before ?? '')
  await demo.ask('Still there? [fast]')
  await expect(summary).not.toHaveText(before ?? '')
  const { calls } = await loggedUsage(demo)
  // One call failed: the window was too small.
  await expect(summary).toContainText(`Spent so far ${calls + 1} calls`)
  await expect(page.locator('#panel-surface')).not.toContainText('Spent')
  await expect(page.locator('#panel-log')).not.toContainText('headroom')
})

for (const width of [360, 1440] as const) {
  test(`[E12] what was spent can be read by everybody, ${width} px`, async ({ demo, page }) => {
    await openAt(demo, width)
    await demo.ask('Hello. [fast]')
    await new ProviderDialog(page).use({ model: 'embedded-large' })
    await demo.ask('Hello again. [fast]')
    if (width === 360) {
      await page.getByRole('button', { name: 'Inspector', exact: true }).click()
      await page.locator('#tab-log').click()
    }
    await spent(demo).locator('summary').click()
    await expect(spent(demo).locator('tbody th')).toHaveCount(2)
    await look(page, 'spent', width)
  })
}
