/** Listeners of one kind of news, each on its own. */
export class Listeners<News = void> {
  readonly #all = new Set<{ readonly call: (news: News) => void }>()
  readonly #start: (() => () => void) | undefined
  #stop: (() => void) | undefined

  /** `start` is called with the first listener; what it returns, with the last one gone. */
  constructor(start?: () => () => void) {
    this.#start = start
  }

  /** Adds a listener and returns its remover. A function may be added twice; each remover removes its own. */
  readonly add = (listener: (news: News) => void): (() => void) => {
    const own = { call: listener }
    this.#all.add(own)
    this.#stop ??= this.#start?.()
    return () => {
      if (!this.#all.delete(own) || this.#all.size > 0) return
      this.#stop?.()
      this.#stop = undefined
    }
  }

  /** Tells all listeners. A failure is the listener's own: it surfaces as an uncaught error and stops nobody. */
  tell(news: News): void {
    for (const each of [...this.#all]) {
      if (!this.#all.has(each)) continue
      try {
        each.call(news)
      } catch (error) {
        setTimeout(() => {
          throw error
        })
      }
    }
  }
}
