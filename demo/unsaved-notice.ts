/** Says which sessions that were left could not be saved, for as long as that is so. */
import type { UnsavedSession } from './desk.ts'
import { byId, h } from './dom.ts'
import { unsavedWords } from './words.ts'

export type UnsavedNoticeActions = {
  readonly titleOf: (id: string) => string
  readonly open: (id: string) => void
}

export class UnsavedNotice {
  readonly #place: HTMLElement = h('div', { role: 'status', id: 'unsaved' })
  readonly #actions: UnsavedNoticeActions

  constructor(actions: UnsavedNoticeActions) {
    this.#actions = actions
    byId('composer').prepend(this.#place)
  }

  show(sessions: readonly UnsavedSession[]): void {
    this.#place.replaceChildren(...sessions.map(session => this.#item(session)))
  }

  #item({ id, error, isKept }: UnsavedSession): HTMLElement {
    const words = unsavedWords(this.#actions.titleOf(id), error, isKept)
    const open = h('button', { type: 'button', onclick: () => this.#actions.open(id) }, 'Open it')
    return h('div', { class: 'notice' }, words, ' ', open)
  }
}
