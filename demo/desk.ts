/** Which session is on the page. Leaving one closes it, so that another tab can have it, once its answer is there. */
import type { ClientSession, Palimpsest } from 'palimpsest'
import { errorFacts } from './words.ts'

export type DeskState =
  | { readonly kind: 'opening'; readonly id: string }
  | { readonly kind: 'open'; readonly id: string; readonly session: ClientSession }
  | { readonly kind: 'refused'; readonly id: string; readonly error: unknown }

/** A session that was left and could not be saved. */
export type UnsavedSession = {
  readonly id: string
  readonly error: unknown
  /** The worker still has it open, with everything in it; otherwise another tab has taken it over. */
  readonly isKept: boolean
}

export type DeskListeners = {
  readonly state: (state: DeskState) => void
  /** The sessions that were left and are not saved, whenever they change. */
  readonly unsaved: (sessions: readonly UnsavedSession[]) => void
}

/** Nothing is left to close: the session was deleted, or the worker is gone. */
const GONE: ReadonlySet<string> = new Set(['closed', 'lost', 'unresponsive', 'start-failed', 'start-timeout'])
/** Another tab writes the session. */
const TAKEN: ReadonlySet<string> = new Set(['stale-epoch', 'seq-conflict', 'exists'])

export class Desk {
  readonly #palimpsest: Palimpsest
  readonly #listeners: DeskListeners
  readonly #leaving = new Map<string, Promise<void>>()
  readonly #unsaved = new Map<string, UnsavedSession & { readonly session: ClientSession }>()
  #state: DeskState | null = null

  constructor(palimpsest: Palimpsest, listeners: DeskListeners) {
    this.#palimpsest = palimpsest
    this.#listeners = listeners
  }

  /** Id of the session that is open, being opened or refused. */
  get id(): string | null {
    return this.#state?.id ?? null
  }

  get session(): ClientSession | null {
    return this.#state?.kind === 'open' ? this.#state.session : null
  }

  /** Puts a session on the page. Of several calls the last one counts. */
  async open(id: string): Promise<void> {
    const before = this.session
    if (before?.id === id) return
    const opening: DeskState = { kind: 'opening', id }
    this.#set(opening)
    if (before !== null) this.#leaveWhenIdle(before)
    this.leaveAgain()
    try {
      await this.#leaving.get(id)
      const session = await this.#palimpsest.sessions.open(id)
      if (this.#state === opening) this.#take(session)
      else if (this.id !== id) this.#leaveWhenIdle(session)
    } catch (error) {
      if (this.#state === opening) this.#set({ kind: 'refused', id, error })
    }
  }

  #set(state: DeskState): void {
    this.#state = state
    this.#listeners.state(state)
  }

  #take(session: ClientSession): void {
    this.#set({ kind: 'open', id: session.id, session })
    if (!this.#unsaved.has(session.id)) return
    this.#setUnsaved(session.id, null)
    session.flush().catch(() => undefined) // the status line says what is wrong
  }

  /** Tries again to save and close what could not be saved when it was left. */
  leaveAgain(): void {
    for (const { session, isKept } of this.#unsaved.values()) if (isKept) this.#leave(session)
  }

  /** The worker is gone, and what was only in its memory with it. */
  lost(): void {
    for (const id of [...this.#unsaved.keys()]) this.#setUnsaved(id, null)
  }

  #setUnsaved(id: string, left: (UnsavedSession & { readonly session: ClientSession }) | null): void {
    if (left === null && !this.#unsaved.has(id)) return
    if (left === null) this.#unsaved.delete(id)
    else this.#unsaved.set(id, left)
    this.#listeners.unsaved([...this.#unsaved.values()])
  }

  #leaveWhenIdle(session: ClientSession): void {
    if (session.status.agent.kind === 'idle') return this.#leave(session)
    const unsubscribe = session.subscribe(update => {
      const isIdle = update.kind === 'status' && update.status.agent.kind === 'idle'
      if (!isIdle && this.id !== session.id) return
      unsubscribe()
      this.#leave(session)
    })
  }

  #leave(session: ClientSession): void {
    const { id } = session
    if (this.id === id || this.#leaving.has(id)) return
    const left = session
      .close()
      .then(
        () => this.#setUnsaved(id, null),
        (error: unknown) => {
          const { code } = errorFacts(error)
          this.#setUnsaved(id, GONE.has(code) ? null : { id, error, isKept: !TAKEN.has(code), session })
        },
      )
      .finally(() => this.#leaving.delete(id))
    this.#leaving.set(id, left)
  }
}

const HASH = /^#session=(.+)$/

/** Id of the session the address names; null when it names none. */
export function addressedSession(): string | null {
  const [, id] = HASH.exec(location.hash) ?? []
  try {
    return id === undefined ? null : decodeURIComponent(id)
  } catch {
    return null
  }
}

/** Leads to a session; the page follows its address. */
export function goTo(id: string): void {
  location.hash = `session=${encodeURIComponent(id)}`
}
