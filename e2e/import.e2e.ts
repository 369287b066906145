/** Logs from files: dropped, chosen, refused, repaired, given up; and sessions as files. */
import { readFile, writeFile } from 'node:fs/promises'
import type { Download, Locator, Page } from '@playwright/test'
import { type Demo, expect, test } from './demo.ts'
import { caseFile, casePath, dropFiles, type GivenFile, hoverFiles, leavePage, longLog, textFile } from './files.ts'
import { look, openAt } from './look.ts'

const V0 = 'mig-02-prompt-change.v0.jsonl'
const DAMAGED = 'load-08-damaged-middle.jsonl'

/** What the page shows of files. */
const shown = (page: Page) => ({
  tray: page.locator('#files'),
  dialog: page.locator('#refusal'),
  drop: page.locator('#drop'),
  said: page.locator('#files-announcer'),
  sessions: page.locator('#sessions .session'),
})

async function fileOf(download: Download): Promise<GivenFile> {
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) }
}

/** Presses a button of the session on the page, and takes the file. */
async function exported(page: Page, name: RegExp): Promise<GivenFile> {
  const coming = page.waitForEvent('download')
  await page.locator('#sessions').getByRole('button', { name }).click()
  return fileOf(await coming)
}

const isActive = (locator: Locator) => locator.evaluate(element => element === document.activeElement)

/** Goes on with Tab until something has the focus. */
async function tabTo(page: Page, target: Locator, key = 'Tab'): Promise<void> {
  await expect(target).toBeVisible()
  for (let step = 0; step < 40 && !(await isActive(target)); step += 1) await page.keyboard.press(key)
  await expect(target).toBeFocused()
}

test('[E21] an old log that is dropped on the page becomes a session, says what it was, and is not taken twice', async ({
  demo,
  page,
}) => {
  await demo.open()
  const { tray, drop, said, sessions } = shown(page)
  const file = await caseFile(V0)
  await hoverFiles(page, file)
  await expect(drop).toBeVisible()
  await expect(drop).toContainText('Drop the log of a session to open it')
  await leavePage(page)
  await expect(drop).toBeHidden()

  await dropFiles(page, file)
  await expect(demo.status).toHaveText('Idle · saved')
  expect(demo.id).toBe('session-mig-02')
  await expect(page.locator('.row.user .body')).toHaveText(['q1', 'q2', 'q3'])
  await expect(page.locator('.row.agent .markdown')).toHaveText(['a1', 'a2', 'a3'])
  await expect(sessions).toHaveText(['mig-02-prompt-change.v0'])
  await expect(page.locator('#conversation-title')).toHaveText('mig-02-prompt-change.v0')
  const words = 'Migrated from format version 0 to 3: 39 events became 24.'
  await expect(tray).toContainText(`${V0} is a session now. ${words}`)
  await expect(said).toHaveText(`${V0} is a session now. ${words}`)

  // The file again: nothing new. A copy that was cut off: another session.
  await dropFiles(page, file)
  await expect(tray.locator('li').last()).toContainText(`${V0} was here already: nothing was added.`)
  await expect(sessions).toHaveCount(1)
  await expect(tray.locator('li')).toHaveCount(2)
  for (const left of [1, 0]) {
    await page
      .getByRole('button', { name: `Dismiss ${V0}` })
      .first()
      .click()
    await expect(tray.locator('li')).toHaveCount(left)
  }
  await demo.ask('And what came after? [fast]')
  await demo.reload()
  await expect(page.locator('.row.user .body').first()).toHaveText('q1')
})

test('[E21] several files at once, compressed ones too, are read one after the other', async ({ demo, page }) => {
  await demo.open()
  const { tray, dialog, sessions } = shown(page)
  const files = await Promise.all(
    ['real/chat.jsonl.zstd', 'load-13-version-99.jsonl', 'real/tools.jsonl.zstd'].map(caseFile),
  )
  await dropFiles(page, ...files)
  await expect(dialog).toBeVisible()
  await expect(dialog).toContainText('load-13-version-99.jsonl')
  await expect(tray.locator('li')).toHaveCount(2)
  await expect(sessions.filter({ hasText: /^(?:chat|tools)$/ })).toHaveCount(2)
  await dialog.getByRole('button', { name: 'Close' }).click()
  await expect(dialog).toHaveCount(0)
  await expect(page.locator('#conversation-title')).toHaveText('tools')
  await expect(page.locator('.tool')).not.toHaveCount(0)
  await page.getByRole('button', { name: 'Show chat.jsonl.zstd' }).click()
  await expect(page.locator('#conversation-title')).toHaveText('chat')
  await expect(page.getByRole('button', { name: 'Show chat.jsonl.zstd' })).toHaveCount(0)
})

