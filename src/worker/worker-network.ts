/** The network, as a worker knows it: from its own realm, or from a page that hears of it sooner. */
import type { Network } from '../agent/network.ts'

export class WorkerNetwork implements Network {
  readonly #listeners = new Set<() => void>()
  #isOnline: boolean

  constructor() {
    const { onLine } = (globalThis.navigator ?? {}) as Partial<Navigator>
    this.#isOnline = onLine !== false
    if (typeof globalThis.addEventListener !== 'function') return
    globalThis.addEventListener('online', () => this.told(true))
    globalThis.addEventListener('offline', () => this.told(false))
  }

  readonly isOnline = (): boolean => this.#isOnline

  readonly onChange = (listener: () => void): (() => void) => {
    const own = () => listener()
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
    }
  }

  /** Somebody says how it is. */
  told(isOnline: boolean): void {
    if (isOnline === this.#isOnline) return
    this.#isOnline = isOnline
    for (const listener of [...this.#listeners]) listener()
  }
}
