/** How a turn ended, when it did not end well, with what to do next. */
import type { EventOf } from 'palimpsest/core'
import { h, seqHandle } from './dom.ts'
import { endingWords } from './words.ts'

/** What a person can do about a failed turn. */
export type EndingActions = {
  readonly tryAgain: (prompt: string) => void
  /** Has the model read a shortened version of the longest message. */
  readonly shorten: () => void
}

/** A prompt this long is what makes a conversation too long. */
const LONG_PROMPT = 4_000

/** A row for the end of a turn; null when it ended well. */
export function endingRow(
  { seq, data: { reason } }: EventOf<'turn/end'>,
  prompt: string | null,
  { tryAgain, shorten }: EndingActions,
): HTMLElement | null {
  const words = endingWords(reason)
  if (words === null) return null
  const isError = reason.kind === 'error'
  const said = h('p', { class: 'what' }, h('strong', {}, words.what), ' ', words.hint, ' ', seqHandle(seq))
  const element = h('div', { class: `ending ${isError ? 'error' : 'note'}`, 'data-seq': String(seq) }, said)
  if (!isError) return element
  element.append(h('p', { class: 'detail' }, `${reason.error.message} · ${reason.error.code}`))
  if (prompt === null) return element
  const buttons = h('div', { class: 'actions' })
  if (reason.error.code === 'CONTEXT_WINDOW_EXCEEDED' && prompt.length > LONG_PROMPT) {
    const label = 'Let the model read a shortened version'
    buttons.append(h('button', { type: 'button', onclick: shorten }, label))
  }
  buttons.append(h('button', { type: 'button', onclick: () => tryAgain(prompt) }, 'Try again'))
  element.append(buttons)
  return element
}
