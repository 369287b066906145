/**
 * A piece of the log for reading: the newest events to begin with, more before and after on demand, and never so many
 * that a page gets slow. At its end it grows with the log.
 */
import type { SessionEvent } from 'palimpsest/core'
import type { SessionSource, ViewStore } from 'palimpsest/views'

/** Events of one step back or forth. */
export const PAGE = 200
/** Most events kept; what is beyond is left out at the other end and read again on demand. */
export const MOST = 1_000

export type LogState = {
  /** Consecutive events; the first has seq `from`. */
  readonly events: readonly SessionEvent[]
  readonly from: number
  /** Events in the log. */
  readonly length: number
  readonly isReading: boolean
  /** Why the last read failed; null when it did not. */
  readonly error: unknown
}

const EMPTY: LogState = Object.freeze({ events: [], from: 0, length: 0, isReading: true, error: null })

export class LogWindow implements ViewStore<LogState> {
  readonly #source: SessionSource
  readonly #listeners = new Set<() => void>()
  #state: LogState = EMPTY
  #unsubscribe: (() => void) | null = null
  /** Reads come one after the other. */
  #queue: Promise<unknown> = Promise.resolve()
  #isStarted = false

  constructor(source: SessionSource) {
    this.#source = source
  }

  readonly getSnapshot = (): LogState => this.#state
  readonly getServerSnapshot = (): LogState => EMPTY

  readonly subscribe = (listener: () => void): (() => void) => {
    const own = () => listener()
    this.#listeners.add(own)
    if (this.#unsubscribe === null) this.#start()
    return () => {
      this.#listeners.delete(own)
      if (this.#listeners.size > 0) return
      this.#unsubscribe?.()
      this.#unsubscribe = null
    }
  }

  /** Reads events before the window. */
  earlier(): Promise<void> {
    return this.#read(async () => {
      const { from, events } = this.#state
      const page = await this.#page(Math.max(0, from - PAGE), from)
      if (page.length > 0) this.#set({ from: page[0]?.seq ?? from, events: [...page, ...events].slice(0, MOST) })
    })
  }

  /** Reads events after the window. */
  later(): Promise<void> {
    return this.#read(async () => {
      const to = this.#to()
      const page = await this.#page(to, Math.min(this.#source.length, to + PAGE))
      this.#append(page)
    })
  }

  /** Has the event `seq` in the window, with some before and after it. */
  show(seq: number): Promise<void> {
    return this.#read(async () => {
      const { from, events } = this.#state
      if (seq >= from && seq < from + events.length) return
      const start = Math.max(0, seq - PAGE / 2)
      const page = await this.#page(start, Math.min(this.#source.length, start + PAGE))
      this.#set({ from: start, events: page })
    })
  }

  /** Goes to the newest events. */
  toEnd(): Promise<void> {
    return this.#read(async () => {
      const { length } = this.#source
      if (this.#to() >= length) return
      const from = Math.max(0, length - PAGE)
      this.#set({ from, events: await this.#page(from, length) })
    })
  }

  #start(): void {
    const isFirst = !this.#isStarted
    this.#isStarted = true
    this.#unsubscribe = this.#source.subscribe(update => {
      if (update.kind !== 'committed') return
      const isAtEnd = this.#to() === update.entries[0]?.event.seq
      if (isAtEnd && !this.#state.isReading) this.#append(update.entries.map(entry => entry.event))
      else this.#set({})
    })
    // Where it was left, it goes on: what came meanwhile is read when the reader was at the end.
    const wasAtEnd = isFirst || this.#to() === this.#state.length
    this.#set({})
    if (wasAtEnd) void this.toEnd()
  }

  #append(events: readonly SessionEvent[]): void {
    const all = [...this.#state.events, ...events]
    const dropped = all.length > MOST ? all.length - MOST + PAGE : 0
    this.#set({ from: this.#state.from + dropped, events: dropped === 0 ? all : all.slice(dropped) })
  }

  #to(): number {
    return this.#state.from + this.#state.events.length
  }

  async #page(from: number, to: number): Promise<readonly SessionEvent[]> {
    const page: SessionEvent[] = []
    if (to > from) for await (const event of this.#source.readEvents({ from, to })) page.push(event)
    return page
  }

  #read(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(async () => {
      let end = this.#source.length
      this.#set({ isReading: true })
      try {
        await work()
        // At its end it takes in what was committed while a page was on its way.
        while (this.#to() === end && end < this.#source.length) {
          const from = end
          end = this.#source.length
          this.#append(await this.#page(from, end))
        }
        this.#set({ isReading: false, error: null })
      } catch (error) {
        this.#set({ isReading: false, error })
      }
    })
    this.#queue = done
    return done
  }

  #set(change: Partial<LogState>): void {
    this.#state = { ...this.#state, length: this.#source.length, ...change }
    for (const listener of [...this.#listeners]) listener()
  }
}
