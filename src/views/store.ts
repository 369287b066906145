/** A value that changes and is watched: what `useSyncExternalStore` asks for, and no more. */

export type ViewStore<State> = {
  /** The state as it is; the same reference until something changes. */
  getSnapshot(): State
  /** The state of a page that is rendered on a server: nothing is known yet. */
  getServerSnapshot(): State
  /** Calls `listener` after each change; returns its remover. The view follows its session while anybody listens. */
  subscribe(listener: () => void): () => void
}

/** The listeners of one store. */
export class Listeners {
  readonly #listeners = new Set<{ readonly call: () => void }>()
  readonly #start: () => () => void
  #stop: (() => void) | null = null

  /** `start` is called with the first listener; what it returns, with the last one gone. */
  constructor(start: () => () => void) {
    this.#start = start
  }

  /** Adds a listener and returns its remover. A function may be added twice; each remover removes its own. */
  readonly add = (listener: () => void): (() => void) => {
    const own = { call: listener }
    this.#listeners.add(own)
    this.#stop ??= this.#start()
    return () => {
      if (!this.#listeners.delete(own) || this.#listeners.size > 0) return
      this.#stop?.()
      this.#stop = null
    }
  }

  /** Tells all listeners. A failure is the listener's own: it surfaces as an uncaught error and stops nobody. */
  tell(): void {
    for (const each of [...this.#listeners]) {
      if (!this.#listeners.has(each)) continue
      try {
        each.call()
      } catch (error) {
        setTimeout(() => {
          throw error
        })
      }
    }
  }
}
