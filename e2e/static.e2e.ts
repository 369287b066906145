/** The built page on a plain static host, below a path, with nothing behind it. */
import { fileURLToPath } from 'node:url'
import { Demo, expect, test } from './demo.ts'
import { startStaticHost } from './server.ts'

const built = fileURLToPath(new URL('../demo/dist/', import.meta.url))

test('[E15] from any static host the page answers with a tool, survives a reload, and asks for nothing else', async ({
  page,
  context,
}) => {
  const host = await startStaticHost(built, '/some/where/')
  const elsewhere: string[] = []
  const failed: string[] = []
  context.on('request', request => {
    const { protocol, origin } = new URL(request.url())
    if (protocol.startsWith('http') && origin !== host.origin) elsewhere.push(request.url())
  })
  context.on('requestfailed', request => failed.push(request.url()))
  try {
    const demo = new Demo(page)
    await page.goto(`${host.origin}/some/where/`)
    await expect(demo.status).toHaveText('Idle · nothing to save yet')
    await expect(page.locator('#provider-button')).toHaveText('Embedded · embedded-small')
    await demo.ask('Remember that the tide is high at noon. [fast]')
    await expect(page.locator('.tool.done')).toHaveCount(1)
    await expect(demo.rows.last()).toContainText('I wrote the note “The tide is high at noon”.')
    await expect(page.locator('#notes .note')).toHaveCount(1)
    const before = (await demo.shown()).transcript
    await demo.reload()
    await expect.poll(async () => (await demo.shown()).transcript).toEqual(before)
    await expect(page.locator('#notes .note')).toHaveCount(1)
    await demo.ask('What do my notes say about the tide? [fast]')
    await expect(demo.rows.last()).toContainText('I found 1 note about “the tide”')
  } finally {
    await host.close()
  }
  expect(host.asked.filter(line => !line.startsWith('200 GET /some/where/'))).toEqual([])
  expect(elsewhere).toEqual([])
  expect(failed).toEqual([])
})
