/** The answer that is arriving, as text that only grows. */
import type { AssistantStreamFrame } from 'palimpsest'
import type { StreamChunk } from 'palimpsest/core'
import { h } from './dom.ts'
import { reasoning, row } from './message-row.ts'

type Part = { readonly element: HTMLElement; readonly text: Text; readonly name: HTMLElement | null }

export class LiveAnswer {
  readonly messageId: string
  readonly element: HTMLElement
  readonly #body: HTMLElement
  readonly #parts = new Map<number, Part>()

  constructor({ messageId }: AssistantStreamFrame & { kind: 'start' }) {
    this.messageId = messageId
    this.element = row('agent live', 'Agent', null)
    this.element.setAttribute('aria-busy', 'true')
    this.#body = this.element.lastElementChild as HTMLElement
    this.element.hidden = true
  }

  push(chunk: StreamChunk): void {
    switch (chunk.type) {
      case 'text-delta':
        this.#part(chunk.index, 'text').text.appendData(chunk.text)
        return
      case 'reasoning-delta':
        this.#part(chunk.index, 'reasoning').text.appendData(chunk.text)
        return
      case 'tool-call-delta': {
        const { name, text } = this.#part(chunk.index, 'tool-call')
        if (chunk.name !== undefined && name !== null) name.textContent = chunk.name
        text.appendData(chunk.argumentsDelta)
      }
    }
  }

  /** True when the reader has the reasoning open: it stays so in the finished row. */
  get showsReasoning(): boolean {
    return this.#body.querySelector('details.reasoning[open]') !== null
  }

  #part(index: number, kind: 'text' | 'reasoning' | 'tool-call'): Part {
    const known = this.#parts.get(index)
    if (known !== undefined) return known
    const text = document.createTextNode('')
    const part = { text, ...partElement(kind, text) }
    this.#parts.set(index, part)
    this.#body.append(part.element)
    this.element.hidden = false
    return part
  }
}

function partElement(kind: 'text' | 'reasoning' | 'tool-call', text: Text): Omit<Part, 'text'> {
  if (kind === 'text') return { element: h('div', { class: 'text' }, text), name: null }
  if (kind === 'reasoning') return { element: reasoning(h('div', { class: 'text' }, text)), name: null }
  const name = h('span', { class: 'name' }, '…')
  const state = h('span', { class: 'state' }, 'being asked for…')
  const summary = h('summary', {}, name, h('span', { class: 'key' }), state)
  return {
    element: h('details', { class: 'tool' }, summary, h('div', { class: 'code' }, h('div', { class: 'text' }, text))),
    name,
  }
}
