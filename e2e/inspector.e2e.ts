/** One event, many views: what is selected lights up everywhere, with what belongs to it. */
import { type Demo, expect, test } from './demo.ts'

test.use({ viewport: { width: 1440, height: 900 } })

const lit = ({ page }: Demo, light: 'selected' | 'kin') => page.locator(`[data-lit="${light}"]`)

/** A session with a message that is too long for the model, and a shortened one that stands for it. */
async function openReplaced(demo: Demo): Promise<{ readonly original: number; readonly replacement: number }> {
  await demo.open()
  await demo.prompt.fill('The sea is wide. '.repeat(5_000))
  await demo.prompt.press('Enter')
  await demo.ended(1)
  await demo.page.getByRole('button', { name: 'Let the model read a shortened version' }).click()
  await expect(demo.page.locator('.replacement')).toContainText('message shortened for the model')
  await expect(demo.status).toHaveText('Idle · saved')
  const events = (await demo.stored()).filter(event => event.type === 'user/message')
  const [original, replacement] = events.map(event => event.seq)
  if (original === undefined || replacement === undefined) throw new Error('The session has no replacement')
  return { original, replacement }
}

test('[E10] one event is found in every view by its handle', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Hello. [fast]')
  await page.locator('.row.user .seq').click()
  await expect(lit(demo, 'selected')).toHaveCount(3)
  await expect(page.locator('.row.user')).toHaveAttribute('data-lit', 'selected')
  await expect(page.locator('#log [data-lit="selected"]')).toContainText('user/message')
  await expect(page.locator('#surface [data-lit="selected"]')).toContainText('Hello.')
  await page.locator('#log [data-lit="selected"] summary').click()
  await expect(page.locator('#log [data-lit="selected"] .code')).toContainText('"surfaceOp": "append"')

  // From any view, and letting go is the same press again, or Escape.
  await page.locator('#surface .node').last().locator('.seq').first().click()
  await expect(page.locator('.row.agent')).toHaveAttribute('data-lit', 'selected')
  await page.locator('#surface .node').last().locator('.seq').first().click()
  await expect(lit(demo, 'selected')).toHaveCount(0)
  await page.locator('.row.agent .seq').click()
  await page.keyboard.press('Escape')
  await expect(lit(demo, 'selected')).toHaveCount(0)
})

test('[E17] a replacement lights what it replaces in every view, and the log draws the line between them', async ({
  demo,
  page,
}) => {
  const { original, replacement } = await openReplaced(demo)
  await page.locator('.replacement .seq').click()
  await expect(page.locator('.replacement')).toHaveAttribute('data-lit', 'selected')
  await expect(page.locator('.row.user')).toHaveAttribute('data-lit', 'kin')
  const event = (seq: number) => page.locator(`#log .event[data-seq="${seq}"]`)
  await expect(event(replacement)).toHaveAttribute('data-lit', 'selected')
  await expect(event(replacement)).toContainText(`stands for #${original}`)
  await expect(event(original)).toHaveAttribute('data-lit', 'kin')
  await expect(event(original)).toContainText(`under #${replacement}`)

  // The line: from the one to the other, past every event between them.
  await expect(event(original).locator('svg.lanes .lane.source.lit')).toHaveCount(1)
  await expect(event(replacement).locator('svg.lanes .lane.end.lit')).toHaveCount(1)
  await expect(page.locator('#log svg.lanes .lane.through.lit')).toHaveCount(replacement - original - 1)
  const ends = await Promise.all(
    [original, replacement].map(seq =>
      event(seq)
        .locator('path')
        .evaluate(path => path.getBoundingClientRect().height),
    ),
  )
  for (const height of ends) expect(height).toBeGreaterThan(0)

  // The surface holds the replacement alone, and opens to what it stands for.
  const node = page.locator(`#surface .node[data-seq="${replacement}"]`)
  await expect(page.locator(`#surface .node[data-seq="${original}"]`)).toHaveCount(0)
  await expect(node).toHaveAttribute('data-lit', 'selected')
  await node.locator('summary').click()
  const shadow = node.locator('.shadow')
  await expect(shadow).toHaveCount(1)
  await expect(shadow).toContainText('The sea is wide.')
  await expect(shadow).toHaveAttribute('data-lit', 'kin')

  // And the other way round.
  await shadow.locator('.seq').click()
  await expect(page.locator('.row.user')).toHaveAttribute('data-lit', 'selected')
  await expect(page.locator('.replacement')).toHaveAttribute('data-lit', 'kin')
  await expect(event(original)).toHaveAttribute('data-lit', 'selected')
  await expect(event(replacement)).toHaveAttribute('data-lit', 'kin')
  await page.keyboard.press('Escape')
  await page.locator('.row.user .remark .seq').click()
  await expect(page.locator('.replacement')).toHaveAttribute('data-lit', 'selected')

  // The conversation keeps what was said; what the model reads instead is said in place.
  await expect(page.locator('.row.user')).toContainText('The sea is wide.')
  await page.locator('.replacement summary').click({ position: { x: 4, y: 8 } })
  await expect(page.locator('.replacement')).toContainText('What was said stays as it was.')
  await demo.reload()
  await expect(page.locator('.replacement')).toContainText('message shortened for the model')
  await expect(event(original).locator('svg.lanes .lane.source')).toHaveCount(1)
})

test('[E17] both views stand one above the other, or one at a time', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Hello. [fast]')
  const [surface, log] = [page.locator('#panel-surface'), page.locator('#panel-log')]
  await expect(surface).toBeVisible()
  await expect(log).toBeVisible()
  await page.getByRole('button', { name: 'One at a time' }).click()
  await expect(log).toBeHidden()
  await page.locator('#tab-log').click()
  await expect(surface).toBeHidden()
  await expect(log).toBeVisible()
  await page.locator('#tab-log').press('ArrowRight')
  await expect(page.locator('#tab-surface')).toBeFocused()
  await expect(page.locator('#tab-surface')).toHaveAttribute('aria-selected', 'true')
  await expect(surface).toBeVisible()
  await page.getByRole('button', { name: 'Both' }).click()
  await expect(log).toBeVisible()
})

test('[E17] the log shows the kinds of events that are asked for, and says when there is none', async ({
  demo,
  page,
}) => {
  await demo.open()
  await demo.ask('Remember that the ferry is red. [fast]')
  const filter = page.getByLabel('Filter events')
  const types = async () => [...new Set(await demo.log.locator('.type').allTextContents())]
  await filter.selectOption('Tools')
  expect(await types()).toEqual(['tool/call', 'tool/result'])
  await filter.selectOption('request/header')
  expect(await types()).toEqual(['request/header'])
  await filter.selectOption('Rewrites of the surface')
  await expect(page.locator('#log')).toHaveText('No event of this kind.')
  await filter.selectOption('All events')
  await expect(demo.log).toHaveCount((await demo.stored()).length)
})
