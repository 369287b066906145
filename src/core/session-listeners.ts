/** Who is told of committed events (SPEC L10). */
import type { Committed } from './fold.ts'

export class SessionListeners {
  readonly #listeners: ((committed: Committed) => unknown)[] = []
  readonly #onError: ((error: unknown) => void) | undefined

  /** `onError` is told when a listener throws or rejects. */
  constructor(onError: ((error: unknown) => void) | undefined) {
    this.#onError = onError
  }

  /** Adds a listener; returns its remover. */
  add(listener: (committed: Committed) => unknown): () => void {
    // A call of its own: a listener may be added twice, and each remover removes its own.
    const own = (committed: Committed) => listener(committed)
    this.#listeners.push(own)
    return () => {
      const index = this.#listeners.indexOf(own)
      if (index !== -1) this.#listeners.splice(index, 1)
    }
  }

  /** Tells all of them, in the order they were added. Cannot fail. */
  tell(committed: Committed): void {
    if (this.#listeners.length === 0) return
    for (const listener of [...this.#listeners]) {
      try {
        const result = listener(committed)
        if (isThenable(result)) result.then(undefined, error => this.#report(error))
      } catch (error) {
        this.#report(error)
      }
    }
  }

  /** A listener's failure is its own: it is reported and changes nothing. */
  #report(error: unknown): void {
    try {
      this.#onError?.(error)
    } catch {
      // The reporter failed too; there is nobody left to tell, and the commit must not be undone by it.
    }
  }
}

type Thenable = { then(resolved: undefined, rejected: (error: unknown) => void): unknown }

const isThenable = (value: unknown): value is Thenable =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
