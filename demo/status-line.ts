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
  /** Runs from the moment a write is under way, however often the situation changes meanwhile. */
  #timer: ReturnType<typeof setTimeout> | undefined
  #isSlow = false
  #situation: Situation = { kind: 'opening' }

  constructor(element: HTMLElement) {
    this.#element = element
  }

  show(situation: Situation): void {
    this.#situation = situation
    if (isSaving(situation)) {
      this.#timer ??= setTimeout(() => {
        this.#isSlow = true
        this.#draw()
      }, PATIENCE)
    } else {
      clearTimeout(this.#timer)
      this.#timer = undefined
      this.#isSlow = false
    }
    this.#draw()
    this.#element.classList.toggle('trouble', isTrouble(situation))
  }

  #draw(): void {
    // Saving is quick: words that would only flash are not shown.
    const isBrief = isSaving(this.#situation) && !this.#isSlow
    const text = sentence(this.#situation, isBrief)
    if (this.#element.textContent !== text) this.#element.textContent = text
  }
}

/** A write is under way, and none has failed before it. */
function isSaving(situation: Situation): boolean {
  if (situation.kind !== 'open') return false
  const { state, lastError } = situation.status.storage
  return state === 'writing' && lastError === null
}

function isTrouble(situation: Situation): boolean {
  if (situation.kind !== 'open') return situation.kind !== 'opening'
  const { state, lastError } = situation.status.storage
  return lastError !== null || state === 'lost'
}

/** `isBrief` leaves out what is said about the storage. */
function sentence(situation: Situation, isBrief: boolean): string {
  switch (situation.kind) {
    case 'opening':
      return 'Opening the session'
    case 'refused':
      return 'Not open'
    case 'lost':
      return `Worker lost: reload to go on. What was saved is safe. (${errorFacts(situation.error).code})`
    case 'open':
      return [agentWords(situation.status.agent), ...(isBrief ? [] : [storageWords(situation)])].join(' · ')
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

/** Says "saved" only when that is true: nothing is unsaved and nothing is being written. */
function storageWords({ status, isEmpty }: Situation & { kind: 'open' }): string {
  const { kind, state, unsaved, lastError } = status.storage
  const count = unsaved === 0 ? [] : [`${unsaved} unsaved`]
  if (state === 'lost') return [...count, 'another tab writes this session now. Reload to follow it.'].join(': ')
  if (lastError !== null) return `${['storage trouble', ...count].join(', ')}: ${lastError.message}`
  if (state !== 'idle' || unsaved > 0) return ['saving', ...count].join(', ')
  const words = isEmpty ? 'nothing to save yet' : 'saved'
  return kind === 'memory' ? `${words}, in memory only` : words
}
