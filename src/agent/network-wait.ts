import type { Network } from './network.ts'

/** Waiting for the network outside of turns, with what is queued. */
export class NetworkWait {
  readonly #network: Network
  #stop: (() => void) | null = null

  constructor(network: Network) {
    this.#network = network
  }

  get isWaiting(): boolean {
    return this.#stop !== null
  }

  /** Calls `onOnline` once there is a network, unless it is stopped before. Waiting already, it goes on with that. */
  start(onOnline: () => void): void {
    this.#stop ??= this.#network.onChange(() => {
      if (!this.#network.isOnline()) return
      this.stop()
      onOnline()
    })
  }

  /** True when it did wait. */
  stop(): boolean {
    const stop = this.#stop
    this.#stop = null
    stop?.()
    return stop !== null
  }
}
