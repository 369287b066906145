/** Text of any length without a frozen page: long text shows its beginning, and all of it in pieces on demand. */
import { h } from './dom.ts'

const SHOWN_AT_ONCE = 6_000
const BEGINNING = 1_200
const PIECE = 4_000

/** An element with `text`, line breaks kept. */
export function longText(text: string): HTMLElement {
  if (text.length <= SHOWN_AT_ONCE) return h('div', { class: 'text' }, text)
  const box = h('div', { class: 'text' }, `${text.slice(0, cutAt(text, BEGINNING))}…`)
  const showAll = () => {
    const all = h('div', { class: 'text whole', tabindex: '0', role: 'group', 'aria-label': 'Whole text' })
    for (let from = 0; from < text.length; ) {
      const to = cutAt(text, from + PIECE)
      all.append(h('div', { class: 'piece' }, text.slice(from, to)))
      from = to
    }
    box.replaceWith(all)
    button.remove()
    all.focus()
  }
  const button = h(
    'button',
    { type: 'button', onclick: showAll },
    `Show all ${text.length.toLocaleString('en')} characters`,
  )
  return h('div', {}, box, button)
}

/** A place at or shortly before `at` to cut: after a line or word, never inside a character. */
function cutAt(text: string, at: number): number {
  if (at >= text.length) return text.length
  const tail = text.slice(at - 200, at)
  const space = Math.max(tail.lastIndexOf('\n'), tail.lastIndexOf(' '))
  if (space >= 0) return at - 200 + space + 1
  return /[\ud800-\udbff]/.test(text.charAt(at - 1)) ? at - 1 : at
}