test('[E21] a longer copy of a stored log adds the rest', async ({ demo, page }) => {
  const id = await demo.open()
  const { tray } = shown(page)
  const file = await caseFile('mig-02-prompt-change.v3.jsonl')
  const beginning = file.bytes.toString().split('\n').slice(0, 10).join('\n')
  await page.evaluate(async text => {
    const { sessions } = window.palimpsestDemo.palimpsest as unknown as { sessions: { import(text: string): unknown } }
    await sessions.import(text)
  }, `${beginning}\n`)
  expect(await demo.stored('session-mig-02')).toHaveLength(9)
  await dropFiles(page, file)
  await expect(tray).toContainText('goes on where the session that was here ended: the rest was added.')
  await expect(tray).toContainText('24 events, format version 3.')
  await expect(page.locator('.row.agent .markdown')).toHaveText(['a1', 'a2', 'a3'])
  expect(demo.id).not.toBe(id)
})

test('[E21] a damaged log is refused with its line and seq, changes nothing, and opens with repairs', async ({
  demo,
  page,
}) => {
  const id = await demo.open()
  await demo.ask('Hello there. [fast]')
  const { tray, dialog, said, sessions } = shown(page)
  const file = await caseFile(DAMAGED)
  await dropFiles(page, file)
  await expect(dialog).toBeVisible()
  await expect(dialog).toContainText(DAMAGED)
  await expect(dialog).toContainText('The log is damaged in the middle')
  await expect(dialog).toContainText('Line 10, seq 8')
  await expect(dialog).toContainText('Line 10 is not JSON, and line 14 ends a turn: the log is damaged, not torn')
  await expect(dialog).toContainText('Nothing was changed: the file is untouched')
  await expect(dialog.getByRole('button', { name: 'Close' })).toBeFocused()
  await expect(said).toContainText(`${DAMAGED} was not opened. The log is damaged in the middle`)
  await page.keyboard.press('Escape')
  await expect(dialog).toHaveCount(0)
  await expect(demo.prompt).toBeFocused()
  await expect(sessions).toHaveText(['Hello there.'])
  expect(demo.id).toBe(id)
  expect(await demo.stored('session-demo')).toEqual([])

  await dropFiles(page, file)
  await dialog.getByRole('button', { name: 'Open with repairs' }).click()
  await expect(dialog).toHaveCount(0)
  await expect(tray).toContainText(`${DAMAGED} is a session now.`)
  await expect(tray.locator('.repairs')).toContainText('One repair was needed to open it')
  await expect(tray.locator('.repairs li')).toHaveText([
    /^Line 10, seq 8What stands after the damage was left out\.Line 10 /,
  ])
  await expect(said).toContainText('One repair was needed to open it.')
  await expect(page.locator('.row.user .body').first()).toHaveText('question 1')
  await expect(demo.status).toHaveText('Idle · saved')
  await tray.getByRole('button', { name: `Dismiss ${DAMAGED}` }).click()
  await expect(tray).toHaveCount(0)
})

