/** The list of sessions, read again when it may have changed; entries that did not change keep their reference. */
import { Listeners } from '../views/listeners.ts'
import type { SessionsClient, SessionSummary } from './client.ts'

export type SessionListState = {
  /** Last changed first; null until it was read for the first time. */
  readonly sessions: readonly SessionSummary[] | null
  /** Why the last read failed; null when it did not. What was read before stays. */
  readonly error: unknown
}

const UNREAD: SessionListState = Object.freeze({ sessions: null, error: null })

export class SessionList {
  readonly #client: SessionsClient
  readonly #listeners = new Listeners(() => {
    this.refresh()
    return this.#client.sessions.subscribe(this.refresh)
  })
  #state: SessionListState = UNREAD
  #reading = false
  #stale = false

  constructor(client: SessionsClient) {
    this.#client = client
  }

  readonly getSnapshot = (): SessionListState => this.#state
  readonly getServerSnapshot = (): SessionListState => UNREAD

  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener)

  /** Reads the list again: once for any number of calls that come while it is being read. */
  readonly refresh = (): void => {
    this.#stale = true
    if (!this.#reading) void this.#read()
  }

  async #read(): Promise<void> {
    this.#reading = true
    while (this.#stale) {
      this.#stale = false
      try {
        this.#set({ sessions: shared(this.#state.sessions, await this.#client.sessions.list()), error: null })
      } catch (error) {
        this.#set({ sessions: this.#state.sessions, error })
      }
    }
    this.#reading = false
  }

  #set(state: SessionListState): void {
    if (state.sessions === this.#state.sessions && state.error === this.#state.error) return
    this.#state = state
    this.#listeners.tell()
  }
}

/** `next` with the entries of `before` that say the same; `before` itself when all do. */
function shared(before: readonly SessionSummary[] | null, next: readonly SessionSummary[]): readonly SessionSummary[] {
  if (before === null) return next
  const known = new Map(before.map(each => [each.id, each]))
  const merged = next.map(each => {
    const old = known.get(each.id)
    return old !== undefined && JSON.stringify(old) === JSON.stringify(each) ? old : each
  })
  return merged.length === before.length && merged.every((each, index) => each === before[index]) ? before : merged
}
