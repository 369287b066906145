/** Where a person writes. A draft leaves the field only when its prompt was taken. */
import { wellFormedText } from 'palimpsest/core'
import { byId, h } from './dom.ts'
import { keepDraft, readDraft } from './drafts.ts'
import { errorFacts, refusalWords } from './words.ts'

export type ComposerActions = {
  /** Resolves once the prompt is taken. */
  readonly send: (text: string) => Promise<void>
  readonly stop: () => void
}

export class Composer {
  readonly #field: HTMLTextAreaElement = byId<HTMLTextAreaElement>('prompt')
  readonly #send: HTMLButtonElement = byId<HTMLButtonElement>('send')
  readonly #stop: HTMLButtonElement = byId<HTMLButtonElement>('stop')
  readonly #notice: HTMLElement = byId('notice')
  readonly #actions: ComposerActions
  #sessionId: string | null = null
  #sending = false
  #keeping: ReturnType<typeof setTimeout> | undefined

  constructor(actions: ComposerActions) {
    this.#actions = actions
    byId('composer').addEventListener('submit', event => {
      event.preventDefault()
      void this.#submit()
    })
    this.#field.addEventListener('keydown', event => {
      if (event.key === 'Escape' && !this.#stop.disabled) actions.stop()
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      void this.#submit()
    })
    this.#field.addEventListener('input', () => {
      this.say(null)
      clearTimeout(this.#keeping)
      this.#keeping = setTimeout(() => this.#keep(), 200)
    })
    this.#stop.addEventListener('click', () => actions.stop())
    addEventListener('pagehide', () => this.#keep())
  }

  /** Takes up the draft of another session. */
  show(sessionId: string): void {
    this.#keep()
    this.#sessionId = sessionId
    this.#field.value = readDraft(sessionId)
    this.say(null)
  }

  /** What can be done now. */
  allow(sending: boolean, stopping: boolean): void {
    this.#send.disabled = !sending
    if (!stopping && document.activeElement === this.#stop) this.#field.focus()
    this.#stop.disabled = !stopping
  }

  /** Puts a text in, for a person to look at and send. */
  offer(text: string): void {
    this.#field.value = text
    this.#keep()
    this.focus()
  }

  focus(): void {
    this.#field.focus()
  }

  async #submit(): Promise<void> {
    const [id, text] = [this.#sessionId, this.#field.value]
    if (this.#sending || id === null) return
    this.#sending = true
    this.#keep()
    try {
      await this.#actions.send(text)
      if (readDraft(id) === text) keepDraft(id, '')
      if (this.#sessionId === id && this.#field.value === text) this.#field.value = ''
      if (this.#sessionId === id) this.#keep()
      this.say(null)
    } catch (error) {
      if (this.#sessionId === id) this.refuse(text, error)
    } finally {
      this.#sending = false
    }
  }

  /** Says why a prompt was not taken. */
  refuse(text: string, error: unknown): void {
    if (errorFacts(error).code !== 'malformed-prompt') return this.say(refusalWords(error))
    const replace = () => {
      this.offer(wellFormedText(text))
      this.say('The broken characters are � now. Look it over, then send it.')
    }
    this.say(refusalWords(error), h('button', { type: 'button', onclick: replace }, 'Replace them with �'))
  }

  /** Says something above the field; null takes it away. */
  say(words: string | null, ...actions: readonly Node[]): void {
    this.#notice.hidden = words === null
    this.#notice.replaceChildren(words ?? '', ...(actions.length > 0 ? [' ', ...actions] : []))
  }

  #keep(): void {
    clearTimeout(this.#keeping)
    if (this.#sessionId !== null) keepDraft(this.#sessionId, this.#field.value)
  }
}