test('[E21] what no repair helps is said so, and what is no log, or a newer one, is not offered any', async ({
  demo,
  page,
}) => {
  await demo.open()
  const { tray, dialog } = shown(page)
  const repair = dialog.getByRole('button', { name: 'Open with repairs' })
  const close = async () => {
    await dialog.getByRole('button', { name: 'Close' }).click()
    await expect(dialog).toHaveCount(0)
  }
  await dropFiles(page, await caseFile('mig-14-header-delta.v0.jsonl'))
  await expect(dialog).toContainText('The log has an event of a kind that was withdrawn.')
  await expect(dialog).toContainText('Line 3, seq 1')
  await repair.click()
  await expect(dialog.getByRole('heading')).toHaveText('Not opened, with repairs either')
  await expect(dialog).toContainText('Line 3, seq 1')
  await expect(dialog).toContainText('this build cannot open it')
  await expect(repair).toHaveCount(0)
  await close()

  await dropFiles(page, await caseFile('load-13-version-99.jsonl'))
  await expect(dialog).toContainText('This log was written by a newer build. Use a newer build to open it')
  await expect(dialog).toContainText('format version 99')
  await expect(dialog).toContainText('Nothing was changed')
  await expect(repair).toHaveCount(0)
  await close()

  // Nothing of a file, not even of its name, is more than text.
  const hostile = '<img src=x onerror=alert(1)>\u202etxt.jsonl'
  await dropFiles(page, textFile(hostile, '<script>alert(1)</script>\n'))
  await expect(dialog).toContainText('This is not the log of a session')
  await expect(dialog).toContainText('<img src=x onerror=alert(1)>U+202Etxt.jsonl')
  await expect(dialog.locator('img, script')).toHaveCount(0)
  await expect(repair).toHaveCount(0)
  await close()
  await dropFiles(page, textFile('empty.jsonl', ''))
  await expect(dialog).toContainText('The file is empty')
  await close()
  await expect(tray).toHaveCount(0)
})

test('[E21] a torn end is left out without a question, and listed', async ({ demo, page }) => {
  await demo.open()
  const { tray, dialog } = shown(page)
  await dropFiles(page, await caseFile('load-07-torn-tail.jsonl'))
  await expect(tray.locator('.repairs li')).toHaveText([/^Line 18, seq 16The end was torn off\./])
  await expect(dialog).toHaveCount(0)
  await expect(page.locator('.row.user .body').last()).toHaveText('third question')
})

test('[E21] a large file shows how far it is and is given up at once; the next one opens', async ({
  demo,
  page,
}, testInfo) => {
  const id = await demo.open()
  const { tray, said, sessions } = shown(page)
  const path = testInfo.outputPath('large.jsonl')
  await writeFile(path, longLog('large', 40_000))
  await page.locator('#file-chooser').setInputFiles([path, casePath(V0)])
  const bar = tray.getByRole('progressbar', { name: 'Reading large.jsonl' })
  await expect(bar).toBeVisible()
  await expect.poll(() => bar.evaluate(element => (element as HTMLProgressElement).value)).toBeGreaterThan(0)
  await expect(bar).toHaveAttribute('aria-valuetext', /^\d+\.\d of 2\d\.\d MB$/)
  await expect(tray).toContainText(/of 2\d\.\d MB · [\d,]+ events/)
  await expect(tray.locator('li').last()).toContainText(`Waiting: ${V0}`)
  await tray.getByRole('button', { name: 'Cancel large.jsonl' }).click()
  await expect(tray.locator('li')).toHaveText([/^mig-02-prompt-change\.v0\.jsonl is a session now/])
  await expect(sessions).toHaveText(['mig-02-prompt-change.v0'])
  expect(await demo.stored('large')).toEqual([])
  await expect(said).toContainText(V0)
  expect(demo.id).not.toBe(id)
})

test('[E21] whoever goes on writing is not interrupted, by a session or by a refusal', async ({ demo, page }) => {
  const id = await demo.open()
  const { tray, dialog } = shown(page)
  // Files that are held until somebody has written.
  await page.evaluate(holdImports)
  await dropFiles(page, await caseFile(V0), await caseFile(DAMAGED))
  await expect(tray.locator('li')).toHaveCount(2)
  await demo.prompt.pressSequentially('I am still')
  await page.evaluate(() => window.letImportGo())
  await expect(tray.locator('li').first()).toContainText('is a session now.')
  await demo.prompt.pressSequentially(' writing')
  await page.evaluate(() => window.letImportGo())
  await expect(tray.locator('li').last()).toContainText(`${DAMAGED} was not opened.`)
  await expect(dialog).toHaveCount(0)
  await expect(demo.prompt).toBeFocused()
  await expect(demo.prompt).toHaveValue('I am still writing')
  expect(demo.id).toBe(id)
  await tray.getByRole('button', { name: 'Show why' }).click()
  await expect(dialog).toContainText('Line 10, seq 8')
  await dialog.getByRole('button', { name: 'Close' }).click()
  await tray.getByRole('button', { name: `Show ${V0}` }).click()
  await expect(page.locator('.row.user .body').first()).toHaveText('q1')
})

