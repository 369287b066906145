/** Merges the segments of a session while nothing else is to do (SPEC W14). */
import { StorageError } from '../storage/storage.ts'

/** How long nothing must have been written, ms, and how many writes there must have been since the last time. */
const IDLE_MS = 1_000
const LEAST_WRITES = 8

export class Merging {
  readonly #merge: () => Promise<boolean>
  #writes = 0
  /** How many writes there were when the timer was set. */
  #seen = 0
  #timer: ReturnType<typeof setTimeout> | null = null
  #stopped = false

  /** `merge` merges some segments, and answers whether there is more to do. */
  constructor(merge: () => Promise<boolean>) {
    this.#merge = merge
  }

  /** A write begins. One timer for any number of them: it looks whether others came when it is due. */
  wrote(): void {
    this.#writes += 1
    if (this.#timer === null && this.#writes >= LEAST_WRITES && !this.#stopped) this.#wait()
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #wait(): void {
    this.#seen = this.#writes
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (this.#writes > this.#seen) this.#wait()
      else void this.#run()
    }, IDLE_MS)
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    this.#writes = 0
    try {
      while (!this.#stopped && (await this.#merge()));
    } catch (error) {
      // Segments are as good as pages: the next time may do, and what is really wrong the writer finds out.
      if (!(error instanceof StorageError)) throw error
    }
  }
}
