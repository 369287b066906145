/**
 * Which sessions a page has open, and why: a session is open while somebody holds it. It is closed after the last one
 * lets go, once its answer is there, so that another tab can have it (SPEC X2).
 */
import { Listeners } from '../views/listeners.ts'
import type { SessionUpdate } from '../views/source.ts'
import { codeOf, type ClientSession, type SessionsClient } from './client.ts'

/** A session as a component gets it. */
export type SessionState =
  | { readonly state: 'opening'; readonly id: string; readonly session: null; readonly error: null }
  | { readonly state: 'open'; readonly id: string; readonly session: ClientSession; readonly error: null }
  /** It could not be opened: `in-use` by another tab, a damaged log … `retry` tries again. */
  | { readonly state: 'refused'; readonly id: string; readonly session: null; readonly error: unknown }
  /** It was open and is not any more: deleted, or its worker is gone. What was read of it stays readable. */
  | { readonly state: 'ended'; readonly id: string; readonly session: ClientSession; readonly error: unknown }

/** A session that was left and could not be stored. */
export type UnsavedSession = {
  readonly id: string
  readonly error: unknown
  /** The worker still has it open with everything in it; otherwise another tab has taken it over, or the worker is gone. */
  readonly isKept: boolean
}

type Hold = {
  state: SessionState
  readonly listeners: Set<() => void>
}

/** Nothing is left to close: the session was deleted, or the worker is gone. */
const GONE: ReadonlySet<string> = new Set(['closed', 'lost', 'unresponsive', 'start-failed', 'start-timeout'])
/** Another tab writes the session. */
const TAKEN: ReadonlySet<string> = new Set(['stale-epoch', 'seq-conflict', 'exists'])

const NONE: readonly UnsavedSession[] = Object.freeze([])

export class SessionHolds {
  readonly #client: SessionsClient
  readonly #holds = new Map<string, Hold>()
  readonly #opening = new Map<string, SessionState>()
  readonly #leaving = new Map<string, Promise<void>>()
  readonly #unsaved = new Map<string, UnsavedSession & { readonly session: ClientSession }>()
  readonly #unsavedListeners = new Listeners()
  #unsavedList: readonly UnsavedSession[] = NONE

  constructor(client: SessionsClient) {
    this.#client = client
  }

  /** The state of session `id`; `opening` while nobody holds it. The same object until it changes. */
  get(id: string): SessionState {
    return this.#holds.get(id)?.state ?? this.#openingState(id)
  }

  /** Holds session `id` and calls `listener` when its state changes; returns what lets go. */
  hold(id: string, listener: () => void): () => void {
    let hold = this.#holds.get(id)
    if (hold === undefined) {
      hold = { state: this.#openingState(id), listeners: new Set() }
      this.#holds.set(id, hold)
      void this.#open(hold)
    }
    // A call of its own: two holders may pass the same listener.
    const own = () => listener()
    const held = hold
    held.listeners.add(own)
    return () => {
      if (!held.listeners.delete(own) || held.listeners.size > 0) return
      // Not at once: a component that is only mounted again (Strict Mode, a changed parent) takes it up right away.
      setTimeout(() => {
        if (held.listeners.size === 0) this.#letGo(held)
      })
    }
  }

  /** Tries again to open a session that was refused or has ended. */
  retry(id: string): void {
    const hold = this.#holds.get(id)
    if (hold === undefined || hold.state.state === 'opening' || hold.state.state === 'open') return
    this.#set(hold, this.#openingState(id))
    void this.#open(hold)
  }

  /** Sessions that were left and are not stored. The same list until it changes. */
  get unsaved(): readonly UnsavedSession[] {
    return this.#unsavedList
  }

  readonly subscribeUnsaved = (listener: () => void): (() => void) => this.#unsavedListeners.add(listener)

  /** Tries again to store and close what could not be stored when it was left. */
  leaveAgain(): void {
    for (const { session, isKept } of [...this.#unsaved.values()]) if (isKept) this.#leave(session)
  }

  async #open(hold: Hold): Promise<void> {
    const { id } = hold.state
    try {
      this.leaveAgain()
      await this.#leaving.get(id)
      const session = await this.#client.sessions.open(id)
      if (hold.listeners.size === 0 && this.#holds.get(id) !== hold) return void this.#leaveWhenIdle(session)
      session.subscribe(update => {
        const isCurrent = hold.state.session === session
        if (update.kind === 'ended' && isCurrent) this.#set(hold, { state: 'ended', id, session, error: update.error })
      })
      this.#set(hold, { state: 'open', id, session, error: null })
      if (!this.#unsaved.has(id)) return
      this.#setUnsaved(id, null)
      session.flush().catch(() => undefined) // the session's status says what is wrong
    } catch (error) {
      this.#set(hold, { state: 'refused', id, session: null, error })
    }
  }

  #letGo(hold: Hold): void {
    const { id, state, session } = hold.state
    if (this.#holds.get(id) !== hold) return
    this.#holds.delete(id)
    this.#opening.delete(id)
    if (state === 'open') void this.#leaveWhenIdle(session)
  }

  /** An answer that is on its way, or was just asked for, comes to its end first. */
  async #leaveWhenIdle(session: ClientSession): Promise<void> {
    await session.asked?.catch(() => undefined)
    if (session.status.agent.kind === 'idle') return this.#leave(session)
    const unsubscribe = session.subscribe(update => {
      const isIdle = update.kind === 'status' && update.status.agent.kind === 'idle'
      if (!isIdle && update.kind !== 'ended' && !this.#holds.has(session.id)) return
      unsubscribe()
      if (isIdle) this.#leave(session)
    })
  }

  #leave(session: ClientSession): void {
    const { id } = session
    if (this.#holds.has(id) || this.#leaving.has(id)) return
    const left = session
      .close()
      .then(
        () => this.#setUnsaved(id, null),
        (error: unknown) => {
          const code = codeOf(error)
          if (GONE.has(code)) return this.#setUnsaved(id, null)
          if (!this.#unsaved.has(id)) session.subscribe(update => this.#endUnsaved(session, update))
          this.#setUnsaved(id, { id, error, isKept: !TAKEN.has(code), session })
        },
      )
      .finally(() => this.#leaving.delete(id))
    this.#leaving.set(id, left)
  }

  /** It was deleted, or what was not stored is gone with its worker. */
  #endUnsaved(session: ClientSession, update: SessionUpdate): void {
    const unsaved = this.#unsaved.get(session.id)
    if (update.kind !== 'ended' || unsaved?.session !== session) return
    const { error } = update
    this.#setUnsaved(session.id, error.code === 'closed' ? null : { ...unsaved, error, isKept: false })
  }

  #setUnsaved(id: string, left: (UnsavedSession & { readonly session: ClientSession }) | null): void {
    if (left === null && !this.#unsaved.has(id)) return
    if (left === null) this.#unsaved.delete(id)
    else this.#unsaved.set(id, left)
    this.#unsavedList = [...this.#unsaved.values()].map(({ id: own, error, isKept }) => ({ id: own, error, isKept }))
    this.#unsavedListeners.tell()
  }

  #set(hold: Hold, state: SessionState): void {
    hold.state = state
    for (const listener of [...hold.listeners]) listener()
  }

  #openingState(id: string): SessionState {
    let state = this.#opening.get(id)
    if (state === undefined) {
      state = { state: 'opening', id, session: null, error: null }
      this.#opening.set(id, state)
    }
    return state
  }
}