test('[E22] a session that is exported and given back is the same one; its transcript has the answer', async ({
  demo,
  page,
}) => {
  const id = await demo.open()
  await demo.ask('Remember that the tide is high at noon. [fast]')
  const { tray, sessions } = shown(page)
  const events = await demo.stored()
  const log = await exported(page, /^Export log of/)
  expect(log.name).toBe('Remember that the tide is high at noon.jsonl')
  await expect(page.locator('#sessions-said')).toHaveText(`Exported as “${log.name}”.`)
  const lines = log.bytes.toString().trimEnd().split('\n')
  expect(lines).toHaveLength(events.length + 1)
  expect(JSON.parse(lines[0] as string)).toMatchObject({ type: 'session', version: 3, id })

  await demo.startSession()
  await dropFiles(page, log)
  await expect(tray).toContainText('was here already: nothing was added.')
  await expect.poll(() => demo.id).toBe(id)
  await expect(demo.rows).not.toHaveCount(0)
  await expect(sessions.filter({ hasText: 'Remember that' })).toHaveCount(1)

  const transcript = await exported(page, /^Export transcript of/)
  expect(transcript.name).toBe('Remember that the tide is high at noon.md')
  const text = transcript.bytes.toString()
  expect(text).toContain('# Remember that the tide is high at noon.')
  expect(text).toContain('I wrote the note “The tide is high at noon”.')
  expect(text).toContain('write_note')

  // In another browser it is a session of its own, with every event.
  await page.evaluate(id => window.palimpsestDemo.palimpsest.sessions.delete(id), id)
  await demo.open()
  await dropFiles(page, log)
  await expect(tray).toContainText('is a session now.')
  await expect(demo.rows.last()).toContainText('I wrote the note')
  expect(demo.id).toBe(id)
  expect((await demo.stored(id)).slice(0, events.length)).toEqual(events)
})

test('[E22] the file of a deleted session becomes one of its own, and the deleted one stays as it is', async ({
  demo,
  page,
}) => {
  const id = await demo.open()
  await demo.ask('Short lived. [fast]')
  const log = await exported(page, /^Export log of/)
  await demo.remove('Short lived.')
  await expect(page.locator('.undo')).toContainText('Undo')
  await dropFiles(page, log)
  await expect(demo.rows).toHaveCount(3)
  expect(demo.id).not.toBe(id)
  await expect(page.locator('#sessions .session[aria-current]')).toHaveText('Short lived')
  await expect(page.locator('#deleted summary')).toHaveText('Deleted (1)…')
  await page.locator('.undo').getByRole('button', { name: 'Undo' }).click()
  await expect.poll(() => demo.id).toBe(id)
  await expect(demo.rows).toHaveCount(3)
  await expect(page.locator('#sessions .session[title="Short lived."]')).toHaveCount(1)
  await expect(page.locator('#sessions .session[title="Short lived"]')).toHaveCount(1)
})

test('[E22] the name of an exported file is one that every system takes', async ({ demo, page }) => {
  await demo.open()
  await demo.ask('Hello there. [fast]')
  await page.getByRole('button', { name: 'Rename Hello there.' }).click()
  await page.getByRole('textbox', { name: 'New name of Hello there.' }).fill('../a\\b: "c" <d>?\u202e*|.')
  await page.keyboard.press('Enter')
  expect((await exported(page, /^Export log of/)).name).toBe('-a-b- -c- -d- -.jsonl')
})

