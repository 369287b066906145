/** Content nobody would want: nothing in it runs, loads, leads away or freezes the page. */
import type { JSHandle, Page } from '@playwright/test'
import { type Demo, expect, test } from './demo.ts'
import { seed, turnOf } from './history.ts'
import { startProvider } from './server.ts'

/** Generous: the machine is shared. */
const LONGEST_TASK = 2_000

const hostile = [
  '<script>window.ran = 1</script>',
  '<img src="https://evil.invalid/a.png" onerror="window.ran = 1">',
  '<svg onload="window.ran = 1"><script>window.ran = 1</script></svg>',
  '<iframe srcdoc="<script>parent.ran = 1</script>"></iframe>',
  '<style>* { display: none !important }</style>',
  '<link rel="stylesheet" href="https://evil.invalid/a.css">',
  '<meta http-equiv="refresh" content="0;url=https://evil.invalid/">',
  '<base href="https://evil.invalid/">',
  '<form action="https://evil.invalid/"><input name="prompt" id="prompt" autofocus onfocus="window.ran = 1"></form>',
  '<div id="send" style="position:fixed;inset:0">cover</div>',
  '<details open ontoggle="window.ran = 1">x</details>',
  '[press me](javascript:window.ran=1)',
  '[press me](JaVa\tScRiPt:window.ran=1)',
  '[press me](java&#x0A;script&colon;window.ran=1)',
  '[press me](data:text/html,<script>window.ran=1</script>)',
  '[press me](vbscript:x) [press me](file:///etc/passwd) [press me](//evil.invalid)',
  '<javascript:window.ran=1>',
  '![a picture](https://evil.invalid/track.gif)',
  '![a picture](javascript:window.ran=1)',
  '[![a picture](https://evil.invalid/b.png)](javascript:window.ran=1)',
  '[press me][there]\n\n[there]: javascript:window.ran=1',
  '| a | b |\n| - | - |\n| <img src=x onerror=window.ran=1> | [press me](javascript:window.ran=1) |',
  '```js" onmouseover="window.ran=1\n</code><script>window.ran = 1</script>\n```',
  '- [ ] <input onfocus=window.ran=1 autofocus>',
  '[https://bank.example](https://evil.invalid/login)',
].join('\n\n')

const hidden = 'Pay \u202e001\u202c coins to al\u200bice\u2066 now\u2069, \ufeffplease.\u0000 \u{e0041}\u{e0042} done'

/** Tells the longest task of the page from now on, ms. */
const watchTasks = (page: Page): Promise<JSHandle<{ ms: number }>> =>
  page.evaluateHandle(() => {
    const longest = { ms: 0 }
    new PerformanceObserver(list => {
      for (const { duration } of list.getEntries()) longest.ms = Math.max(longest.ms, duration)
    }).observe({ type: 'longtask' })
    return longest
  })

/** The page takes what is typed, and shows it at once. */
async function expectUsable({ prompt, page }: Demo): Promise<void> {
  await prompt.click()
  const start = Date.now()
  await page.keyboard.type('Still here')
  await expect(prompt).toHaveValue(/Still here$/)
  expect(Date.now() - start).toBeLessThan(3_000)
  await prompt.fill('')
}

