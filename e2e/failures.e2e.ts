/** Providers and workers that fail: said in words, and the session goes on. */
import { type Demo, expect, test } from './demo.ts'

const failures = [
  {
    name: 'rate-limit',
    words: 'The provider asks for a pause: too many requests.',
    hint: 'Wait 2 s, then try again.',
    code: 'RATE_LIMIT',
  },
  { name: 'server', words: 'The provider had an internal error.', hint: 'Try again.', code: 'SERVER' },
  {
    name: 'overflow',
    words: 'The conversation is too long for the model.',
    hint: 'larger window',
    code: 'CONTEXT_WINDOW_EXCEEDED',
  },
  { name: 'cut', words: 'The connection to the provider failed.', hint: 'then try again.', code: 'TRANSPORT' },
  { name: 'close', words: 'The connection to the provider failed.', hint: 'then try again.', code: 'TRANSPORT' },
  { name: 'cut-tool', words: 'The connection to the provider failed.', hint: 'then try again.', code: 'TRANSPORT' },
  { name: 'length', words: 'The answer reached its length limit.', hint: 'Ask for the rest', code: null },
]

async function setProvider(demo: Demo, fields: { url?: string; model?: string; key?: string }): Promise<void> {
  const { page } = demo
  if (fields.url !== undefined) await page.getByLabel('Base URL').fill(fields.url)
  if (fields.model !== undefined) await page.getByLabel('Model', { exact: true }).fill(fields.model)
  if (fields.key !== undefined) await page.getByLabel('Key').fill(fields.key)
  await page.getByRole('button', { name: 'Use this provider' }).click()
  await expect(page.getByText('Used from the next message on.')).toBeVisible()
}

test('[E7] each named failure shows its words, and the next prompt works', async ({ demo, page }) => {
  const mark = `mark-${crypto.randomUUID()}`
  await demo.open()
  let turn = 0
  for (const { name, words, hint, code } of failures) {
    await demo.ask(`Remember that ${mark} fails with ${name}. [fast] [fail:${name}]`)
    turn += 1
    const ending = demo.rows.last()
    await expect(ending).toContainText(words)
    await expect(ending).toContainText(hint)
    expect((await demo.stored()).at(-1)?.data).toMatchObject(
      code === null ? { turn, reason: { kind: 'max-tokens' } } : { turn, reason: { kind: 'error', error: { code } } },
    )
    if (name === 'cut') await page.screenshot({ path: 'test-results/error.png' })
    await demo.ask(`Are you there after ${name}? [fast]`)
    turn += 1
    expect((await demo.stored()).at(-1)?.data).toEqual({ turn, reason: { kind: 'completed' } })
  }
  // No tool ran from a broken answer.
  await expect(page.locator('#notes')).toHaveText('None yet.')
  expect((await demo.stored()).filter(event => event.type === 'tool/call')).toEqual([])
  expect((await demo.requests(mark, 400)).length).toBe(1) // the overflow it was told to report
})

test('[E7] a wrong key is said and never kept', async ({ demo, page }) => {
  await demo.open()
  await setProvider(demo, { key: 'wrong-key' })
  await demo.ask('Hello. [fast]')
  await expect(demo.rows.last()).toContainText('The provider refused the key. Check the key under Provider')
  await setProvider(demo, { key: 'another-key' })
  await demo.ask('Hello again. [fast]')
  await expect(demo.rows.last()).toContainText('You wrote “Hello again.”')

  const kept = await page.evaluate(everythingKept)
  expect(kept).toContain('Hello again.') // the search does see what is stored
  expect(kept).not.toContain('wrong-key')
  expect(kept).not.toContain('another-key')
  await demo.reload()
  expect(await page.evaluate(everythingKept)).not.toContain('wrong-key')
})

test('[E7] an unreachable host and an unknown model are said, and the next prompt works', async ({ demo, page }) => {
  await demo.open({ query: `&provider=${encodeURIComponent('http://127.0.0.1:4599/v1')}` })
  await demo.ask('Is anybody there? [fast]')
  await expect(demo.rows.last()).toContainText(
    'The connection to the provider failed. Check the network and the base URL',
  )
  await expect(demo.rows.last()).toContainText('http://127.0.0.1:4599 could not be reached')
  await setProvider(demo, { url: new URL('/v1', page.url()).href, model: 'no-such-model' })
  await demo.ask('And now? [fast]')
  await expect(demo.rows.last()).toContainText('The provider does not have this model.')
  await setProvider(demo, { model: 'embedded-small' })
  const again = page.getByRole('button', { name: 'Try again' })
  await expect(again).toHaveCount(1) // only the last failure offers it
  await again.click()
  await demo.ended(3)
  await expect(demo.rows.last()).toContainText('You wrote “And now?”')
  await expect(again).toHaveCount(0)
  await page.getByLabel('Base URL').fill('nonsense')
  await page.getByRole('button', { name: 'Use this provider' }).click()
  await expect(page.getByText('The base URL must be an http or https address.')).toBeVisible()
})

test('[E11] a lost worker is said, the draft is kept, and a reload goes on', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Before the crash. [fast]')
  await demo.send('Tell me a long story. [slow]')
  await expect(demo.live).not.toHaveText('')
  await demo.prompt.fill('my next words [fast]')
  await page.evaluate(() => window.palimpsestDemo.killWorker())
  await expect(demo.status).toHaveText(/^Worker lost: reload to go on\./)
  await expect(page.getByRole('button', { name: 'Send' })).toBeDisabled()
  await expect(page.locator('#rows')).toContainText('Before the crash.')
  await page.getByRole('button', { name: 'Reload' }).click()
  await expect(demo.status).toHaveText('Idle · saved')
  await expect(page.getByText('This turn was interrupted.')).toBeVisible()
  await expect(demo.prompt).toHaveValue('my next words [fast]')
  await demo.prompt.press('Enter')
  await demo.ended(3)
  expect((await demo.stored()).at(-1)?.data).toEqual({ turn: 3, reason: { kind: 'completed' } })
})

/** Runs in the page: every byte the page keeps or shows, as one text. */
async function everythingKept(): Promise<string> {
  const settled = <Value>(request: IDBRequest<Value>) =>
    new Promise<Value>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error ?? new Error('IndexedDB failed'))
    })
  const parts: unknown[] = [
    document.documentElement.outerHTML,
    location.href,
    { ...localStorage },
    { ...sessionStorage },
  ]
  for (const { name = '' } of await indexedDB.databases()) {
    const db = await settled(indexedDB.open(name))
    const stores = [...db.objectStoreNames]
    const tx = db.transaction(stores)
    for (const store of stores) parts.push(await settled(tx.objectStore(store).getAll()))
    db.close()
  }
  for (const name of await caches.keys()) parts.push(name)
  parts.push(
    document.cookie,
    [...document.querySelectorAll('input, textarea')].map(field => (field as HTMLInputElement).value),
  )
  return JSON.stringify(parts)
}
