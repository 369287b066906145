/** Providers and workers that fail: said in words, and the session goes on. */
import { Demo, expect, test } from './demo.ts'
import { everythingKept } from './kept.ts'
import { ProviderDialog } from './provider-dialog.ts'

const failures = [
  {
    name: 'rate-limit',
    words: 'The provider asks for a pause: too many requests.',
    hint: 'Wait 2 s, then try again.',
    code: 'RATE_LIMIT',
    tries: 5,
  },
  { name: 'server', words: 'The provider had an internal error.', hint: 'Try again.', code: 'SERVER', tries: 5 },
  {
    name: 'overflow',
    words: 'The conversation is too long for the model.',
    hint: 'larger window',
    code: 'CONTEXT_WINDOW_EXCEEDED',
    tries: 0,
  },
  {
    name: 'cut',
    words: 'The connection to the provider failed.',
    hint: 'then try again.',
    code: 'TRANSPORT',
    tries: 5,
  },
  {
    name: 'close',
    words: 'The connection to the provider failed.',
    hint: 'then try again.',
    code: 'TRANSPORT',
    tries: 5,
  },
  {
    name: 'cut-tool',
    words: 'The connection to the provider failed.',
    hint: 'then try again.',
    code: 'TRANSPORT',
    tries: 5,
  },
  { name: 'length', words: 'The answer reached its length limit.', hint: 'Ask for the rest', code: null, tries: 0 },
]

test('[E7] each named failure shows its words, and the next prompt works', async ({ context, demo, page }) => {
  test.setTimeout(120_000)
  const mark = `mark-${crypto.randomUUID()}`
  await demo.open()
  // Side by side: what may pass is tried again for a while.
  const running: (readonly [Demo, (typeof failures)[number]])[] = []
  for (const failure of failures) {
    const own = new Demo(await context.newPage())
    await own.open()
    await own.send(`Remember that ${mark} fails with ${failure.name}. [fast] [fail:${failure.name}]`)
    running.push([own, failure])
  }
  for (const [own, { name, words, hint, code, tries }] of running) {
    await own.ended(1, 60_000)
    const ending = own.rows.last()
    await expect(ending).toContainText(words)
    await expect(ending).toContainText(hint)
    expect(await own.lastEnd()).toMatchObject(
      code === null ? { reason: { kind: 'max-tokens' } } : { reason: { kind: 'error', error: { code } } },
    )
    if (name === 'cut') await expect(ending).toHaveClass(/\berror\b/)
    if (tries > 0) await expect(ending).toContainText(`tried again ${tries} times`)
    await expect(own.page.locator('.row.aside')).toHaveCount(tries)
    await own.ask(`Are you there after ${name}? [fast]`)
    expect(await own.lastEnd()).toEqual({ turn: 2, reason: { kind: 'completed' } })
    // No tool ran from a broken answer.
    expect((await own.stored()).filter(event => event.type === 'tool/call')).toEqual([])
    await own.page.close()
  }
  await expect(page.locator('#notes')).toHaveText('None yet.')
  expect((await demo.requests(mark, 400)).length).toBe(1) // the overflow it was told to report
})

test('[E7] a wrong key is said and never kept', async ({ demo, page }) => {
  await demo.open()
  const provider = new ProviderDialog(page)
  await provider.use({ key: 'wrong-key' })
  await demo.ask('Hello. [fast]')
  await expect(demo.rows.last()).toContainText('The provider refused the key. Check the key under Provider')
  await provider.use({ key: 'another-key' })
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
  test.setTimeout(90_000)
  await demo.send('Is anybody there? [fast]')
  await expect(demo.status).toHaveText(/^Trying again in \d+ s · [1-5] of 5 · /)
  await demo.ended(1, 40_000)
  await expect(demo.rows.last()).toContainText(
    'The connection to the provider failed. Check the network and the base URL',
  )
  await expect(demo.rows.last()).toContainText('http://127.0.0.1:4599 could not be reached')
  const provider = new ProviderDialog(page)
  await provider.use({ url: new URL('/v1', page.url()).href, model: 'no-such-model', key: 'any' })
  await demo.ask('And now? [fast]')
  await expect(demo.rows.last()).toContainText('The provider does not have this model.')
  await provider.use({ model: 'embedded-small' })
  const again = page.locator('.ending').getByRole('button', { name: 'Try again' })
  await expect(again).toHaveCount(1) // only the last failure offers it
  const failed = demo.id
  await again.click()
  // In a branch: what failed stays where it was.
  await expect.poll(() => demo.id).not.toBe(failed)
  await demo.ended(2)
  await expect(demo.rows.last()).toContainText('You wrote “And now?”')
  await expect(again).toHaveCount(0)
  await provider.open()
  await provider.fill({ url: 'nonsense', model: '' })
  await provider.root.getByRole('button', { name: 'Use this provider' }).click()
  await expect(provider.root.getByText('The base URL must be an http or https address.')).toBeVisible()
  await expect(provider.root.getByText('A model is needed.')).toBeVisible()
  await expect(provider.url).toBeFocused()
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
  await expect(page.locator('.ending', { hasText: 'This turn was interrupted.' })).toBeVisible()
  await expect(demo.prompt).toHaveValue('my next words [fast]')
  await demo.prompt.press('Enter')
  await demo.ended(3)
  expect(await demo.lastEnd()).toEqual({ turn: 3, reason: { kind: 'completed' } })
})
