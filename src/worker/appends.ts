/**
 * Appends of a page to one session: those of one job travel as one command, and each is told its event once the page has
 * applied it (SPEC B5).
 */
import type { PalimpsestError } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import { decodeError } from './errors.ts'
import type { Link } from './link.ts'
import type { AppendText } from './protocol.ts'

type Append = {
  readonly text: AppendText
  readonly resolve: (event: SessionEvent) => void
  readonly reject: (error: PalimpsestError) => void
}

/** How much text goes with one command, UTF-16 units: between two of them the worker does other things. */
const COMMAND_LENGTH = 1_000_000

export class Appends {
  readonly #id: string
  readonly #link: Link
  readonly #whenApplied: (seq: number) => Promise<void>
  #waiting: Append[] = []
  #waitingLength = 0
  /** Commands that are not answered yet. */
  #unanswered = 0
  /** What the page has applied since the first of them was sent: their events may be among it. */
  readonly #events = new Map<number, SessionEvent>()
  /** Appends that were answered before the page has applied their events, by seq. */
  readonly #due = new Map<number, Append>()

  /** `whenApplied` resolves once the page has applied the event at a seq, and rejects when it never will. */
  constructor(id: string, link: Link, whenApplied: (seq: number) => Promise<void>) {
    this.#id = id
    this.#link = link
    this.#whenApplied = whenApplied
  }

  /** Resolves with the event that was committed. */
  add(text: AppendText): Promise<SessionEvent> {
    return new Promise((resolve, reject) => {
      const length = text.data.length + (text.intent?.length ?? 0)
      if (this.#waitingLength + length > COMMAND_LENGTH) void this.#send()
      if (this.#waiting.length === 0) this.#link.sendSoon(this.#send)
      this.#waiting.push({ text, resolve, reject })
      this.#waitingLength += length
    })
  }

  /** The page has applied `event`. */
  applied(event: SessionEvent): void {
    const { seq } = event
    this.#due.get(seq)?.resolve(event)
    if (!this.#due.delete(seq) && this.#unanswered > 0) this.#events.set(seq, event)
  }

  /** Sends what waits; never rejects. */
  readonly #send = async (): Promise<void> => {
    const appends = this.#waiting
    if (appends.length === 0) return
    this.#waiting = []
    this.#waitingLength = 0
    this.#unanswered += 1
    try {
      const texts = appends.map(({ text }) => text)
      const answer = this.#link.call(commands => commands.append(this.#id, texts))
      const outcomes = await answer.finally(() => (this.#unanswered -= 1))
      let last = -1
      for (const [index, outcome] of outcomes.entries()) {
        const append = appends[index] as Append
        if (typeof outcome === 'number') {
          last = outcome
          const event = this.#events.get(last)
          if (event) append.resolve(event)
          else this.#due.set(last, append)
        } else append.reject(decodeError(outcome))
      }
      // Commands are answered in their order: none asks for an event up to `last` any more.
      for (const seq of this.#events.keys()) if (seq <= last || this.#unanswered === 0) this.#events.delete(seq)
      await this.#whenApplied(last)
    } catch (error) {
      // Nothing to those that have their event.
      for (const { reject } of appends) reject(error as PalimpsestError)
    }
  }
}
