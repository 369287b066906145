/** The demo page while a long answer arrives fast: nothing holds the page up, and nothing piles up. */
import type { Page } from 'playwright'
import type { BrowserBench, BrowserRows } from '../bench.ts'
import { type DeltaServer, startDeltaServer } from '../delta-server.ts'
import { type DemoPage, startDemoPage } from '../demo-page.ts'
import { reachableHeap, tasksDuring } from '../main-thread.ts'

const MB = 1_000_000
/** Deltas a second. */
const PACE = 1_000
/** What is there by then, in seconds of the answer, is there once: code, fonts, the first rows. */
const SETTLED = 5
const PATIENCE_MS = 120_000

export const streamRows: BrowserRows = async bench => {
  const seconds = bench.quick ? 8 : 30
  const demo = await startDemoPage()
  const server = await startDeltaServer({ perSecond: PACE, seconds })
  try {
    const tasks = await tasksWhileStreaming(bench, demo, server)
    const { growth, text } = await growthWhileStreaming(bench, demo, server)
    const name = `the demo, ${PACE} deltas a second for ${seconds} s`
    return [
      bench.row(`${name}, longest task of the main thread, against 50 ms, ms`, Math.max(...tasks), 50, '≤ 1×'),
      bench.row(
        `${name}, heap after the 5th second, less ${(text / MB).toFixed(2)} MB of text, against 5 MB, MB`,
        (growth - text) / MB,
        5,
        '≤ 1×',
      ),
    ]
  } finally {
    await demo.close()
    await server.close()
  }
}

async function open(bench: BrowserBench, demo: DemoPage, { baseURL, forget }: DeltaServer): Promise<Page> {
  forget()
  const query = new URLSearchParams({ provider: baseURL })
  const page = await bench.browser.show('stream', 'about:blank')
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.goto(`${demo.origin}/?${query}#session=${crypto.randomUUID()}`)
  await page.getByText(/^Idle · /).waitFor()
  return page
}

/** Asks, and waits until the answer has begun. From then on nothing of a test looks at the page, which would be work of it. */
async function ask(page: Page, server: DeltaServer): Promise<void> {
  const prompt = page.getByRole('textbox', { name: 'Message' })
  await prompt.fill('Tell me everything about tides.')
  await prompt.press('Enter')
  await until(() => server.sent().deltas > 0)
}

/** Waits until the answer is there and stored. */
async function answered(page: Page, server: DeltaServer): Promise<void> {
  await until(() => server.sent().isWhole)
  const status = () => page.evaluate(() => document.querySelector('#status')?.textContent)
  await until(async () => (await status()) === 'Idle · saved')
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error('The answer did not come to its end')
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

/** How long each task took. */
async function tasksWhileStreaming(bench: BrowserBench, demo: DemoPage, server: DeltaServer): Promise<number[]> {
  const page = await open(bench, demo, server)
  const tasks = await tasksDuring(page, async () => {
    await ask(page, server)
    await answered(page, server)
  })
  if (tasks.length === 0) throw new Error('No task of the main thread was seen')
  return tasks.map(({ duration }) => duration)
}

/** How much more is kept at the end than in the fifth second, and how many characters came meanwhile. */
async function growthWhileStreaming(
  bench: BrowserBench,
  demo: DemoPage,
  server: DeltaServer,
): Promise<{ readonly growth: number; readonly text: number }> {
  const page = await open(bench, demo, server)
  const cdp = await page.context().newCDPSession(page)
  await ask(page, server)
  await until(() => server.sent().deltas >= SETTLED * PACE)
  const { characters } = server.sent()
  const before = await reachableHeap(cdp)
  await answered(page, server)
  const growth = (await reachableHeap(cdp)) - before
  await cdp.detach()
  return { growth, text: server.sent().characters - characters }
}
