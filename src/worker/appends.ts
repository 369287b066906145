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
      if (this.#waitingLength + length > COMMAND_LENGTH) this.#send()
      this.#waiting.push({ text, resolve, reject })
      this.#waitingLength += length
      this.#link.sendSoon(this.#send)
    })
  }

  /** The page has applied `event`. */
  applied(event: SessionEvent): void {
    const append = this.#due.get(event.seq)
    if (append !== undefined) {
      this.#due.delete(event.seq)
      append.resolve(event)
    } else if (this.#unanswered > 0) {
      this.#events.set(event.seq, event)
    }
  }

  readonly #send = (): void => {
    const appends = this.#waiting
    this.#waiting = []
    this.#waitingLength = 0
    if (appends.length > 0) void this.#run(appends)
  }

  async #run(appends: readonly Append[]): Promise<void> {
    try {
      await this.#whenApplied(await this.#ask(appends))
    } catch (error) {
      // Nothing to those that have their event.
      for (const { reject } of appends) reject(error as PalimpsestError)
    }
  }

  /** Answers the last seq that is theirs; −1 when all were refused. */
  async #ask(appends: readonly Append[]): Promise<number> {
    const texts = appends.map(({ text }) => text)
    let last = -1
    this.#unanswered += 1
    try {
      const outcomes = await this.#link.call(commands => commands.appendAll(this.#id, texts))
      for (const [index, outcome] of outcomes.entries()) {
        const append = appends[index] as Append
        if (typeof outcome === 'number') this.#committed((last = outcome), append)
        else append.reject(decodeError(outcome))
      }
    } finally {
      this.#unanswered -= 1
      this.#forget(this.#unanswered === 0 ? Infinity : last)
    }
    return last
  }

  #committed(seq: number, append: Append): void {
    const event = this.#events.get(seq)
    if (event === undefined) this.#due.set(seq, append)
    else append.resolve(event)
  }

  /** Commands are answered in their order: none asks for an event up to `last` any more. */
  #forget(last: number): void {
    for (const seq of this.#events.keys()) {
      if (seq > last) return
      this.#events.delete(seq)
    }
  }
}
