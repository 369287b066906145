/** The list of sessions: open, start, delete. */
import type { SessionSummary } from 'palimpsest'
import { wellFormedText } from 'palimpsest/core'
import { byId, counted, h } from './dom.ts'
import { newId } from './new-id.ts'
import { errorFacts } from './words.ts'

const MAX_TITLE = 40

export type SessionsActions = {
  readonly list: () => Promise<readonly SessionSummary[]>
  readonly open: (id: string) => void
  readonly remove: (id: string) => Promise<void>
}

export class SessionsPanel {
  readonly #list: HTMLElement = byId('sessions')
  readonly #actions: SessionsActions
  #current: string | null = null
  #known: readonly SessionSummary[] = []
  #drawn = ''
  #latest = 0

  constructor(actions: SessionsActions) {
    this.#actions = actions
    byId('new-session').addEventListener('click', () => actions.open(newId()))
  }

  /** Marks the session that is on the page. */
  mark(id: string): void {
    this.#current = id
    this.refresh()
  }

  /** Title of a session, as far as it was listed. */
  titleOf(id: string): string {
    const known = this.#known.find(each => each.id === id)
    return known === undefined ? 'Untitled' : titleOf(known)
  }

  /** Reads the list again. */
  refresh(): void {
    const turn = (this.#latest += 1)
    this.#actions.list().then(
      sessions => {
        if (turn === this.#latest) this.#render(sessions)
      },
      () => undefined, // the worker is gone, and the status line says so
    )
  }

  #render(sessions: readonly SessionSummary[]): void {
    this.#known = sessions
    const current = sessions.find(each => each.id === this.#current)
    const title = current === undefined ? 'New session' : titleOf(current)
    byId('conversation-title').textContent = title
    document.title = `${title} · Palimpsest`
    const drawn = JSON.stringify([
      this.#current,
      sessions.map(({ id, title, eventCount }) => [id, title, eventCount > 0]),
    ])
    if (drawn === this.#drawn) return
    this.#drawn = drawn
    const focused = this.#list.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset['key']
      : null
    this.#list.replaceChildren(...sessions.map(session => this.#item(session)))
    if (sessions.length === 0) this.#list.append(h('li', { class: 'about' }, 'None yet.'))
    for (const button of this.#list.querySelectorAll('button')) if (button.dataset['key'] === focused) button.focus()
  }

  #item(session: SessionSummary): HTMLElement {
    const { id } = session
    const title = titleOf(session)
    const isCurrent = id === this.#current
    const open = h(
      'button',
      { type: 'button', class: 'session', title, 'data-key': `open ${id}`, onclick: () => this.#actions.open(id) },
      title,
    )
    if (isCurrent) open.setAttribute('aria-current', 'true')
    if (session.eventCount === 0) return h('li', {}, open)
    const remove = () => void this.#remove(session)
    const label = `Delete ${title}`
    return h(
      'li',
      {},
      open,
      h(
        'button',
        { type: 'button', class: 'quiet', 'aria-label': label, 'data-key': `delete ${id}`, onclick: remove },
        'Delete',
      ),
    )
  }

  async #remove(session: SessionSummary): Promise<void> {
    const said = byId('sessions-said')
    try {
      const { eventCount } = (await this.#actions.list()).find(each => each.id === session.id) ?? session
      const text = `Delete “${titleOf(session)}”? Its ${counted(eventCount, 'event')} will be gone for good.`
      if (!(await confirmed(text))) return
      await this.#actions.remove(session.id)
      said.textContent = ''
    } catch (error) {
      const { code, message } = errorFacts(error)
      said.textContent = code === 'in-use' ? 'Not deleted: it is open in another tab.' : `Not deleted: ${message}`
    }
    this.refresh()
  }
}

/** A title made of the first words of a prompt. */
export function titleFrom(prompt: string): string {
  const words = prompt
    .slice(0, 400)
    .replace(/\[[a-z:-]+\]/g, ' ')
    .split(/\s+/)
    .filter(Boolean)
  let title = (words[0] ?? 'Untitled').slice(0, MAX_TITLE)
  const rest = words.slice(1).find(word => {
    if (title.length + word.length >= MAX_TITLE) return true
    title += ` ${word}`
    return false
  })
  return wellFormedText(rest === undefined ? title : `${title}…`)
}

const titleOf = ({ title, eventCount }: SessionSummary): string =>
  title ?? (eventCount === 0 ? 'New session' : 'Untitled')

function confirmed(text: string): Promise<boolean> {
  const dialog = byId<HTMLDialogElement>('confirm')
  byId('confirm-text').textContent = text
  dialog.returnValue = 'keep'
  dialog.showModal()
  return new Promise(resolve => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'delete'), { once: true })
  })
}
