/**
 * The first sessions of a list, more when asked for, read again when they may have changed; entries that did not change
 * keep their reference.
 */
import { Listeners } from '../views/listeners.ts'
import type { SessionsClient, SessionSummary } from './client.ts'

export type SessionListState = {
  /** The first ones; null until they were read for the first time. */
  readonly sessions: readonly SessionSummary[] | null
  /** There are more than these: `showMore` reads some of them. */
  readonly hasMore: boolean
  /** Why the last read failed; null when it did not. What was read before stays. */
  readonly error: unknown
}

export type SessionListActions = {
  /** Reads the list again: other tabs do not tell of their changes. Resolves when it was read; never rejects. */
  readonly refresh: () => Promise<void>
  /** Reads as many again as a list shows at first. */
  readonly showMore: () => void
}

/** Sessions a list shows at first. */
const PAGE = 50

const UNREAD: SessionListState = Object.freeze({ sessions: null, hasMore: false, error: null })

export class SessionList {
  readonly actions: SessionListActions
  readonly #client: SessionsClient
  readonly #deleted: boolean
  readonly #listeners = new Listeners(() => {
    const { refresh } = this.actions
    void refresh()
    return this.#client.sessions.subscribe(() => void refresh())
  })
  #state: SessionListState = UNREAD
  #limit = PAGE
  #reading: Promise<void> | null = null
  #stale = false

  /** `deleted`: of those that can be brought back, instead of all others. */
  constructor(client: SessionsClient, deleted: boolean) {
    this.#client = client
    this.#deleted = deleted
    this.actions = {
      refresh: () => this.#refresh(),
      showMore: () => {
        if (!this.#state.hasMore) return
        this.#limit = (this.#state.sessions?.length ?? 0) + PAGE
        void this.#refresh()
      },
    }
  }

  readonly getSnapshot = (): SessionListState => this.#state
  readonly getServerSnapshot = (): SessionListState => UNREAD

  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener)

  /** Reads the list again: once for any number of calls that come while it is being read. */
  #refresh(): Promise<void> {
    this.#stale = true
    return (this.#reading ??= this.#read())
  }

  async #read(): Promise<void> {
    while (this.#stale) {
      this.#stale = false
      const { sessions: before, hasMore } = this.#state
      try {
        const { sessions, after } = await this.#client.sessions.page({ limit: this.#limit, deleted: this.#deleted })
        this.#set({ sessions: shared(before, sessions), hasMore: after !== null, error: null })
      } catch (error) {
        this.#set({ sessions: before, hasMore, error })
      }
    }
    this.#reading = null
  }

  #set(state: SessionListState): void {
    const { sessions, hasMore, error } = this.#state
    if (state.sessions === sessions && state.hasMore === hasMore && state.error === error) return
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