test('[E19] markup, scripts, links and pictures of an answer are read and do nothing', async ({
  demo,
  page,
  context,
}) => {
  const asked: string[] = []
  context.on('request', request => asked.push(request.url()))
  const pieces = hostile.match(/.{1,7}/gsu) ?? []
  const server = await startProvider(() => pieces)
  try {
    const id = await demo.open({ query: `&provider=${encodeURIComponent(`${server.origin}/v1`)}` })
    const address = page.url()
    await demo.ask(hostile)
    const check = async () => {
      expect(await page.evaluate(() => 'ran' in window)).toBe(false)
      expect(page.url()).toBe(address)
      const answer = page.locator('.row.agent .markdown')
      await expect(answer).toContainText('press me')
      // What would act is not there: every link leads to a web address, in a page of its own.
      for (const gone of ['script', 'img', 'svg', 'iframe', 'style', 'link', 'meta', 'base', 'form', '[style]']) {
        await expect(answer.locator(gone)).toHaveCount(0)
      }
      const links = await answer.locator('a').evaluateAll(all =>
        all.map(link => ({
          href: link.getAttribute('href'),
          rel: link.getAttribute('rel'),
          target: link.getAttribute('target'),
        })),
      )
      for (const { href, rel, target } of links) {
        expect(href).toMatch(/^https?:\/\//)
        expect(rel).toMatch(/noopener/)
        expect(target).toBe('_blank')
      }
      const handlers = await page
        .locator('#rows *')
        .evaluateAll(all => all.flatMap(each => each.getAttributeNames().filter(name => name.startsWith('on'))))
      expect(handlers).toEqual([])
      // Ids of the page stay its own.
      for (const own of ['prompt', 'send', 'rows']) expect(await page.locator(`[id="${own}"]`).count()).toBe(1)
      // A link that says another place than it leads to says where it leads.
      await expect(answer).toContainText('evil.invalid')
    }
    await check()
    // Whatever can be pressed in it leads nowhere either.
    for (const link of await page.locator('.markdown').getByText('press me').all()) await link.click({ timeout: 2_000 })
    await check()
    await demo.reload()
    await check()
    await expectUsable(demo)
    expect(demo.id).toBe(id)
    const { origin } = new URL(address)
    const elsewhere = asked.filter(
      url => url.startsWith('http') && ![origin, server.origin].includes(new URL(url).origin),
    )
    expect(elsewhere).toEqual([])
  } finally {
    await server.close()
  }
})

test('[E19] text that hides or turns around other text is shown as what it is', async ({ demo, page }) => {
  const server = await startProvider(() => [hidden])
  try {
    await demo.open({ query: `&provider=${encodeURIComponent(`${server.origin}/v1`)}` })
    const name = 'a note \u202e of mine\u200b'
    await seed(
      page,
      turnOf(1, hidden, hidden, [{ name, arguments: JSON.stringify({ query: hidden }), result: hidden }]),
    )
    await demo.ask('Say it.')
    await demo.prompt.fill('')
    await page.locator('.tool summary').click()
    const bare = await page.locator('#rows').evaluate(element => element.textContent)
    // The characters are named where they stand; none of them does its work on the page.
    expect(bare).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\ufeff\u0000\u{e0000}-\u{e007f}]/u)
    for (const row of ['.row.user', '.tool-row', '.row.agent']) {
      await expect(page.locator(row).first().locator('mark, .hidden-mark, [title]').first()).toBeAttached()
    }
    const inspector = await page.locator('#inspector').evaluate(element => element.textContent)
    expect(inspector).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\ufeff\u0000\u{e0000}-\u{e007f}]/u)
    // What is stored is the text itself.
    expect(JSON.stringify(await demo.stored())).toContain('al\u200bice')
  } finally {
    await server.close()
  }
})

test('[E19] a tool result of 5 MB is kept, shown in parts, and the page goes on', async ({ demo, page }) => {
  await demo.open()
  const longest = await watchTasks(page)
  const line = 'The sea is wide, and this line says so again and again. 🌊\n'
  const result = `${line.repeat(Math.ceil(5_000_000 / line.length))}The end of it.`
  await seed(
    page,
    turnOf(1, 'Read it all.', 'I have read it.', [{ name: 'read_file', arguments: '{"path":"sea.txt"}', result }]),
  )
  await expect(demo.rows.last()).toContainText('I have read it.')
  await expect(demo.status).toHaveText('Idle · saved', { timeout: 20_000 })
  await page.locator('.tool summary').click()
  const all = page.locator('.tool').getByRole('button', { name: /^Show all 5,\d{3},\d{3} characters$/ })
  await expect(all).toBeVisible()
  await expectUsable(demo)
  await all.click()
  await expect(page.locator('.tool .whole')).toContainText('The sea is wide')
  await expectUsable(demo)
  expect((await longest.jsonValue()).ms).toBeLessThan(LONGEST_TASK)

  await page.reload()
  const afterwards = await watchTasks(page)
  await expect(demo.rows.last()).toContainText('I have read it.', { timeout: 20_000 })
  await page.locator('.tool summary').click()
  await expect(all).toBeVisible()
  await expectUsable(demo)
  // The whole event as JSON, in the log.
  await page.locator('#log .event', { hasText: 'tool/result' }).locator('summary').click()
  await expect(page.locator('#log').getByRole('button', { name: /^Show all 5,/ })).toBeVisible()
  expect((await afterwards.jsonValue()).ms).toBeLessThan(LONGEST_TASK)
})

