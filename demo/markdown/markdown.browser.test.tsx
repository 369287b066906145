import { flushSync } from 'react-dom'
import { createRoot, type Root } from 'react-dom/client'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { render } from 'vitest-browser-react'
import { expensive, hostile } from './hostile.ts'
import { Markdown } from './markdown.tsx'

const ELEMENTS = new Set(
  'div p h4 h5 h6 ul ol li blockquote pre hr table thead tbody tr th td strong em del code a br sup small input span button'.split(
    ' ',
  ),
)
const ATTRIBUTES = new Set([
  ...[
    'dir',
    'class',
    'href',
    'target',
    'rel',
    'start',
    'style',
    'type',
    'disabled',
    'checked',
    'title',
    'role',
    'tabindex',
  ],
  ...['aria-label', 'aria-busy'],
])

let host: HTMLElement
let root: Root
const complaints = vi.spyOn(console, 'error')

beforeEach(() => {
  complaints.mockClear()
  delete window.__ran
  host = document.createElement('div')
  document.body.append(host)
  root = createRoot(host)
})
afterEach(() => {
  root.unmount()
  host.remove()
  expect(complaints).not.toHaveBeenCalled()
})

declare global {
  interface Window {
    /** Set by whatever in a hostile text manages to run. */
    __ran?: number
  }
}

const show = (text: string, streaming = false) =>
  flushSync(() => root.render(<Markdown text={text} streaming={streaming} />))
const complete = () =>
  vi.waitFor(() => expect(host.querySelector('.markdown[aria-busy="false"]')).not.toBeNull(), 20_000)

function expectHarmless(text: string): void {
  for (const element of host.querySelectorAll('*')) {
    expect(ELEMENTS, text).toContain(element.localName)
    for (const { name, value } of element.attributes) {
      expect(ATTRIBUTES, text).toContain(name)
      if (name === 'style') expect(value, text).toMatch(/^text-align: \w+;$/)
    }
  }
  for (const link of host.querySelectorAll('a')) {
    expect(['http:', 'https:', 'mailto:'], text).toContain(link.protocol)
    expect(link.target).toBe('_blank')
    expect(link.rel).toBe('noopener noreferrer nofollow')
  }
}

