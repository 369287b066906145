/** The surface: exactly the messages of the next request, each with the seq of its event. */
import type { ClientSession, SurfaceNode } from 'palimpsest'
import type { Message } from 'palimpsest/core'
import { counted, h, seqHandle } from './dom.ts'
import type { Follow } from './follow.ts'
import { longText } from './long-text.ts'
import { contentText } from './tool-card.ts'

const PREVIEW = 140

export class SurfacePanel {
  readonly #list: HTMLElement
  readonly #sum: HTMLElement
  readonly #follow: Follow
  #session: ClientSession | null = null
  #generation = -1
  #shown = 0
  #reading = false
  #stale = false

  constructor(list: HTMLElement, sum: HTMLElement, follow: Follow) {
    this.#list = list
    this.#sum = sum
    this.#follow = follow
  }

  /** Shows another session, or none. */
  show(session: ClientSession | null): void {
    this.#session = session
    this.#generation = -1
    this.#shown = 0
    this.#list.replaceChildren()
    this.#sum.textContent = ''
    this.refresh()
  }

  /** Reads the surface again, once for any number of changes that come meanwhile. */
  refresh(): void {
    this.#stale = true
    if (!this.#reading) void this.#read()
  }

  async #read(): Promise<void> {
    this.#reading = true
    while (this.#stale) {
      this.#stale = false
      const session = this.#session
      if (session === null) break
      try {
        const { contentGeneration } = session.surface
        const nodes = await session.readSurface()
        if (session === this.#session) this.#render(nodes, contentGeneration)
      } catch {
        break // the session or the worker is gone, and the status line says so
      }
    }
    this.#reading = false
  }

  /** Appends what is new; rewritten content means all of it. */
  #render(nodes: readonly SurfaceNode[], generation: number): void {
    if (generation !== this.#generation || nodes.length < this.#shown) {
      this.#list.replaceChildren()
      this.#shown = 0
    }
    this.#generation = generation
    this.#list.append(...nodes.slice(this.#shown).map(nodeRow))
    this.#shown = nodes.length
    const messages = nodes.filter(node => node.message !== null)
    const tokens = messages.reduce((sum, { message }) => sum + estimate(message as Message), 0)
    this.#sum.textContent =
      nodes.length === 0
        ? 'What the model reads next: nothing yet'
        : `What the model reads next: ${counted(messages.length, 'message')}, about ${counted(tokens, 'token')}`
    this.#follow.keep()
  }
}

function nodeRow({ seq, message }: SurfaceNode): HTMLElement {
  const attributes = { class: 'node', 'data-seq': String(seq) }
  if (message === null) {
    return h('div', { ...attributes, class: 'node none' }, seqHandle(seq), h('span', {}, 'contributes nothing'))
  }
  const text = contentText(message.content)
  const role = h('span', { class: 'role' }, roleOf(message))
  const size = h('span', { class: 'size' }, `≈${estimate(message).toLocaleString('en')}`)
  const preview = h('span', { class: 'preview' }, text.length > PREVIEW ? `${text.slice(0, PREVIEW)}…` : text)
  const summary = h('summary', {}, role, preview, size)
  const details = h('details', {}, summary)
  details.addEventListener('toggle', () => details.append(h('div', { class: 'code' }, longText(text))), { once: true })
  return h('div', attributes, seqHandle(seq), details)
}

function roleOf({ role, source }: Message): string {
  if (source.kind === 'tool') return 'tool'
  if (role === 'user' && source.kind !== 'user') return source.kind
  return role
}

/** By the rule of thumb of four characters a token. */
const estimate = ({ content }: Message): number => Math.ceil(contentText(content).length / 4)
