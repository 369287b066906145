/** The events of a session that are in memory: all of them, or those on the surface and the tail (SPEC K2, K5). */
import type { SessionEvent } from './events.ts'
import { SessionSeq } from './ids.ts'
import { isSurfaceEventType } from './vocabulary.ts'

export class ResidentLog {
  #base: number
  readonly #early: Map<SessionSeq, SessionEvent>
  readonly #tail: SessionEvent[] = []
  /** Events of the tail that left the surface. */
  readonly #shadowed = new Set<SessionSeq>()

  /** `early`: events before `base` that are on the surface. */
  constructor(base = 0, early: readonly SessionEvent[] = []) {
    this.#base = base
    this.#early = new Map(early.map(event => [event.seq, event]))
  }

  /** Seq of the first event of the tail; 0 when the whole log is resident. */
  get base(): number {
    return this.#base
  }

  /** Number of events of the log, resident or not. */
  get length(): number {
    return this.#base + this.#tail.length
  }

  /** The event at `seq` when it is resident. Bound, so that it can be handed on. */
  readonly at = (seq: number): SessionEvent | undefined =>
    seq >= this.#base ? this.#tail[seq - this.#base] : this.#early.get(SessionSeq(seq))

  push(event: SessionEvent): void {
    this.#tail.push(event)
  }

  /** Takes note of events that left the surface; those before the tail are let go of. */
  shadow(seqs: readonly SessionSeq[]): void {
    for (const seq of seqs) if (!this.#early.delete(seq)) this.#shadowed.add(seq)
  }

  /** Lets the tail begin at `base`, unless it does later on: of what was before that, only the surface stays. */
  evict(base: number): void {
    const evicted = this.#tail.splice(0, base - this.#base)
    this.#base += evicted.length
    for (const event of evicted) {
      const { type, seq } = event
      if (isSurfaceEventType(type) && !this.#shadowed.delete(seq)) this.#early.set(seq, event)
    }
  }

  /** Events `from` (inclusive) to `to` (exclusive), all of the tail. */
  slice(from: number, to: number): SessionEvent[] {
    return this.#tail.slice(from - this.#base, Math.max(0, to - this.#base))
  }
}
