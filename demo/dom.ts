/** Making elements. Text is always text: nothing here parses markup. */

type Value = string | boolean | ((event: Event) => void)

/** An element with attributes, listeners (`onclick` …) and children. `false` leaves an attribute out. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, Value>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else if (value !== false) element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...children)
  return element
}

/** The element of the page's skeleton with this id. */
export function byId<Element extends HTMLElement = HTMLElement>(id: string): Element {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`index.html has no #${id}`)
  return element as Element
}

/** The handle of an event: selecting it shows the same event in the other views. */
export function seqHandle(seq: number): HTMLButtonElement {
  return h('button', { type: 'button', class: 'seq', 'aria-label': `Event ${seq}, show it everywhere` }, `#${seq}`)
}

/** `1 note`, `2 notes`. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
