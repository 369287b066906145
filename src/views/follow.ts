/**
 * Reading a value of a session and keeping it up to date: what arrives while it is read is applied after it, in order
 * and once (SPEC V10, V11).
 */
import type { PalimpsestError } from '../core/errors.ts'
import type { Committed } from '../core/fold.ts'
import type { SessionSource, SessionUpdate } from './source.ts'

/** `failed`: reading failed, `error` says why. `ended`: what is here stays, and changes no more. */
export type ReadState = 'loading' | 'ready' | 'failed' | 'ended'

export type FollowPlan<Value> = {
  /** Reads the value as of the end of the log, going on from what is known if that helps. Stops when nobody wants it. */
  read(known: Value | null, isWanted: () => boolean): Promise<Value>
  /** The value after an update; parts of it that the value has already are passed over. */
  apply(value: Value, update: SessionUpdate): Value
}

/** From one start to its stop. */
type Run = { isReading: boolean; waiting: Committed[] }

export class Follower<Value> {
  readonly #source: SessionSource
  readonly #plan: FollowPlan<Value>
  readonly #changed: () => void
  #value: Value
  #isRead = false
  #run: Run | null = null
  #state: Exclude<ReadState, 'ended'> = 'loading'
  #error: unknown = null
  #ended: PalimpsestError | null = null

  /** `changed` is called once for each thing that happens and makes a difference. */
  constructor(source: SessionSource, initial: Value, plan: FollowPlan<Value>, changed: () => void) {
    this.#source = source
    this.#value = initial
    this.#plan = plan
    this.#changed = changed
  }

  get value(): Value {
    return this.#value
  }

  get state(): ReadState {
    return this.#ended === null ? this.#state : 'ended'
  }

  /** Why it failed or ended. */
  get error(): unknown {
    return this.#ended ?? this.#error
  }

  /** True once the value was read, while it can be kept up to date. */
  get isRead(): boolean {
    return this.#isRead
  }

  /** Tells one time of being watched from another; null when not watched. */
  get run(): object | null {
    return this.#run
  }

  /** Follows the source from now on; what is known stays until it is caught up with. Returns what stops it. */
  start(): () => void {
    if (this.#ended !== null) return () => undefined
    const run: Run = { isReading: false, waiting: [] }
    this.#run = run
    const unsubscribe = this.#source.subscribe(update => {
      if (this.#run === run) this.#take(run, update)
    })
    this.#state = this.#isRead ? 'ready' : 'loading'
    this.#error = null
    void this.#read(run)
    return () => {
      unsubscribe()
      this.#run = null
    }
  }

  /** Reads again what could not be read. True when it could now. */
  async retry(): Promise<boolean> {
    const run = this.#run
    if (run === null || run.isReading || this.#isRead || this.#ended !== null) return false
    this.#state = 'loading'
    this.#error = null
    const done = this.#read(run)
    this.#changed()
    return done
  }

  /** Changes the value by hand, without telling. */
  update(change: (value: Value) => Value): void {
    this.#value = change(this.#value)
  }

  /** Something else that was to be read was read after all, or not (with an error); without telling. */
  settle(error: unknown = null): void {
    this.#state = error === null ? 'ready' : 'failed'
    this.#error = error
  }

  /** Never rejects. */
  async #read(run: Run): Promise<boolean> {
    run.isReading = true
    run.waiting = []
    // Who comes and goes within one tick, as React's strict mode does, has nothing read.
    await Promise.resolve()
    const isWanted = () => this.#run === run
    if (!isWanted()) return false
    try {
      let value: Value = await this.#plan.read(this.#isRead ? this.#value : null, isWanted)
      if (!isWanted()) return false
      value = this.#plan.apply(value, { kind: 'committed', entries: run.waiting })
      const frames = this.#ended === null ? this.#source.frames : []
      this.#value = this.#plan.apply(value, { kind: 'frames', frames })
      this.#isRead = true
      this.settle()
    } catch (error) {
      if (!isWanted()) return false
      this.#fail(error)
    } finally {
      run.isReading = false
      run.waiting = []
    }
    this.#changed()
    return this.#isRead
  }

  #take(run: Run, update: SessionUpdate): void {
    if (update.kind === 'ended') {
      this.#ended = update.error
      if (this.#isRead) this.#value = this.#plan.apply(this.#value, update)
      this.#changed()
    } else if (run.isReading) {
      if (update.kind === 'committed') run.waiting.push(...update.entries)
    } else if (this.#isRead) {
      const before = this.#value
      try {
        this.#value = this.#plan.apply(before, update)
      } catch (error) {
        this.#fail(error)
      }
      if (this.#value !== before || !this.#isRead) this.#changed()
    }
  }

  /** What is known is shown further, but it cannot be kept up to date: it is read anew when that is asked for. */
  #fail(error: unknown): void {
    this.#isRead = false
    this.settle(error)
  }
}
