/** Which session is on the page. Leaving one closes it, so that another tab can have it, once its answer is there. */
import type { ClientSession, Palimpsest } from 'palimpsest'

export type DeskState =
  | { readonly kind: 'opening'; readonly id: string }
  | { readonly kind: 'open'; readonly id: string; readonly session: ClientSession }
  | { readonly kind: 'refused'; readonly id: string; readonly error: unknown }

export class Desk {
  readonly #palimpsest: Palimpsest
  readonly #onState: (state: DeskState) => void
  readonly #leaving = new Map<string, Promise<void>>()
  #state: DeskState | null = null

  constructor(palimpsest: Palimpsest, onState: (state: DeskState) => void) {
    this.#palimpsest = palimpsest
    this.#onState = onState
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
    try {
      await this.#leaving.get(id)
      const session = await this.#palimpsest.sessions.open(id)
      if (this.#state === opening) this.#set({ kind: 'open', id, session })
      else if (this.id !== id) this.#leaveWhenIdle(session)
    } catch (error) {
      if (this.#state === opening) this.#set({ kind: 'refused', id, error })
    }
  }

  #set(state: DeskState): void {
    this.#state = state
    this.#onState(state)
  }

  #leaveWhenIdle(session: ClientSession): void {
    const isWanted = () => this.id === session.id
    const leave = () => {
      if (isWanted() || this.#leaving.has(session.id)) return
      const left = session
        .close()
        .catch(() => undefined) // deleted, or the worker is gone: nothing is left to close
        .finally(() => this.#leaving.delete(session.id))
      this.#leaving.set(session.id, left)
    }
    if (session.status.agent.kind === 'idle') return leave()
    const unsubscribe = session.subscribe(update => {
      const isIdle = update.kind === 'status' && update.status.agent.kind === 'idle'
      if (!isIdle && !isWanted()) return
      unsubscribe()
      leave()
    })
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
