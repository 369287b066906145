import { describe, expect, test, vi } from 'vitest'
import { render } from 'vitest-browser-react'
import { LongText } from './long-text.tsx'
import { Visible } from './visible-text.tsx'

const text = 'A line with words, and a number 12345.\r\n'.repeat(130_000)

describe('visible text', () => {
  test('shows what is hidden, with its name', async () => {
    const screen = await render(<Visible text={'invoice\u202efdp.exe'} />)
    await expect.element(screen.getByTitle('U+202E, right-to-left override: a hidden character')).toBeVisible()
    expect(screen.container.textContent).toBe('invoiceU+202Efdp.exe')
  })
})

describe('long text', () => {
  test('is shown as it is when it is short', async () => {
    const screen = await render(<LongText text={'a\n  b <i>\u200b'} kind="code" />)
    expect(screen.container.querySelector('.text')?.textContent).toBe('a\n  b <i>U+200B')
    await expect.element(screen.getByRole('button', { name: 'Copy code' })).toBeVisible()
    expect(screen.getByRole('button').elements()).toHaveLength(1)
  })

  test('of 5 MB opens whole, without a frozen page, and closes again', async () => {
    const tasks: number[] = []
    const observer = new PerformanceObserver(list => tasks.push(...list.getEntries().map(({ duration }) => duration)))
    observer.observe({ type: 'longtask' })
    const screen = await render(<LongText text={text} />)
    expect(screen.container.querySelector('.text')?.textContent).toBe(`${text.slice(0, 4_000)}…`)
    const open = screen.getByRole('button', { name: `Show all ${text.length.toLocaleString('en')} characters` })
    await open.click()
    const whole = screen.getByRole('group', { name: 'Whole text' })
    await expect.element(whole).toHaveFocus()
    await vi.waitFor(() => expect(whole.element().getAttribute('aria-busy')).toBe('false'), 20_000)
    expect(whole.element().textContent === text).toBe(true)
    expect(whole.element().querySelectorAll('.piece').length).toBeGreaterThan(1_000)
    observer.disconnect()
    // Three times the bound of a machine that does nothing else.
    expect(Math.max(0, ...tasks)).toBeLessThan(1_500)
    await screen.getByRole('button', { name: 'Show less' }).click()
    await expect.element(open).toHaveFocus()
    expect(screen.container.querySelectorAll('.piece')).toHaveLength(0)
  }, 40_000)

  test('is copied whole', async () => {
    const write = vi.spyOn(navigator.clipboard, 'writeText').mockResolvedValue()
    const screen = await render(<LongText text={text} />)
    await screen.getByRole('button', { name: 'Copy text' }).click()
    expect(write.mock.calls[0]?.[0] === text).toBe(true)
    await expect.element(screen.getByRole('status')).toHaveTextContent('Copied')
    write.mockRestore()
  })

  test('is cut between characters', async () => {
    const screen = await render(<LongText text={`${'a'.repeat(3_999)}👩‍💻 and more`} />)
    expect(screen.container.querySelector('.text')?.textContent).toBe(`${'a'.repeat(3_999)}…`)
  })
})
