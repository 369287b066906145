/** The main path with the keys alone. There is no call of the mouse in this file, and the focus is never lost. */
import type { Page } from '@playwright/test'
import { type Demo, expect, test } from './demo.ts'

/** Notes moments in which nothing has the focus, from now on. */
const watchFocus = (page: Page) =>
  page.evaluateHandle(() => {
    const lost: string[] = []
    let before = ''
    let misses = 0
    setInterval(() => {
      const active = document.activeElement
      misses = active === null || active === document.body ? misses + 1 : 0
      if (misses === 0)
        before = `${active?.tagName} ${active?.id} ${active?.className} ${active?.textContent.slice(0, 40)}`
      // The browser itself takes a moment to move it.
      if (misses === 4) lost.push(`after ${before}`)
    }, 30)
    return { lost }
  })

/** Presses a key and says where the focus is then. */
async function press(demo: Demo, key: string, focused: string): Promise<void> {
  await demo.page.keyboard.press(key)
  await expect(demo.page.locator(focused)).toBeFocused()
}

/** Goes on with Tab until something has the focus. */
async function tabTo(demo: Demo, focused: string, key = 'Tab'): Promise<void> {
  const target = demo.page.locator(focused)
  for (let step = 0; step < 40; step += 1) {
    if (await target.evaluateAll(all => all.includes(document.activeElement as HTMLElement))) return
    await demo.page.keyboard.press(key)
  }
  await expect(target).toBeFocused()
}

async function write(demo: Demo, text: string): Promise<void> {
  await expect(demo.prompt).toBeFocused()
  await demo.page.keyboard.insertText(text)
  await press(demo, 'Enter', '#prompt')
  await expect(demo.prompt).toHaveValue('')
}

