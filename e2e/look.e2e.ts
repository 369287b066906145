/** What people see and hear: tools with an effect, the page in both schemes and on small screens, its accessibility. */
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { expect, test } from './demo.ts'

const background = (page: Page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor)

test('[E10] the page tool switches the colours for good, and notes appear', async ({ demo, page }) => {
  await page.emulateMedia({ colorScheme: 'light' })
  await demo.open()
  const light = await background(page)
  await demo.ask('Make the page dark. [fast]')
  const dark = await background(page)
  expect(dark).not.toBe(light)
  await expect(page.locator('.tool .state')).toHaveText(/✓ done/)
  await demo.reload()
  expect(await background(page)).toBe(dark)
  await page.getByRole('button', { name: 'Switch to light' }).click()
  expect(await background(page)).toBe(light)

  await demo.ask('Remember that the ferry is red. [fast]')
  await expect(page.locator('#notes .note')).toHaveText(['The ferry is redthe ferry is red'])
  await demo.ask('What do my notes say about the ferry? [fast]')
  await expect(demo.rows.last()).toContainText('I found 1 note about “the ferry”: “The ferry is red”.')
  // The card opens to arguments and result.
  await page.locator('.tool').last().locator('summary').click()
  await expect(page.locator('.tool').last()).toContainText('"query": "the ferry"')
  await expect(page.locator('.tool').last()).toContainText('"title": "The ferry is red"')
  // A sentence for screen readers, once, when the answer is complete.
  await expect(page.locator('#announcer')).toHaveText('I found 1 note about “the ferry”: “The ferry is red”.')
})

test('[E10] one event is found in every view by its handle', async ({ demo, page }) => {
  await page.setViewportSize({ width: 1440, height: 900 })
  await demo.open()
  await demo.ask('Hello. [fast]')
  await page.locator('.row.user .seq').click()
  await expect(page.locator('.selected')).toHaveCount(3)
  await expect(page.locator('#log .selected')).toContainText('user/message')
  await expect(page.locator('#surface .selected')).toContainText('Hello.')
  await page.locator('#log .selected summary').click()
  await expect(page.locator('#log .selected .code')).toContainText('"surfaceOp": "append"')
})

test('[E10] the view follows the answer only while the reader is at its end', async ({ demo, page }) => {
  await page.setViewportSize({ width: 1440, height: 500 })
  await demo.open()
  await demo.ask('Tell me everything. [fast] [long]')
  const view = page.locator('#transcript')
  const toEnd = () =>
    view.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)
  expect(await toEnd()).toBeLessThan(2)
  await demo.send('And again. [fast] [long]')
  await view.evaluate(element => element.scrollTo(0, 40))
  const jump = page.getByRole('button', { name: 'Jump to latest' })
  await expect(jump).toBeVisible()
  await demo.ended(2)
  expect(await view.evaluate(element => element.scrollTop)).toBe(40)
  await jump.click()
  await expect(jump).toBeHidden()
  expect(await toEnd()).toBeLessThan(2)
})

for (const width of [360, 1440]) {
  test(`[E12] no serious accessibility violations, light and dark, ${width} px`, async ({ demo, page }) => {
    const look = async (state: string, colorScheme: 'light' | 'dark', check = true) => {
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: `test-results/look-${state}-${colorScheme}-${width}.png` })
      if (!check) return
      // It has a Playwright of its own, so the types of the page differ.
      const axe = new AxeBuilder({ page: page as never }).options({ resultTypes: ['violations'] })
      const serious = (await axe.analyze()).violations.filter(({ impact }) => /serious|critical/.test(impact ?? ''))
      expect(serious.map(({ id, nodes }) => `${state}: ${id} ${nodes.map(node => node.html).join(' ')}`)).toEqual([])
    }
    await page.setViewportSize({ width, height: width === 360 ? 740 : 900 })
    await demo.open()
    await look('empty', 'light')
    await look('empty', 'dark')
    await demo.ask('Think, and remember that the tide is high at noon. [fast]')
    await demo.ask('What do my notes say about the tide? [fast]')
    await demo.ask('Tell me more. [fast] [fail:rate-limit]')
    await page.locator('.tool').last().locator('summary').click()
    await page.locator('.row.user .seq').first().click()
    await look('finished', 'light')
    await look('finished', 'dark')
    if (width === 360) {
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      for (const [index, view] of ['Sessions', 'Surface', 'Log'].entries()) {
        await page.getByRole('button', { name: view, exact: true }).click()
        await look(view.toLowerCase(), index === 1 ? 'dark' : 'light')
      }
      await page.getByRole('button', { name: 'Conversation', exact: true }).click()
    }
    await demo.send('Go on, slowly. [slow]')
    await expect.poll(() => demo.live.textContent()).toMatch(/\S+ \S+ \S+/)
    await look('streaming', 'light', width === 1440)
    await look('streaming', 'dark', false)
  })
}
