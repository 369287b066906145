/** What Node knows of each session, from what it was told before the kills and read after them. */
import { createHash } from 'node:crypto'
import type { SessionEvent } from 'palimpsest/core'
import type { Shown } from './protocol.ts'

/** What was told of one session in one run. */
export class Telling {
  readonly session: string
  /** Digests of events the page was told of, by seq. */
  readonly committed = new Map<number, string>()
  /** Calls whose body had begun. */
  readonly toolCalls: string[] = []
  readonly shown: { readonly at: number; readonly shown: Shown }[] = []
  /** Epoch ms. */
  killedAt = Number.POSITIVE_INFINITY
  #storedLength = 0
  #lengthBefore = 0

  constructor(session: string) {
    this.session = session
  }

  /** Work begins: what was told so far was there before. */
  begin(): void {
    this.#lengthBefore = this.committed.size
  }

  commit(events: readonly SessionEvent[]): void {
    for (const event of events) this.committed.set(event.seq, digestOf(event))
  }

  store(length: number): void {
    this.#storedLength = Math.max(this.#storedLength, length)
  }

  /** Events before this seq are said to be stored. */
  get storedLength(): number {
    return this.#storedLength
  }

  /** How many of the events of this run are said to be stored. */
  get acknowledged(): number {
    return Math.max(0, this.#storedLength - this.#lengthBefore)
  }

  toJSON(): object {
    const { session, storedLength, toolCalls, shown, killedAt } = this
    return { session, storedLength, toolCalls, shown, killedAt, committed: [...this.committed] }
  }
}

/** What stands for good: read after a flush, or seen to be there. */
export class Book {
  readonly #sessions = new Map<string, { digests: readonly string[]; calls: Map<string, number> }>()

  /** Digests of all events of a session as it was last read. */
  digests(session: string): readonly string[] {
    return this.#sessions.get(session)?.digests ?? []
  }

  keep(session: string, events: readonly SessionEvent[]): void {
    this.#of(session).digests = events.map(digestOf)
  }

  /** How often the body of a call has begun, this time included. */
  countCall(session: string, callId: string): number {
    const { calls } = this.#of(session)
    const count = (calls.get(callId) ?? 0) + 1
    calls.set(callId, count)
    return count
  }

  get sessions(): readonly string[] {
    return [...this.#sessions.keys()]
  }

  #of(session: string) {
    let known = this.#sessions.get(session)
    if (known === undefined) this.#sessions.set(session, (known = { digests: [], calls: new Map() }))
    return known
  }
}

/** Of an event's content, whatever the order of its keys. */
export const digestOf = (event: SessionEvent): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(event)))
    .digest('base64')

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  )
}
