/** What people see and hear: tools with an effect, and every state of the page in both schemes, on small and large screens. */
import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { expect, test } from './demo.ts'
import { busy, provide } from './far-provider.ts'
import { look, openAt } from './look.ts'
import { ProviderDialog } from './provider-dialog.ts'

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

// ── Every state ─────────────────────────────────────────────────────────────────────────────────────────────────────

for (const width of [360, 1440] as const) {
  test(`[E12] an empty session, the dialogs and a deletion can be read by everybody, ${width} px`, async ({
    demo,
    page,
  }) => {
    await openAt(demo, width)
    await look(page, 'empty', width)
    const provider = new ProviderDialog(page)
    await provider.open()
    await provider.fill({ url: 'nonsense', key: 'a key with spaces' })
    await provider.root.getByRole('button', { name: 'Use this provider' }).click()
    await expect(provider.root.getByText('The base URL must be an http or https address.')).toBeVisible()
    await look(page, 'provider', width)
    await provider.close()
    await page.getByRole('button', { name: 'Keys' }).click()
    await expect(page.locator('#help')).toBeVisible()
    await look(page, 'help', width)
    await page.keyboard.press('Escape')
    await demo.ask('Hello there. [fast]')
    if (width === 360) await page.getByRole('button', { name: 'Sessions', exact: true }).click()
    await demo.remove('Hello there.')
    await expect(page.locator('.undo')).toContainText('Undo')
    await look(page, 'undo', width)
  })

  test(`[E12] pinned and deleted sessions and the storage can be read by everybody, ${width} px`, async ({
    demo,
    page,
  }) => {
    await page.addInitScript(() => {
      const { storage } = navigator as { storage?: StorageManager } // an empty page has none
      if (storage !== undefined) storage.estimate = async () => ({ usage: 12_400_000, quota: 1e10 })
    })
    await openAt(demo, width)
    const showSessions = async () => {
      if (width === 360) await page.getByRole('button', { name: 'Sessions', exact: true }).click()
    }
    await demo.ask('Trip to the lighthouse, by ferry [fast]')
    await showSessions()
    await page.getByRole('button', { name: 'Pin Trip to the lighthouse' }).click()
    await expect(page.locator('.pin-mark')).toBeVisible()
    for (const prompt of ['Where the tide tables are kept', 'A shopping list', 'Tides in December', 'Old plans']) {
      await page.keyboard.press('Escape')
      await demo.open()
      await demo.ask(`${prompt} [fast]`)
    }
    for (const [title, words] of [
      ['Old plans', 'Deleted (1)…'],
      ['A shopping list', 'Deleted (2)…'],
    ] as const) {
      await showSessions()
      await demo.remove(title)
      await expect(page.locator('#deleted summary')).toHaveText(words)
      await page.keyboard.press('Escape')
    }
    await showSessions()
    await demo.openDeleted()
    await expect(page.locator('.undo')).toBeEmpty({ timeout: 10_000 })
    await look(page, 'deleted', width)
    await page.getByRole('button', { name: 'Ask the browser to keep it' }).click()
    await expect(page.locator('#storage [role=status]').last()).not.toBeEmpty()
    await look(page, 'asked', width)
    await page.keyboard.press('Escape')
    const gone = demo.id
    await showSessions()
    await demo.remove((await page.locator('#conversation-title').textContent()) ?? '')
    await expect.poll(() => demo.id).not.toBe(gone)
    await page.goto('about:blank')
    await page.goto(`/?e2e#session=${gone}`)
    await expect(page.getByRole('button', { name: 'Bring it back' })).toBeVisible()
    await look(page, 'deleted-address', width)
  })

  test(`[E12] a finished conversation and its sheets can be read by everybody, ${width} px`, async ({ demo, page }) => {
    await openAt(demo, width)
    await demo.ask('Think, and remember that the tide is high at noon. [fast]')
    await demo.prompt.fill(`The sea is wide. ${'And this line says so again and again. '.repeat(2_500)}`)
    await demo.prompt.press('Enter')
    await demo.ended(2)
    await page.getByRole('button', { name: 'Let the model read a shortened version' }).click()
    await expect(page.locator('.replacement')).toHaveCount(1)
    await demo.ask('What do my notes say about the tide? [fast]')
    await demo.ask('Tell me more. [fast] [fail:rate-limit]')
    await page.locator('.reasoning summary').first().click()
    await page.locator('.replacement .seq').click()
    await page.locator('.tool').last().locator('summary').click()
    await expect(page.locator('.tool').last().locator('.tool-body')).toBeVisible()
    await look(page, 'finished', width)
    if (width === 360) {
      await page.getByRole('button', { name: 'Sessions', exact: true }).click()
      await expect(page.locator('#side')).toBeVisible()
      await look(page, 'sessions', width)
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Inspector', exact: true }).click()
      await expect(page.locator('#panel-surface')).toBeVisible()
      await page.locator('#surface .node.summary summary').click()
      await look(page, 'inspector', width)
      await page.locator('#tab-log').click()
      await expect(page.locator('#panel-log')).toBeVisible()
      await look(page, 'log', width)
    }
  })

  test(`[E12] messages that were condensed can be read by everybody, ${width} px`, async ({ demo, page }) => {
    await openAt(demo, width)
    await demo.ask('Remember that the tide is high at noon on Sunday. [fast]')
    await demo.ask('What do my notes say about the tide? [fast]')
    await page.evaluate(condense)
    await demo.ask('And is that a good day for a walk? [fast]')
    await expect(page.locator('.replacement')).toContainText('messages condensed')
    await page.locator('.replacement .seq').click()
    if (width === 1440) {
      await page.locator('#surface .node.summary summary').click()
      await expect(page.locator('.under-layer .shadow')).toHaveCount(8)
    }
    await look(page, 'condensed', width)
  })

  test(`[E12] an answer that arrives and what is queued can be read by everybody, ${width} px`, async ({
    demo,
    page,
  }) => {
    await openAt(demo, width)
    await demo.ask('Hello there. [fast]')
    await demo.send('Tell me about the sea. [slow]')
    await expect.poll(() => demo.live.textContent()).toMatch(/\S+ \S+ \S+/)
    await look(page, 'streaming', width)
    await demo.send('And when you are done: what is a palimpsest? [fast]')
    await demo.prompt.fill('Answer in one sentence.')
    await demo.prompt.press('Control+Enter')
    await expect(page.locator('section.queue li')).toHaveCount(2)
    await look(page, 'queue', width)
    await page.getByRole('button', { name: 'Stop' }).click()
    await demo.ended(2)
    await page.locator('section.queue').getByRole('button', { name: 'Edit' }).first().click()
    await look(page, 'queue-kept', width)
  })

  test(`[E12] a question, its answer and a call that is tried again can be read by everybody, ${width} px`, async ({
    demo,
    page,
    context,
    reports,
  }) => {
    reports.expect(/^Failed to load resource: /)
    await openAt(demo, width)
    await demo.ask('Remember that spring tides come at full moon. [fast]')
    await demo.send('Delete the note about tides. [fast]')
    await expect(page.locator('.approval')).toBeVisible()
    await look(page, 'approval', width)
    await page.getByRole('button', { name: 'Reject' }).click()
    await demo.ended(2)
    await provide(context, page, [busy(10)])
    await demo.send('Tell me about the moon.')
    await expect(demo.status).toHaveText(/^Trying again in /)
    await look(page, 'retrying', width)
    await page.getByRole('button', { name: 'Stop' }).click()
    await demo.ended(3)
  })

  test(`[E12] what is attached, and a message that is said otherwise, can be read by everybody, ${width} px`, async ({
    demo,
    page,
  }) => {
    await openAt(demo, width)
    await page.setInputFiles('#attach-chooser', [
      { name: 'tides.txt', mimeType: 'text/plain', buffer: Buffer.from('High at noon, low at six.') },
      { name: 'a film of the harbour that is too long to send.mov', mimeType: '', buffer: Buffer.alloc(20_000_001) },
    ])
    await page.setInputFiles(
      '#attach-chooser',
      fileURLToPath(new URL('./screenshots/help-dark-1440.png', import.meta.url)),
    )
    await expect(page.locator('.attaching')).not.toContainText('attaching…')
    await expect(page.locator('#composer')).toContainText('is too large to attach')
    await look(page, 'attaching', width)
    await page.getByRole('button', { name: /^Remove a film/ }).click()
    await demo.ask('When is the tide high, and what are these keys? [fast]')
    await expect(page.locator('.attachments img')).toHaveJSProperty('complete', true)
    if (width === 1440) await page.locator('.row.user').hover()
    await look(page, 'attached', width)
    await page.getByRole('button', { name: /^Edit message/ }).click()
    await look(page, 'editing', width)
  })
}

/** Runs in the page: has one message stand for all that was said so far, as compaction would. */
async function condense(): Promise<void> {
  const session = window.palimpsestDemo.session()
  if (session === null) throw new Error('No session is open')
  const seqs = (await session.readSurface()).nodes.slice(1).map(node => node.seq)
  const message = {
    id: 'condensed',
    role: 'user',
    content: [
      { type: 'text', text: 'So far: a note was kept that the tide is high at noon on Sunday, and found again.' },
    ],
    source: { kind: 'plugin', plugin: 'summary' },
  }
  const surfaceOp = { op: 'replace', startSeq: seqs[0], endSeq: seqs.at(-1) }
  await session.append('user/message', message, { surfaceOp, sourceEventSeqs: seqs })
}
