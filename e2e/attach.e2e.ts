/** Images and files that go along with a message: chosen, pasted or dropped, stored, sent, shown and kept. */
import { readFile } from 'node:fs/promises'
import { type Demo, expect, test } from './demo.ts'
import { dropFilesOn, hoverFiles, textFile } from './files.ts'
import { seed, turnOf } from './history.ts'

test.use({ viewport: { width: 1440, height: 900 } })

/** Two pixels in a row. */
const picture = {
  name: 'sea.png',
  mimeType: 'image/png',
  buffer: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAD0lEQVR42mOQi+r5cKICAAmFAzXGA0CUAAAAAElFTkSuQmCC',
    'base64',
  ),
}
const text = { name: 'tides.txt', mimeType: 'text/plain', buffer: Buffer.from('High at noon, low at six.\n') }
const binary = { name: 'data.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 2, 255]) }

const chips = ({ page }: Demo) => page.locator('.attaching .chip')
const choose = ({ page }: Demo, ...files: readonly (typeof picture)[]) =>
  page.setInputFiles('#attach-chooser', [...files])

/** Waits until a picture is drawn. */
const expectDrawn = async ({ page }: Demo) => {
  const image = page.locator('.row.user .attachments img')
  await expect(image).toHaveCount(1)
  await expect.poll(() => image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(2)
}

test('[E35] an image and files are chosen, sent, read by the model, shown, and there after a reload', async ({
  demo,
  page,
}) => {
  const mark = `mark-${crypto.randomUUID()}`
  await demo.open()
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('button', { name: 'Attach', exact: true }).click(),
  ])
  await chooser.setFiles([picture, text, binary, { ...binary, name: 'unwanted.bin' }])
  await expect(chips(demo)).toHaveText([
    /sea\.png.*\d+ bytes/,
    /tides\.txt.*26 bytes/,
    /data\.bin.*4 bytes/,
    /unwanted/,
  ])
  await expect(chips(demo).first().locator('img')).toBeVisible()
  await expect(demo.prompt).toBeFocused()
  await page.getByRole('button', { name: 'Remove unwanted.bin' }).click()
  await expect(chips(demo)).toHaveCount(3)
  await expect(demo.prompt).toBeFocused()
  await demo.ask(`What is in these, ${mark}? [fast]`)
  await expect(chips(demo)).toHaveCount(0)

  await expect(demo.rows.last()).toContainText(`You wrote “What is in these, ${mark}?” and sent 1 image (PNG, `)
  await expect(demo.rows.last()).toContainText('the file tides.txt (25 bytes, it begins “High at noon, low at six.”)')
  await expect(demo.rows.last()).toContainText('the file data.bin (4 bytes)')
  const [request] = await demo.requests(mark)
  const parts = request?.messages.at(-1)?.['content'] as { type: string; image_url?: { url: string } }[]
  expect(parts.map(({ type }) => type)).toEqual(['image_url', 'text', 'text', 'text'])
  expect(parts[0]?.image_url?.url).toBe(`data:image/png;base64,${picture.buffer.toString('base64')}`)
  // The log refers to the bytes and does not hold them.
  const said = (await demo.stored()).find(({ type }) => type === 'user/message')
  expect(said?.data).toMatchObject({
    content: [
      { type: 'image', attachment: { name: 'sea.png', mediaType: 'image/png', width: 2, height: 1 } },
      { type: 'file', attachment: { name: 'tides.txt', bytes: 26 } },
      { type: 'file', attachment: { name: 'data.bin', bytes: 4 } },
      { type: 'text', text: `What is in these, ${mark}? [fast]` },
    ],
  })
  expect(JSON.stringify(said)).not.toContain(picture.buffer.toString('base64'))

  for (const _ of ['now', 'after a reload']) {
    await expectDrawn(demo)
    await expect(page.locator('.row.user .chip')).toHaveText([/tides\.txt.*26 bytes/, /data\.bin.*4 bytes/])
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download tides.txt' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('tides.txt')
    expect(await readFile(await download.path(), 'utf8')).toBe('High at noon, low at six.\n')
    await demo.reload()
  }
})

test('[E35] an image is pasted, enlarged, and sent without words; text that comes with one is meant as text', async ({
  demo,
  page,
}) => {
  await demo.open()
  const paste = (withText: string) =>
    demo.prompt.evaluate(
      (field, { base64, words }) => {
        const clipboardData = new DataTransfer()
        const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0))
        clipboardData.items.add(new File([bytes], 'image.png', { type: 'image/png' }))
        if (words !== '') clipboardData.setData('text/plain', words)
        field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
      },
      { base64: picture.buffer.toString('base64'), words: withText },
    )
  await paste('a table')
  await expect(chips(demo)).toHaveCount(0)
  await paste('')
  await expect(chips(demo)).toHaveText([/image\.png/])
  await demo.prompt.press('Enter')
  await demo.ended(1)
  await expect(demo.rows.last()).toContainText('You sent a message without words and sent 1 image (PNG, ')
  await expect(page.locator('#conversation-title')).toHaveText('image.png')
  await expectDrawn(demo)
  const button = page.getByRole('button', { name: 'Enlarge image.png' })
  await expect(button).toHaveAttribute('aria-pressed', 'false')
  await button.press('Enter')
  await expect(button).toHaveAttribute('aria-pressed', 'true')
})

