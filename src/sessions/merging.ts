/** Merges the segments of a session while nothing else is to do (SPEC W14). */
import { StorageError } from '../storage/storage.ts'
import type { WriteBehindStatus } from '../storage/write-behind.ts'

/** How long nothing must have been written, ms, and how many writes there must have been since the last time. */
const IDLE_MS = 1_000
const LEAST_WRITES = 8

export class Merging {
  readonly #merge: () => Promise<boolean>
  #writes = 0
  #timer: ReturnType<typeof setTimeout> | null = null
  #stopped = false

  /** `merge` merges some segments, and answers whether there is more to do. */
  constructor(merge: () => Promise<boolean>) {
    this.#merge = merge
  }

  /** Told of each change of the writer's state. */
  look(state: WriteBehindStatus['state']): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (state === 'writing') this.#writes += 1
    if (state !== 'idle' || this.#stopped || this.#writes < LEAST_WRITES) return
    this.#timer = setTimeout(() => void this.#run(), IDLE_MS)
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    this.#timer = null
    this.#writes = 0
    try {
      while (!this.#stopped && (await this.#merge()));
    } catch (error) {
      // Segments are as good as pages: the next time may do, and what is really wrong the writer finds out.
      if (!(error instanceof StorageError)) throw error
    }
  }
}