test('[E19] a turn with 1,000 tool calls opens with its end first, and leads back to its beginning', async ({
  demo,
  page,
}) => {
  test.setTimeout(120_000)
  await demo.open()
  const calls = Array.from({ length: 1_000 }, (_, index) => ({
    name: 'search_notes',
    arguments: JSON.stringify({ query: `number ${index + 1}` }),
    result: `Got ${index + 1}`,
  }))
  const longest = await watchTasks(page)
  await seed(page, turnOf(1, 'Call them all.', 'That was all of it.', calls))
  await expect(demo.rows.last()).toContainText('That was all of it.')
  await expect(demo.status).toHaveText('Idle · saved', { timeout: 20_000 })
  await expectUsable(demo)
  expect((await longest.jsonValue()).ms).toBeLessThan(LONGEST_TASK)

  await page.reload()
  const afterwards = await watchTasks(page)
  await expect(demo.rows.last()).toContainText('That was all of it.', { timeout: 20_000 })
  await expect(page.locator('.tool').last()).toContainText('number 1000')
  expect(await page.locator('.tool').count()).toBeLessThan(1_000)
  await expectUsable(demo)
  const earlier = page.locator('#rows').getByRole('button', { name: 'Show earlier' })
  for (let step = 0; step < 20 && (await earlier.isVisible()); step += 1) {
    const rows = await demo.rows.count()
    await earlier.click()
    await expect.poll(() => demo.rows.count()).not.toBe(rows)
  }
  await expect(earlier).toBeHidden()
  await expect(page.locator('.tool')).toHaveCount(1_000)
  await expect(page.locator('.row.user')).toContainText('Call them all.')
  await expectUsable(demo)
  expect((await afterwards.jsonValue()).ms).toBeLessThan(LONGEST_TASK)
  await demo.ask('And now? [fast]')
  await expect(demo.rows.last()).toContainText('You wrote “And now?”')
})

test('[E19] a long conversation opens at its end, and what is put in front does not move what is read', async ({
  demo,
  page,
}) => {
  await demo.open()
  const turns = Array.from({ length: 300 }, (_, index) =>
    turnOf(index + 1, `Question ${index + 1}?`, `Answer ${index + 1}. ${'More of it. '.repeat(index % 7)}`),
  )
  await seed(page, turns.flat())
  await expect(demo.status).toHaveText('Idle · saved', { timeout: 20_000 })
  await page.reload()
  await expect(demo.rows.last()).toContainText('Answer 300.')
  const view = page.locator('#transcript')
  await expect.poll(() => view.evaluate(each => each.scrollHeight - each.scrollTop - each.clientHeight)).toBeLessThan(2)
  const earlier = page.locator('#rows').getByRole('button', { name: 'Show earlier' })
  await expect(earlier).toBeAttached()
  await view.evaluate(each => each.scrollTo(0, 0))
  const first = page.locator('#rows [data-row]').first()
  const seq = await first.getAttribute('data-seq')
  const row = page.locator(`#rows [data-row][data-seq="${seq}"]`)
  const top = () => row.evaluate(each => each.getBoundingClientRect().top)
  const before = await top()
  const rows = await demo.rows.count()
  await earlier.click()
  await expect.poll(() => demo.rows.count()).toBeGreaterThan(rows)
  expect(Math.abs((await top()) - before)).toBeLessThan(60) // the button above it may have gone
  for (let step = 0; step < 20 && (await earlier.isVisible()); step += 1) {
    const count = await demo.rows.count()
    await earlier.click()
    await expect.poll(() => demo.rows.count()).not.toBe(count)
  }
  await expect(page.locator('.row.user')).toHaveCount(300)
  await expect(page.locator('.row.user').first()).toContainText('Question 1?')
  await expectUsable(demo)
})