describe('an answer', () => {
  test('runs, loads and covers nothing, whatever is in it', async () => {
    for (const text of hostile) {
      show(text)
      expectHarmless(text)
      for (const element of host.querySelectorAll<HTMLElement>('a, input, span, div')) {
        element.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))
        element.focus()
      }
    }
    show(hostile.join('\n\n'))
    await complete()
    expectHarmless('all of it')
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(window.__ran).toBeUndefined()
  })

  test('ends up the same when it comes character by character', () => {
    for (const text of [...hostile, sample]) {
      show(text)
      const whole = host.innerHTML
      show('')
      for (let end = 1; end <= text.length; end++) show(text.slice(0, end), true)
      show(text)
      expect(host.innerHTML, text).toBe(whole)
      show('')
    }
    expect(window.__ran).toBeUndefined()
  }, 60_000)

  test('leaves what has been shown alone while more comes', () => {
    const start = '# Title\n\nA paragraph with *words*.\n\n```js\ncode()\n```\n\n- an item\n- '
    show(start, true)
    const before = [...host.querySelectorAll('.markdown-block')]
    const seen = before.slice(0, -1).flatMap(each => [...each.querySelectorAll('*')])
    const item = host.querySelector('li')
    let changes = 0
    const observer = new MutationObserver(records => {
      changes += records.filter(({ target }) => before.slice(0, -1).some(each => each.contains(target))).length
    })
    observer.observe(host, { subtree: true, childList: true, characterData: true, attributes: true })
    for (const more of ['another', ' item\n\nThe', ' end, **and', ' more**.\n\n| a |\n', '|-|\n| b |']) {
      show(`${host.dataset['text'] ?? start}${more}`, true)
      host.dataset['text'] = `${host.dataset['text'] ?? start}${more}`
    }
    expect([...host.querySelectorAll('.markdown-block')].slice(0, 4)).toEqual(before)
    expect(seen.every(element => element.isConnected)).toBe(true)
    expect(host.querySelector('li')).toBe(item)
    changes += observer
      .takeRecords()
      .filter(({ target }) => before.slice(0, -1).some(each => each.contains(target))).length
    expect(changes).toBe(0)
    expect(host.querySelector('td')?.textContent).toBe('b')
  })

  test('shows a table, tasks, headings and notes so that they can be reached and read out', async () => {
    const screen = await render(<Markdown text={sample} />)
    await expect.element(screen.getByRole('heading', { level: 4 })).toHaveTextContent('Tides')
    await expect.element(screen.getByRole('heading', { level: 5 })).toHaveTextContent('Today')
    await expect.element(screen.getByRole('group', { name: 'Table' })).toHaveAttribute('tabindex', '0')
    await expect.element(screen.getByRole('checkbox', { name: 'Done', exact: true })).toBeDisabled()
    await expect.element(screen.getByRole('checkbox', { name: 'Not done' })).not.toBeChecked()
    await expect.element(screen.getByRole('group', { name: 'Code, ts' })).toHaveAttribute('tabindex', '0')
    await expect.element(screen.getByText('(evil.example)')).toBeVisible()
    await expect.element(screen.getByTitle(/right-to-left override/)).toHaveTextContent('U+202E')
  })

  test('has its code copied as it was written, and says so for a while', async () => {
    const write = vi.spyOn(navigator.clipboard, 'writeText').mockResolvedValue()
    const screen = await render(<Markdown text={'```ts\nconst a = "\u200b" < 1\n\n```'} />)
    await screen.getByRole('button', { name: 'Copy code' }).click()
    expect(write).toHaveBeenCalledWith('const a = "\u200b" < 1\n')
    await expect.element(screen.getByRole('status')).toHaveTextContent('Copied')
    await vi.waitFor(() => expect(screen.getByRole('status').element().textContent).toBe(''), 4_000)
    write.mockRejectedValue(new Error('denied'))
    await screen.getByRole('button', { name: 'Copy code' }).click()
    await expect.element(screen.getByRole('status')).toHaveTextContent('Copying failed')
    write.mockRestore()
  })

  test.each([
    'stars apart',
    'deeper lists',
    'underlines',
    'definitions and links',
    'hidden and not',
    '5 MB',
    '5 MB of code',
  ])(
    'of %s does not freeze the page',
    async name => {
      const tasks: number[] = []
      const observer = new PerformanceObserver(list => tasks.push(...list.getEntries().map(({ duration }) => duration)))
      observer.observe({ type: 'longtask' })
      root.render(<Markdown text={expensive[name] ?? ''} />)
      await complete()
      await new Promise(resolve => setTimeout(resolve, 100))
      observer.disconnect()
      expect(Math.max(0, ...tasks)).toBeLessThan(500 * SLACK)
      expect(host.querySelector('.markdown')?.textContent?.length).toBeGreaterThan(1_000)
    },
    60_000,
  )

  test('that is replaced by another one is shown', async () => {
    show('One\n\nTwo', true)
    show('Three')
    await complete()
    expect(host.textContent).toBe('Three')
    show(`${'word '.repeat(3_000)}\n\nend`)
    await complete()
    expect(host.textContent?.endsWith('end')).toBe(true)
  })
})

/** Machines that run other things beside the tests. */
const SLACK = 2

const sample = `# Tides

### Today

| time | height |
|:-----|-------:|
| 4:10 | 1.2 m |

1. [The *tables*](https://tides.example/a?b=c)
2. https://tides.example and a@b.example
   - nested \`code\`

- [x] read
- [ ] write \u202eabc

> A quote[^1] with ~~no~~ **strong** words\\
> and a line. [ref] and [https://bank.example](https://evil.example).

\`\`\`ts
const tide = 'high' // <b>
\`\`\`

![a chart](https://tides.example/chart.png)

---

[ref]: https://tides.example/ref
[^1]: A note.
`
