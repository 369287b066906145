/** The middle of the page: shows the session on the desk in its three readings. */
import type { ClientSession } from 'palimpsest'
import type { SessionEvent } from 'palimpsest/core'
import type { DeskState } from './desk.ts'
import { byId, h } from './dom.ts'
import { emptyState } from './empty-state.ts'
import { follow } from './feed.ts'
import { Follow } from './follow.ts'
import { LogPanel } from './log-panel.ts'
import { spokenText } from './message-row.ts'
import { StatusLine } from './status-line.ts'
import { SurfacePanel } from './surface-panel.ts'
import { Transcript } from './transcript.ts'
import { openFailureWords } from './words.ts'

export type ConversationActions = {
  readonly send: (text: string) => void
  readonly shorten: () => void
  readonly retryOpen: (id: string) => void
  /** Whether a prompt can be sent, and a turn stopped. */
  readonly allow: (sending: boolean, stopping: boolean) => void
  readonly turnEnded: () => void
}

/** Longest answer that is read out whole. */
const SPOKEN = 2_000

export class Conversation {
  readonly #actions: ConversationActions
  readonly #status: StatusLine = new StatusLine(byId('status'))
  readonly #transcript: Transcript
  readonly #surface: SurfacePanel = new SurfacePanel(byId('surface'), byId('surface-sum'), new Follow(byId('surface')))
  readonly #log: LogPanel = new LogPanel(byId('log'), byId('log-sum'), new Follow(byId('log')))
  #session: ClientSession | null = null
  #unfollow: () => void = () => {}
  #isEmpty = false
  #lost: unknown = null

  constructor(actions: ConversationActions) {
    this.#actions = actions
    const view = new Follow(byId('transcript'), byId<HTMLButtonElement>('jump'))
    const { send, shorten } = actions
    this.#transcript = new Transcript(byId('rows'), byId('live'), view, { tryAgain: send, shorten })
  }

  show(state: DeskState): void {
    if (this.#lost !== null) return
    this.#unfollow()
    this.#session = state.kind === 'open' ? state.session : null
    this.#log.reset(this.#session !== null)
    this.#surface.show(this.#session)
    this.#transcript.reset(...this.#opening(state))
    if (state.kind === 'open') this.#follow(state.session)
    else this.#status.show({ kind: state.kind })
    if (state.kind !== 'open') this.#actions.allow(false, false)
  }

  /** The worker is gone: what is shown stays, nothing can be sent. */
  lost(error: unknown): void {
    this.#lost = error
    this.#status.show({ kind: 'lost', error })
    this.#actions.allow(false, false)
    byId('reload').hidden = false
  }

  #opening(state: DeskState): Node[] {
    if (state.kind === 'refused') return [this.#refusal(state)]
    this.#isEmpty = state.kind === 'open' && state.session.length === 0
    return this.#isEmpty ? [emptyState(this.#actions.send)] : []
  }

  #follow(session: ClientSession): void {
    const onStatus = () => {
      const { status, length } = session
      this.#status.show({ kind: 'open', status, isEmpty: length === 0 })
      const isIdle = status.agent.kind === 'idle'
      this.#actions.allow(isIdle, !isIdle)
    }
    this.#unfollow = follow(
      session,
      {
        committed: (events, isHistory) => this.#committed(events, isHistory),
        frames: frames => this.#transcript.stream(frames),
        status: () => {
          if (this.#lost === null) onStatus()
        },
      },
      error => this.#transcript.reset(this.#refusal({ kind: 'refused', id: session.id, error })),
    )
  }

  #committed(events: readonly SessionEvent[], isHistory: boolean): void {
    if (this.#isEmpty) this.#transcript.reset()
    this.#isEmpty = false
    this.#transcript.commit(events, isHistory)
    this.#log.commit(events)
    this.#surface.refresh()
    if (isHistory) return
    const answer = events.findLast(event => event.type === 'assistant/message')
    if (answer !== undefined) this.#announce(spokenText(answer.data.message))
    if (events.some(event => event.type === 'turn/end')) this.#actions.turnEnded()
  }

  #announce(text: string): void {
    if (text.trim() === '') return
    byId('announcer').textContent = text.length > SPOKEN ? `${text.slice(0, SPOKEN)}…` : text
  }

  #refusal({ id, error }: DeskState & { kind: 'refused' }): HTMLElement {
    const { what, hint } = openFailureWords(error)
    const retry = () => this.#actions.retryOpen(id)
    return h(
      'div',
      { class: 'ending error' },
      h('p', { class: 'what' }, h('strong', {}, what), ' ', hint),
      h('div', { class: 'actions' }, h('button', { type: 'button', onclick: retry }, 'Try again')),
    )
  }
}