test('[E35] files dropped on the field are attached, and those dropped elsewhere are opened as logs', async ({
  demo,
  page,
}) => {
  await demo.open()
  const note = textFile('tides.txt', 'High at noon.')
  await hoverFiles(page, note)
  await expect(page.locator('#drop')).toContainText('Drop the log of a session to open it')
  await expect(page.locator('#drop [data-drop]')).toContainText('Drop it here to attach it to your message')
  await expect(page.locator('#drop .over')).toContainText('Drop the log of a session')
  await dropFilesOn(page, '#composer', note)
  await expect(page.locator('#drop')).toBeHidden()
  await expect(chips(demo)).toHaveText([/tides\.txt.*13 bytes/])
  await expect(page.locator('#files')).toHaveCount(0)
  // The same place, as it is named while files are held over the page.
  await dropFilesOn(page, '#drop [data-drop]', textFile('more.txt', 'Low at six.'))
  await expect(chips(demo)).toHaveText([/tides\.txt/, /more\.txt/])
  await demo.ask('What do they say? [fast]')
  await expect(demo.rows.last()).toContainText('it begins “Low at six.”')
})

test('[E35] what cannot be attached is said, and nothing is sent without it', async ({ demo, page }) => {
  await demo.open()
  await page.locator('#attach-chooser').evaluate((input: HTMLInputElement) => {
    const given = new DataTransfer()
    given.items.add(new File([new Uint8Array(20_000_001)], 'film.mov'))
    input.files = given.files
    input.dispatchEvent(new Event('change', { bubbles: true }))
  })
  await expect(page.locator('#composer')).toContainText('“film.mov” is too large to attach: 20 MB is the most.')
  await demo.prompt.fill('Look at this. [fast]')
  await demo.prompt.press('Enter')
  await expect(demo.notice).toHaveText('Nothing was sent: remove what could not be attached first.')
  await expect(demo.prompt).toHaveValue('Look at this. [fast]')
  await page.getByRole('button', { name: 'Remove film.mov' }).click()
  await expect(page.locator('#composer')).not.toContainText('film.mov')
  await demo.prompt.press('Enter')
  await demo.ended(1)
})

test('[E35] what is attached waits in the queue, and stays with a prompt that is said otherwise', async ({
  demo,
  page,
}) => {
  await demo.open()
  await demo.send('Tell me about the sea. [slow]')
  await expect(demo.live).toHaveText(/\S/)
  await choose(demo, picture)
  await demo.send('And this? [fast]')
  await expect(page.locator('section.queue')).toContainText('1 attachment')
  await page.getByRole('button', { name: 'Stop' }).click()
  await demo.ended(1)
  await page.getByRole('button', { name: 'Send what is queued' }).click()
  await demo.ended(2)
  await expect(demo.rows.last()).toContainText('You wrote “And this?” and sent 1 image')
  const parent = demo.id
  await page.locator('.row.user').last().hover()
  await page
    .getByRole('button', { name: /^Edit message/ })
    .last()
    .click()
  await page.getByRole('textbox', { name: 'Your message, said otherwise' }).fill('And what is this? [fast]')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect.poll(() => demo.id).not.toBe(parent)
  await demo.ended(2)
  await expect(demo.rows.last()).toContainText('You wrote “And what is this?” and sent 1 image')
  await expectDrawn(demo)
})

test('[E35] what a tool returns is shown the same way, and bytes that are not here are said to be so', async ({
  demo,
  page,
}) => {
  await demo.open()
  const block = await page.evaluate(async base64 => {
    const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0))
    return window.palimpsestDemo.palimpsest.sessions.attach(new Blob([bytes]), 'map.png')
  }, picture.buffer.toString('base64'))
  const gone = {
    type: 'file',
    attachment: { attachmentId: `sha256:${'0'.repeat(64)}`, name: 'old.pdf', bytes: 12_000 },
  }
  const lost = {
    type: 'image',
    attachment: { ...(block as { attachment: object }).attachment, ...gone.attachment, name: 'lost.png' },
  }
  await seedResult(demo, [{ type: 'text', text: 'Here is the map.' }, block, gone, lost])
  const shown = page.locator('.tool-row .attachments')
  const image = shown.locator('img')
  await expect.poll(() => image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(2)
  await expect(shown.locator('.chip')).toHaveText([/old\.pdf.*12 kB/, /lost\.png.*12 kB.*not kept here/])
  await page.getByRole('button', { name: 'Download old.pdf' }).click()
  await expect(shown.locator('.chip').first()).toContainText('not kept here')
  await page.locator('.tool summary').click()
  await expect(page.locator('.tool-body')).toContainText('Here is the map.')
  await expect(page.locator('.tool-body')).not.toContainText('[image]')
})

/** A turn whose only call has this result. */
async function seedResult({ page }: Demo, content: readonly object[]): Promise<void> {
  const call = { name: 'draw_map', arguments: '{"of":"the harbour"}', result: '' }
  const entries = turnOf(1, 'Draw me a map.', 'There it is.', [call]).map(entry => {
    if (entry.type !== 'tool/result') return entry
    const { message } = entry.data as { message: { content: readonly [object] } }
    return { ...entry, data: { ...entry.data, message: { ...message, content: [{ ...message.content[0], content }] } } }
  })
  await seed(page, entries)
}
