/** The events of a session that are in memory: all of them, or those on the surface and the tail (SPEC K2). */
import type { SessionEvent } from './events.ts'
import { SessionSeq } from './ids.ts'

export class ResidentLog {
  /** Seq of the first event of the tail; 0 when the whole log is resident. */
  readonly base: number
  readonly #early: Map<SessionSeq, SessionEvent>
  readonly #tail: SessionEvent[] = []

  /** `early`: events before `base` that are on the surface. */
  constructor(base = 0, early: readonly SessionEvent[] = []) {
    this.base = base
    this.#early = new Map(early.map(event => [event.seq, event]))
  }

  /** Number of events of the log, resident or not. */
  get length(): number {
    return this.base + this.#tail.length
  }

  /** The event at `seq` when it is resident. Bound, so that it can be handed on. */
  readonly at = (seq: number): SessionEvent | undefined =>
    seq >= this.base ? this.#tail[seq - this.base] : this.#early.get(SessionSeq(seq))

  push(event: SessionEvent): void {
    this.#tail.push(event)
  }

  /** Lets go of events that left the surface and are not of the tail. */
  release(seqs: readonly SessionSeq[]): void {
    if (this.#early.size > 0) for (const seq of seqs) this.#early.delete(seq)
  }

  /** Events `from` (inclusive) to `to` (exclusive), all of the tail. */
  slice(from: number, to: number): SessionEvent[] {
    return this.#tail.slice(from - this.base, Math.max(0, to - this.base))
  }
}
