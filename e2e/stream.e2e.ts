/** An answer while it arrives and when it is there: nothing jumps, nothing folds up, and readers stay where they are. */
import type { JSHandle } from '@playwright/test'
import { type Demo, expect, test } from './demo.ts'

const toEnd = ({ page }: Demo) =>
  page
    .locator('#transcript')
    .evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)

test('[E10] the view follows the answer only while the reader is at its end', async ({ demo, page }) => {
  await page.setViewportSize({ width: 1440, height: 500 })
  await demo.open()
  await demo.ask('Tell me everything. [fast] [long]')
  const view = page.locator('#transcript')
  expect(await toEnd(demo)).toBeLessThan(2)
  await demo.send('And again. [fast] [long]')
  await expect(demo.live).toHaveText(/\S/)
  await view.evaluate(element => element.scrollTo(0, 40))
  const jump = page.getByRole('button', { name: 'Jump to latest' })
  await expect(jump).toBeVisible()
  await demo.ended(2)
  expect(await view.evaluate(element => element.scrollTop)).toBe(40)
  await jump.click()
  await expect(jump).toBeHidden()
  expect(await toEnd(demo)).toBeLessThan(2)
})

test('[E18] while an answer arrives, a reader who goes back to the end is taken along again', async ({
  demo,
  page,
}) => {
  await page.setViewportSize({ width: 1440, height: 500 })
  await demo.open()
  await demo.ask('Tell me everything. [fast] [long]')
  await demo.send('And again. [long]')
  await expect(demo.live).toHaveText(/\S/)
  const view = page.locator('#transcript')
  await view.evaluate(element => element.scrollTo(0, 0))
  await expect(page.locator('#jump')).toBeVisible()
  await view.evaluate(element => element.scrollTo(0, element.scrollHeight))
  await expect(page.locator('#jump')).toBeHidden()
  const height = await view.evaluate(element => element.scrollHeight)
  await expect.poll(() => view.evaluate(element => element.scrollHeight)).toBeGreaterThan(height + 60)
  expect(await toEnd(demo)).toBeLessThan(2)
  await page.getByRole('button', { name: 'Stop' }).click()
  await demo.ended(2)
})

test('[E18] reasoning that is opened while it arrives stays open and the same when the answer is there', async ({
  demo,
  page,
}) => {
  await demo.open()
  await demo.send('Think about the sea.')
  const reasoning = page.locator('.row.agent details.reasoning')
  await expect(page.locator('.row.agent.live details.reasoning')).toHaveCount(1)
  await reasoning.locator('summary').click()
  await expect(reasoning).toHaveAttribute('open', '')
  await reasoning.evaluate(element => element.setAttribute('data-same', ''))
  await expect(page.locator('.row.agent.live')).toHaveCount(1) // it was opened while the answer arrived
  await demo.ended(1)
  await expect(page.locator('.row.agent.live')).toHaveCount(0)
  await expect(reasoning).toHaveAttribute('open', '')
  await expect(reasoning).toHaveAttribute('data-same', '')
  await expect(reasoning.locator('.text')).toBeVisible()
  await expect(reasoning.locator('.text')).toContainText('I will keep the answer short')
})

test('[E18] what is opened at the end of a view stays in sight', async ({ demo, page }) => {
  await page.setViewportSize({ width: 1440, height: 500 })
  await demo.open()
  await demo.ask('Remember that the ferry is red. [fast]')
  await demo.ask('What do my notes say about the ferry? [fast]')
  for (const view of ['#rows .tool', '#surface .node', '#log .event']) {
    const opened = page.locator(view).last().locator('summary')
    await opened.scrollIntoViewIfNeeded()
    await page.waitForTimeout(100)
    const top = () => opened.evaluate(element => element.getBoundingClientRect().top)
    const before = await top()
    await opened.click()
    await expect(page.locator(view).last().locator('.code').first()).toBeAttached()
    await page.waitForTimeout(600)
    expect(Math.abs((await top()) - before), view).toBeLessThan(2)
  }
  // New messages are followed again by a reader who goes to the end.
  await page.locator('#transcript').evaluate(element => element.scrollTo(0, element.scrollHeight))
  await demo.ask('Tell me everything. [fast] [long]')
  expect(await toEnd(demo)).toBeLessThan(2)
})

for (const { name, height, before } of [
  { name: 'in a page with room', height: 900, before: 0 },
  { name: 'at the end of a long page', height: 500, before: 1 },
]) {
  test(`[E18] nothing moves when an answer is complete, ${name}`, async ({ demo, page }) => {
    await page.setViewportSize({ width: 1440, height })
    await demo.open()
    for (let turn = 0; turn < before; turn += 1) await demo.ask('Tell me everything. [fast] [long]')
    const samples = await page.evaluateHandle(watchLastAnswer)
    // On a slow machine the last words and the end may come in one frame; then it says nothing.
    let [last, first, after] = await askAndWatch(demo, samples)
    for (let tries = 0; tries < 2 && first.length !== last.length; tries += 1) {
      ;[last, first, after] = await askAndWatch(demo, samples)
    }
    expect(first).toMatchObject({ same: true, length: last.length })
    // Neither its beginning, nor its end, nor the end of all – and not afterwards either.
    for (const sample of [first, ...after]) {
      expect(Math.abs(sample.top - last.top)).toBeLessThan(1.5)
      expect(Math.abs(sample.height - last.height)).toBeLessThan(1.5)
      expect(Math.abs(sample.whole - last.whole)).toBeLessThan(1.5)
    }
    expect(await toEnd(demo)).toBeLessThan(2)
  })
}

type Sample = {
  readonly live: boolean
  /** Its place in the conversation. The view itself follows a frame's changes at the end of the frame. */
  readonly top: number
  readonly height: number
  /** Height of the conversation. */
  readonly whole: number
  readonly length: number
  /** The same element as before. */
  readonly same: boolean
}

/** Has a question answered; tells the last frame in which the answer arrived, the one after it, and those after that. */
async function askAndWatch(demo: Demo, samples: JSHandle<Sample[]>): Promise<readonly [Sample, Sample, Sample[]]> {
  await demo.ask('Think, and tell me about **the sea**.')
  await demo.page.waitForTimeout(200)
  const seen = await samples.jsonValue()
  const at = seen.findLastIndex(sample => sample.live)
  const [last, first] = [seen[at], seen[at + 1]]
  if (last === undefined || first === undefined) throw new Error(`No answer was seen: ${JSON.stringify(seen)}`)
  return [last, first, seen.slice(at + 2)]
}

/** Runs in the page: where the last answer is, frame by frame, from when all of its text is there. */
function watchLastAnswer(): Sample[] {
  const samples: Sample[] = []
  let before: Element | undefined
  const look = () => {
    const row = [...document.querySelectorAll('#rows .row.agent')].at(-1)
    if (row !== undefined) {
      const { top, height } = row.getBoundingClientRect()
      const view = document.querySelector('#rows')?.getBoundingClientRect()
      const place = { top: top - (view?.top ?? 0), height, whole: view?.height ?? 0 }
      const length = row.querySelector('.markdown')?.textContent.length ?? 0
      const sample = { live: row.classList.contains('live'), ...place, length, same: row === before }
      // While text arrives it grows, and at the end of a page it moves up: what counts is the last of it.
      if (sample.live && samples.at(-1)?.length !== length) samples.length = 0
      samples.push(sample)
      before = row
    }
    requestAnimationFrame(look)
  }
  look()
  return samples
}
