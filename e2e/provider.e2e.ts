/** The provider dialog: what a test of the connection says, and where a key is and where it is not. */
import { expect, test } from './demo.ts'
import { everythingKept } from './kept.ts'
import { ProviderDialog } from './provider-dialog.ts'
import { startProvider } from './server.ts'

// The browser itself reports requests that fail; here they are part of the test.
const failedRequests = /^Failed to load resource: /

test('[E14] a test of the connection says in words what is wrong, and what is right', async ({
  demo,
  page,
  reports,
}) => {
  reports.expect(failedRequests, /blocked by CORS policy/)
  await demo.open()
  const provider = new ProviderDialog(page)
  const { origin } = new URL(page.url())
  await provider.open()
  await provider.test()
  await expect(provider.said).toHaveText(/ answers, and so did embedded-small|answers and offers embedded-small/)

  await provider.fill({ key: 'wrong-key' })
  await provider.test()
  await expect(provider.said).toContainText(`${origin} refused the key (status 401).`)
  await expect(provider.said).toContainText('Check that the key is whole')

  await provider.fill({ key: 'any-other-key', model: 'no-such-model' })
  await provider.test()
  await expect(provider.said).toContainText(`${origin} does not have the model no-such-model.`)
  await expect(provider.said).toContainText('It offers embedded-small')

  await provider.fill({ url: 'http://127.0.0.1:4599/v1', model: 'any' })
  await provider.test()
  await expect(provider.said).toContainText('http://127.0.0.1:4599 could not be reached.')
  await expect(provider.said).toContainText('Check that the server runs on this computer')

  await provider.fill({ url: `${origin}/assets` })
  await provider.test()
  await expect(provider.said).toHaveText(/The base URL may lack its end: try .*\/assets\/v1/)

  await provider.fill({ kind: 'Embedded' })
  await provider.test()
  await expect(provider.said).toContainText('it needs no connection and no key')

  await provider.fill({ kind: 'Anthropic' })
  await provider.test()
  await expect(provider.said).toContainText('One field needs another look.')
  await expect(provider.root.getByText('A key is needed: Anthropic does not answer without one.')).toBeVisible()
  await expect(provider.key).toBeFocused()

  // Nothing of this was used: the next message goes where it went before.
  await provider.close()
  await demo.ask('Hello. [fast]')
  await expect(demo.rows.last()).toContainText('You wrote “Hello.”')
})

test('[E14] the embedded provider is used without an address, and the button says which provider is used', async ({
  demo,
  page,
}) => {
  await demo.open()
  await expect(page.locator('#provider-button')).toHaveText(`${new URL(page.url()).host} · embedded-small`)
  await new ProviderDialog(page).use({ kind: 'Embedded' })
  await expect(page.locator('#provider-button')).toHaveText('Embedded · embedded-small')
  const mark = `mark-${crypto.randomUUID()}`
  await demo.ask(`Tell me about ${mark}. [fast]`)
  await expect(demo.rows.last()).toContainText(`You wrote “Tell me about ${mark}.”`)
  expect(await demo.requests(mark)).toEqual([])
})

test('[E14] a key that is remembered works after a reload and is never in the page, and forgotten it is gone', async ({
  demo,
  page,
}) => {
  const key = 'key-to-be-remembered-0123456789'
  const server = await startProvider(() => ['Polly ', 'wants ', 'a cracker.'], { keys: [key] })
  try {
    await demo.open()
    const provider = new ProviderDialog(page)
    await provider.use({ url: `${server.origin}/v1`, model: 'parrot', key, remember: true })
    await demo.ask('Hello.')
    await expect(demo.rows.last()).toContainText('Polly wants a cracker.')
    await demo.reload()
    await expect(page.locator('#provider-button')).toHaveText(`${new URL(server.origin).host} · parrot`)
    await demo.ask('Hello again.')
    await expect(demo.rows.last()).toContainText('Polly wants a cracker.')
    expect(server.asked.at(-1)?.authorization).toBe(`Bearer ${key}`)

    // On the device it is in one place, and it is not on the page.
    await provider.open()
    await expect(provider.key).toHaveValue('')
    await expect(provider.key).toHaveAttribute('placeholder', 'set')
    await expect(provider.remember).toBeChecked()
    const shown = await page.evaluate(() => [
      document.documentElement.outerHTML,
      ...[...document.querySelectorAll('input')].map(({ value }) => value),
    ])
    expect(JSON.stringify(shown)).not.toContain(key)
    const holders = await page.evaluate(
      text => Object.keys(localStorage).filter(name => localStorage.getItem(name)?.includes(text)),
      key,
    )
    expect(holders).toEqual(['palimpsest:providers'])

    await provider.root.getByRole('button', { name: 'Forget key' }).click()
    await expect(provider.said).toContainText('Forgotten.')
    expect(await page.evaluate(everythingKept)).not.toContain(key)
    await provider.close()
    await demo.reload()
    expect(await page.evaluate(everythingKept)).not.toContain(key)
    await expect(page.locator('#provider-button')).toHaveText(`${new URL(page.url()).host} · embedded-small`)
  } finally {
    await server.close()
  }
})

test('[E14] taking the tick away takes the key from the device at once', async ({ demo, page }) => {
  const key = 'key-remembered-for-a-moment-123'
  const server = await startProvider(() => ['Hello.'], { keys: [key] })
  try {
    await demo.open()
    const provider = new ProviderDialog(page)
    await provider.use({ url: `${server.origin}/v1`, model: 'parrot', key, remember: true })
    expect(await page.evaluate(everythingKept)).toContain(key)
    await provider.open()
    await provider.remember.uncheck()
    expect(await page.evaluate(everythingKept)).not.toContain(key)
    await provider.close()
    // The page still knows it, until it is reloaded.
    await demo.ask('Still there?')
    expect(server.asked.at(-1)?.authorization).toBe(`Bearer ${key}`)
    await demo.reload()
    expect(await page.evaluate(everythingKept)).not.toContain(key)
  } finally {
    await server.close()
  }
})