for (const width of [360, 1440] as const) {
  test(`[E21] files are chosen, refused, repaired and exported with keys alone, ${width} px`, async ({
    demo,
    page,
  }) => {
    await page.setViewportSize({ width, height: 800 })
    await demo.open()
    const { tray, dialog } = shown(page)
    // As long as somebody listens, no dialog of the system comes up.
    page.on('filechooser', () => undefined)
    const toSessions = async () => {
      await page.locator('#transcript').focus()
      await page.keyboard.press('b')
    }
    const choose = async (name: string) => {
      await toSessions()
      const button = page.getByRole('button', { name: 'Import…' })
      await tabTo(page, button, width === 360 ? 'Tab' : 'Shift+Tab')
      const coming = page.waitForEvent('filechooser')
      await page.keyboard.press('Enter')
      const chooser = await coming
      expect(chooser.isMultiple()).toBe(true)
      await chooser.setFiles(casePath(name))
    }
    await choose(DAMAGED)
    await expect(dialog.getByRole('button', { name: 'Close' })).toBeFocused()
    await page.keyboard.press('Enter')
    await expect(dialog).toHaveCount(0)
    // On a small screen the sheet has made room for what becomes of the file.
    const before = width === 360 ? page.locator('#transcript') : page.locator('#import')
    await expect(before).toBeFocused()

    await choose(DAMAGED)
    await tabTo(page, dialog.getByRole('button', { name: 'Open with repairs' }))
    await page.keyboard.press('Enter')
    await expect(tray.locator('.repairs li')).toHaveCount(1)
    await expect(demo.status).toHaveText('Idle · saved')
    await tabTo(page, tray.locator('summary'), width === 360 ? 'Tab' : 'Shift+Tab')
    await page.keyboard.press('Enter')
    await expect(tray.locator('.repairs li')).toBeHidden()
    await page.keyboard.press('Shift+Tab')
    await expect(tray.getByRole('button', { name: `Dismiss ${DAMAGED}` })).toBeFocused()
    await page.keyboard.press('Enter')
    await expect(tray).toHaveCount(0)
    await expect(page.locator('#transcript')).toBeFocused()

    await toSessions()
    await tabTo(page, page.getByRole('button', { name: /^Export transcript of/ }))
    const coming = page.waitForEvent('download')
    await page.keyboard.press('Enter')
    expect((await fileOf(await coming)).bytes.toString()).toContain('answer 1')
    await expect(page.getByRole('button', { name: /^Export transcript of/ })).toBeFocused()
  })

  test(`[E12] files on their way in and out can be read by everybody, ${width} px`, async ({ demo, page }) => {
    await openAt(demo, width)
    const { tray, dialog, drop } = shown(page)
    await demo.ask('Hello there. [fast]')
    await hoverFiles(page, await caseFile(V0))
    await expect(drop).toBeVisible()
    await look(page, 'drop', width)
    await leavePage(page)

    await page.evaluate(holdImports)
    await dropFiles(page, textFile('a long walk along the coast, with notes about the tides.jsonl', longLog('a', 3000)))
    await dropFiles(page, await caseFile('real/tools.jsonl.zstd'))
    await expect(tray).toContainText('Waiting: tools.jsonl.zstd')
    await expect(tray.getByRole('progressbar')).toHaveAttribute('aria-valuetext', /^0\.\d of 1\.\d MB$/)
    await look(page, 'reading', width)
    for (const name of [/^Cancel tools/, /^Cancel a long walk/]) await page.getByRole('button', { name }).click()
    await expect(tray).toHaveCount(0)

    await dropFiles(page, await caseFile(DAMAGED))
    await page.evaluate(() => window.letImportGo())
    await expect(dialog).toBeVisible()
    await look(page, 'refusal', width)
    await dialog.getByRole('button', { name: 'Open with repairs' }).click()
    await page.evaluate(() => window.letImportGo())
    await expect(tray.locator('.repairs')).toBeVisible()
    await expect(demo.status).toHaveText('Idle · saved')
    await look(page, 'repairs', width)
    await openSessions(demo, width)
    await exported(page, /^Export log of/)
    await look(page, 'exported', width)
  })
}

async function openSessions({ page }: Demo, width: number): Promise<void> {
  if (width === 360) await page.getByRole('button', { name: 'Sessions', exact: true }).click()
}

declare global {
  interface Window {
    /** Has the import that is held go on. */
    letImportGo: () => Promise<void>
  }
}

type Importing = (
  source: Blob,
  options: { signal: AbortSignal; onProgress: (progress: { bytes: number; size: number; events: number }) => void },
) => Promise<unknown>

/** Runs in the page: every import waits in the middle of its file until it may go on. */
function holdImports(): void {
  const { sessions } = window.palimpsestDemo.palimpsest as unknown as { sessions: { import: Importing } }
  const original = sessions.import.bind(sessions)
  let release: (() => void) | null = null
  sessions.import = async (source, options) => {
    options.onProgress({ bytes: Math.round(source.size * 0.4), size: source.size, events: 4_200 })
    await new Promise<void>((resolve, reject) => {
      release = resolve
      options.signal.addEventListener('abort', () => reject(new Error('cancelled')))
    })
    return original(source, options)
  }
  window.letImportGo = async () => {
    while (release === null) await new Promise(resolve => setTimeout(resolve, 20))
    release()
    release = null
  }
}
