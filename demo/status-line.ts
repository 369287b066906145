/** The state of the page in one sentence. */
import type { SessionStatus } from 'palimpsest'
import { errorFacts } from './words.ts'

export type Situation =
  | { readonly kind: 'opening' }
  | { readonly kind: 'open'; readonly status: SessionStatus; readonly isEmpty: boolean }
  | { readonly kind: 'refused' }
  | { readonly kind: 'lost'; readonly error: unknown }

/** How long a write may take before it is worth a word, ms. */
const PATIENCE = 400

export class StatusLine {
  readonly #element: HTMLElement
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(element: HTMLElement) {
    this.#element = element
  }

  show(situation: Situation): void {
    clearTimeout(this.#timer)
    const text = sentence(situation)
    // Saving is quick: words that would only flash are not shown.
    const saves = situation.kind === 'open' && situation.status.storage.state === 'writing'
    if (saves) this.#set(sentence(settled(situation)))
    if (saves) this.#timer = setTimeout(() => this.#set(text), PATIENCE)
    else this.#set(text)
    this.#element.classList.toggle('trouble', isTrouble(situation))
  }

  #set(text: string): void {
    if (this.#element.textContent !== text) this.#element.textContent = text
  }
}

function settled(situation: Situation & { kind: 'open' }): Situation {
  const { status } = situation
  return { ...situation, status: { ...status, storage: { ...status.storage, state: 'idle', unsaved: 0 } } }
}

function isTrouble(situation: Situation): boolean {
  if (situation.kind !== 'open') return situation.kind !== 'opening'
  const { state, lastError } = situation.status.storage
  return lastError !== null || state === 'lost'
}

function sentence(situation: Situation): string {
  switch (situation.kind) {
    case 'opening':
      return 'Opening the session'
    case 'refused':
      return 'Not open'
    case 'lost':
      return `Worker lost: reload to go on. What was saved is safe. (${errorFacts(situation.error).code})`
    case 'open':
      return `${agentWords(situation.status.agent)} · ${storageWords(situation)}`
  }
}

function agentWords(agent: SessionStatus['agent']): string {
  switch (agent.kind) {
    case 'idle':
      return 'Idle'
    case 'thinking':
      return 'Asking the model'
    case 'answering':
      return 'Answering'
    case 'tool':
      return `Running tool ${agent.name}`
  }
}

function storageWords({ status, isEmpty }: Situation & { kind: 'open' }): string {
  const { kind, state, unsaved, lastError } = status.storage
  const words = unsaved === 0 ? (isEmpty ? 'nothing to save yet' : 'saved') : `${unsaved} unsaved`
  if (state === 'lost') return `${words}: another tab writes this session now. Reload to follow it.`
  if (lastError !== null) return `storage trouble, ${words}: ${lastError.message}`
  return kind === 'memory' ? `${words}, in memory only` : words
}
