/** A tool call in the conversation: one quiet line that opens to its arguments and its result. */
import type { ContentBlock, EventOf } from 'palimpsest/core'
import { h, seqHandle } from './dom.ts'
import { longText } from './long-text.ts'

export class ToolCard {
  readonly element: HTMLDetailsElement
  readonly #state: HTMLElement
  readonly #body: HTMLElement
  #startedAt: number | null = null

  constructor(name: string, json: string) {
    this.#state = h('span', { class: 'state' }, 'asked for')
    this.#body = h('div', { class: 'tool-body' }, h('h4', {}, 'Arguments'), code(pretty(json)))
    const summary = h(
      'summary',
      {},
      h('span', { class: 'name' }, name),
      h('span', { class: 'key' }, keyArgument(json)),
      this.#state,
    )
    this.element = h('details', { class: 'tool' }, summary, this.#body)
  }

  /** The call was recorded and its body starts. */
  start({ time }: EventOf<'tool/call'>): void {
    this.#startedAt = time
    this.#state.textContent = 'running…'
  }

  /** Its result. A failing one opens itself. */
  settle(event: EventOf<'tool/result'>): void {
    const [block] = event.data.message.content
    const failed = block.isError === true
    const spent = this.#startedAt === null ? '' : `${duration(event.time - this.#startedAt)} `
    this.#state.replaceChildren(spent, h('b', {}, failed ? '✗ failed' : '✓ done'))
    this.element.classList.toggle('failed', failed)
    this.element.dataset['seq'] = String(event.seq)
    this.element.open ||= failed
    this.#body.append(
      h('h4', {}, failed ? 'Error' : 'Result', ' ', seqHandle(event.seq)),
      code(pretty(contentText(block.content))),
    )
  }
}

const duration = (ms: number): string => (ms < 1_000 ? `${Math.max(0, ms)} ms` : `${(ms / 1_000).toFixed(1)} s`)

/** The text of blocks, for reading. */
export function contentText(content: readonly ContentBlock[]): string {
  return content
    .map(block => {
      switch (block.type) {
        case 'text':
        case 'reasoning':
          return block.text
        case 'tool-call':
          return `→ ${block.name}(${block.arguments})`
        case 'tool-result':
          return `← ${block.isError === true ? 'error: ' : ''}${contentText(block.content)}`
        default:
          return `[${block.type}]`
      }
    })
    .join('\n')
}

/** JSON laid out in lines; other text as it is. */
export function pretty(text: string): string {
  if (text.length > 50_000) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function code(text: string): HTMLElement {
  return h('div', { class: 'code' }, longText(text === '' ? '(nothing)' : text))
}

/** The argument that tells calls apart: the first one that is text. */
function keyArgument(json: string): string {
  try {
    const values: unknown[] = Object.values(JSON.parse(json) as object)
    const value = values.find(each => typeof each === 'string')
    return value === undefined ? '' : `“${value.length > 60 ? `${value.slice(0, 59)}…` : value}”`
  } catch {
    return ''
  }
}