test('[E20] write, send, stop, read, select and find in the log, with keys alone', async ({ demo, page }) => {
  await page.setViewportSize({ width: 1440, height: 900 })
  await demo.open()
  await expect(demo.prompt).toBeFocused()
  const focus = await watchFocus(page)

  await write(demo, 'Remember that the tide is high at noon. [fast]')
  await demo.ended(1)
  await expect(demo.prompt).toBeFocused()
  await write(demo, 'Tell me about the sea. [slow]')
  await expect(demo.live).toHaveText(/\S/)
  await write(demo, 'One that waits. [fast]')
  await expect(page.locator('section.queue')).toContainText('One that waits.')
  await press(demo, 'Escape', '#prompt')
  await demo.ended(2)
  await expect(page.locator('.ending', { hasText: 'You stopped this turn.' })).toBeVisible()
  // The queue, with keys: change it, remove it.
  await tabTo(demo, 'section.queue button:text-is("Edit")', 'Shift+Tab')
  await press(demo, 'Enter', 'section.queue input')
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText('Changed. [fast]')
  await page.keyboard.press('Enter')
  await expect(page.locator('section.queue .preview')).toHaveText('Changed. [fast]')
  await tabTo(demo, 'section.queue button:text-is("Remove")', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await expect(page.locator('section.queue')).toHaveCount(0)
  await expect(demo.prompt).toBeFocused()
  // The last prompt comes back into an empty field.
  await press(demo, 'ArrowUp', '#prompt')
  await expect(demo.prompt).toHaveValue('Tell me about the sea. [slow]')
  await demo.prompt.fill('')

  // Through the messages, from the field on.
  await tabTo(demo, '#transcript :focus, #transcript', 'Shift+Tab')
  const rows = page.locator('#rows [data-row]')
  const last = (await rows.count()) - 1
  await page.keyboard.press('k')
  await page.keyboard.press('j')
  await expect(rows.nth(last)).toBeFocused()
  for (let at = last - 1; at >= 0; at -= 1) {
    await page.keyboard.press('k')
    await expect(rows.nth(at)).toBeFocused()
  }
  await page.keyboard.press('k')
  await expect(rows.first()).toBeFocused()
  await press(demo, 'o', '.row.system')
  await expect(page.locator('.row.system details')).toHaveAttribute('open', '')
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await press(demo, 'j', '.tool-row')

  // A tool, folded and open.
  await press(demo, 's', '.tool-row')
  await expect(page.locator('.tool-row')).toHaveAttribute('data-lit', 'selected')
  await press(demo, 's', '.tool-row')
  await expect(page.locator('[data-lit]')).toHaveCount(0)
  await press(demo, 'o', '.tool-row')
  await expect(page.locator('.tool')).toContainText('"title": "The tide is high at noon"')
  await press(demo, 'o', '.tool-row')
  await expect(page.locator('.tool')).not.toHaveAttribute('open')
  await page.keyboard.press('o')

  // From a message to its log entry.
  await page.keyboard.press('k')
  await press(demo, 'k', '.row.user >> nth=0')
  await press(demo, 's', '.row.user >> nth=0')
  await expect(page.locator('.row.user').first()).toHaveAttribute('data-lit', 'selected')
  await page.keyboard.press('g')
  await press(demo, 'l', '#log [data-lit="selected"] summary')
  await page.keyboard.press('Enter')
  await expect(page.locator('#log [data-lit="selected"] .code')).toContainText('"user/message"')

  // The inspector goes and comes back; its views.
  await page.keyboard.press('i')
  await expect(page.locator('#inspector')).toHaveCount(0)
  await expect(page.locator('#transcript')).toBeFocused()
  await page.keyboard.press('2')
  await expect(page.locator('#tab-log')).toHaveAttribute('aria-selected', 'true')
  await page.keyboard.press('1')
  await expect(page.locator('#tab-surface')).toHaveAttribute('aria-selected', 'true')
  await press(demo, 'Escape', '#transcript')
  await expect(page.locator('[data-lit]')).toHaveCount(0)
  await press(demo, '/', '#prompt')
  await expect(demo.prompt).toHaveValue('')
  expect((await focus.jsonValue()).lost).toEqual([])
})

test('[E20] sessions, the provider and the help, with keys alone', async ({ demo, page }) => {
  await page.setViewportSize({ width: 1440, height: 900 })
  const first = await demo.open()
  const focus = await watchFocus(page)
  await write(demo, 'Hello there. [fast]')
  await demo.ended(1)
  const current = '#sessions [aria-current]'

  await tabTo(demo, '#transcript :focus, #transcript', 'Shift+Tab')
  await press(demo, 'b', current)
  await press(demo, 'F2', '.rename input')
  await page.keyboard.insertText('Given up')
  await press(demo, 'Escape', current)
  await expect(page.locator(current)).toHaveText('Hello there.')
  await press(demo, 'F2', '.rename input')
  await page.keyboard.insertText('Greetings')
  await press(demo, 'Enter', current)
  await expect(page.locator(current)).toHaveText('Greetings')
  await expect(page).toHaveTitle('Greetings · Palimpsest')

  // A new one, and back.
  await press(demo, 'n', '#prompt')
  await expect(page.getByText('One log, three readings of it.')).toBeVisible()
  await expect(demo.status).toHaveText(/^Idle · /)
  expect(demo.id).not.toBe(first)
  await tabTo(demo, '#transcript', 'Shift+Tab')
  await press(demo, 'b', current)
  await tabTo(demo, '.session[title="Greetings"]')
  await press(demo, 'Enter', '#prompt')
  expect(demo.id).toBe(first)
  await expect(demo.rows).toHaveCount(3)

  // Delete and take it back: the way back has the focus.
  await tabTo(demo, '#transcript :focus, #transcript', 'Shift+Tab')
  await press(demo, 'b', current)
  await press(demo, 'Delete', '.undo button')
  await expect(page.locator('#sessions')).not.toContainText('Greetings')
  await press(demo, 'Enter', '#prompt')
  await expect(page.locator('.undo')).toBeEmpty()
  expect(demo.id).toBe(first)
  await expect(page.locator(current)).toHaveText('Greetings')
  await expect(demo.rows).toHaveCount(3)

  // Dialogs give the focus back.
  await tabTo(demo, '#transcript :focus, #transcript', 'Shift+Tab')
  await page.keyboard.press('k')
  const row = page.locator('#rows [data-row]:focus')
  await expect(row).toHaveCount(1)
  await press(demo, ',', '#provider :focus')
  await page.keyboard.press('?') // keys of the page are not those of a dialog
  await expect(page.locator('#help')).toBeHidden()
  await page.keyboard.press('Escape')
  await expect(page.locator('#provider')).toBeHidden()
  await expect(row).toHaveCount(1)
  await press(demo, '?', '#help button')
  await expect(page.locator('#help')).toContainText('next and previous message')
  await page.keyboard.press('Escape')
  await expect(page.locator('#help')).toBeHidden()
  await expect(row).toHaveCount(1)
  expect((await focus.jsonValue()).lost).toEqual([])
})

test('[E20] what is pressed and goes away hands the focus on', async ({ demo, page }) => {
  await page.setViewportSize({ width: 1440, height: 900 })
  await demo.open()
  const focus = await watchFocus(page)
  await tabTo(demo, '.examples button >> nth=0', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await demo.ended(1)
  await expect(page.locator('#transcript, #prompt').and(page.locator(':focus'))).toHaveCount(1)
  await page.keyboard.press('/')
  await write(demo, 'Fail. [fast] [fail:overflow]')
  await demo.ended(2)
  const before = demo.id
  await tabTo(demo, '.ending.error button:text-is("Try again")', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await expect.poll(() => demo.id).not.toBe(before)
  await demo.ended(2)
  await expect(demo.prompt).toBeFocused()
  expect((await focus.jsonValue()).lost).toEqual([])
})

test('[E20] on a small screen the sheets take the focus and give it back', async ({ demo, page }) => {
  await page.setViewportSize({ width: 360, height: 740 })
  await demo.open()
  await tabTo(demo, '#prompt')
  const focus = await watchFocus(page)
  await write(demo, 'Hello there. [fast]')
  await demo.ended(1)
  await tabTo(demo, '#transcript :focus, #transcript', 'Shift+Tab')
  await page.keyboard.press('k')
  const row = page.locator('#rows [data-row]:focus')
  await expect(row).toHaveCount(1)
  for (const [key, sheet] of [
    ['b', '#side'],
    ['i', '#inspector'],
  ] as const) {
    await press(demo, key, sheet)
    await expect(page.locator(sheet)).toHaveAttribute('aria-modal', 'true')
    for (let step = 0; step < 3; step += 1) {
      await page.keyboard.press('Tab')
      await expect(page.locator(`${sheet} :focus`)).toHaveCount(1)
    }
    await page.keyboard.press('Escape')
    await expect(page.locator(sheet)).toBeHidden()
    await expect(row).toHaveCount(1)
  }
  // To the log entry: the sheet opens on it.
  await page.keyboard.press('s')
  await page.keyboard.press('g')
  await press(demo, 'l', '#log [data-lit="selected"] summary')
  await page.keyboard.press('Escape')
  await expect(row).toHaveCount(1)
  // A session that is deleted in its sheet.
  await press(demo, 'b', '#side')
  await tabTo(demo, '#sessions [aria-current]')
  await press(demo, 'Delete', '.undo button')
  await page.keyboard.press('Enter')
  await expect(demo.rows).toHaveCount(3)
  await expect(page.locator('.undo')).toBeEmpty()
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).not.toBe('BODY')
  expect((await focus.jsonValue()).lost).toEqual([])
})
