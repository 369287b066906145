/** The log: every event that was recorded, in order, each opening to its JSON. */
import { isReplaceSurfaceEvent, type SessionEvent } from 'palimpsest/core'
import { counted, h, seqHandle } from './dom.ts'
import type { Follow } from './follow.ts'
import { longText } from './long-text.ts'

/** Rows at the end that are there from the start, and rows each click adds. */
const PAGE = 200

export class LogPanel {
  readonly #list: HTMLElement
  readonly #sum: HTMLElement
  readonly #follow: Follow
  readonly #earlier: HTMLButtonElement
  readonly #events: SessionEvent[] = []
  /** Position of the first event that has a row. */
  #first = 0
  /** Rows wanted at the end; grows when a reader asks for earlier ones. */
  #wanted = PAGE

  constructor(list: HTMLElement, sum: HTMLElement, follow: Follow) {
    this.#list = list
    this.#sum = sum
    this.#follow = follow
    this.#earlier = h('button', { type: 'button', onclick: () => this.#showEarlier() })
    this.reset(false)
  }

  /** Empties the view, for another session or none. */
  reset(isOpen: boolean): void {
    this.#events.length = 0
    this.#first = 0
    this.#wanted = PAGE
    this.#list.replaceChildren(this.#earlier)
    this.#follow.toEnd()
    this.#update()
    if (!isOpen) this.#sum.textContent = ''
  }

  /** Adds what was committed. */
  commit(events: readonly SessionEvent[]): void {
    this.#events.push(...events)
    const skipped = Math.max(0, events.length - this.#wanted)
    this.#list.append(...events.slice(skipped).map(eventRow))
    while (this.#list.childElementCount - 1 > this.#wanted) this.#list.children[1]?.remove()
    this.#first = this.#events.length - (this.#list.childElementCount - 1)
    this.#update()
    this.#follow.keep()
  }

  #showEarlier(): void {
    const from = Math.max(0, this.#first - PAGE)
    this.#earlier.after(...this.#events.slice(from, this.#first).map(eventRow))
    this.#wanted += this.#first - from
    this.#first = from
    this.#update()
  }

  #update(): void {
    this.#earlier.hidden = this.#first === 0
    this.#earlier.textContent = `Show earlier (${counted(this.#first, 'more event')})`
    const count = this.#events.length
    this.#sum.textContent =
      count === 0 ? 'What is recorded: nothing yet' : `What is recorded: ${counted(count, 'event')}`
  }
}

function eventRow(event: SessionEvent): HTMLElement {
  const summary = h('summary', {}, h('span', { class: 'type' }, event.type))
  if (isReplaceSurfaceEvent(event)) {
    const { startSeq, endSeq } = event.surfaceOp
    summary.append(
      h('span', { class: 'replaces' }, `stands for #${startSeq}${startSeq === endSeq ? '' : `…#${endSeq}`}`),
    )
  }
  summary.append(h('time', { datetime: new Date(event.time).toISOString() }, clock(event.time)))
  const details = h('details', {}, summary)
  const showJson = () => details.append(h('div', { class: 'code' }, longText(JSON.stringify(event, null, 2))))
  details.addEventListener('toggle', showJson, { once: true })
  return h('div', { class: 'event', 'data-seq': String(event.seq) }, seqHandle(event.seq), details)
}

function clock(time: number): string {
  const date = new Date(time)
  const two = (value: number) => String(value).padStart(2, '0')
  const ms = String(date.getMilliseconds()).padStart(3, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`
}
