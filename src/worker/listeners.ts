/** Listeners of one kind of news, each on its own. */
export class Listeners<News> {
  readonly #all = new Set<(news: News) => void>()

  /** Adds a listener; returns its remover. A listener added twice is told once. */
  add(listener: (news: News) => void): () => void {
    this.#all.add(listener)
    return () => {
      this.#all.delete(listener)
    }
  }

  /** Tells every listener. A listener's failure is its own: it surfaces as an uncaught error and stops nothing. */
  tell(news: News): void {
    for (const listener of [...this.#all]) {
      try {
        listener(news)
      } catch (error) {
        setTimeout(() => {
          throw error
        })
      }
    }
  }

  clear(): void {
    this.#all.clear()
  }
}
