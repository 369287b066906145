/**
 * One log, many folds. A fold is a value derived from the log, advanced by one event at a time; everything else a
 * session knows is a fold (SPEC L15).
 */
import { refusal, SessionError } from './errors.ts'
import type { Message, SessionEvent } from './events.ts'
import type { SessionSeq } from './ids.ts'
import type { JsonValue } from './json.ts'

/** What one event does to the surface it was planned for. `from` and `to` are positions, both included. */
export type SurfaceChange =
  | { readonly kind: 'none' }
  | { readonly kind: 'append'; readonly seq: SessionSeq }
  | { readonly kind: 'replace'; readonly seq: SessionSeq; readonly from: number; readonly to: number }
  | { readonly kind: 'project'; readonly seq: SessionSeq; readonly projected: readonly ProjectedMessage[] }

/** A message that stands for the own message of the surface node `seq`, at position `at`. */
export type ProjectedMessage = { readonly at: number; readonly seq: SessionSeq; readonly message: Message }

/** Finds an event by seq; `undefined` when it is not loaded. */
export type EventLookup = (seq: SessionSeq) => SessionEvent | undefined

/** An event that was admitted, with what it did to the surface. Batches of these are what the page applies. */
export type Committed = { readonly event: SessionEvent; readonly surfaceChange: SurfaceChange }

/** What a fold may look at when it is rebuilt from JSON: the surface, the events on it and the messages projected. */
export type FoldContext = {
  readonly nodes: readonly SessionSeq[]
  readonly projected: ReadonlyMap<SessionSeq, Message>
  readonly eventAt: EventLookup
}

/**
 * A derived value. `evolve` is pure, cannot fail for an admitted event and returns the same reference when the event is
 * not its business. `toJSON`/`fromJSON` carry the state in a keyframe; a changed meaning needs a new `version`, and
 * `fromJSON` throws for what `toJSON` would not give.
 */
export type Fold<State> = {
  readonly key: string
  readonly version: number
  /** When it is asked: for every change of the surface, or for events of these types. Always, when it does not say. */
  readonly on?: 'surface' | readonly string[]
  initial(): State
  evolve(state: State, committed: Committed): State
  toJSON(state: State): JsonValue
  fromJSON(json: JsonValue, context: FoldContext): State
}

const asks = ({ on }: Fold<unknown>, type: string, changesSurface: boolean): boolean =>
  on === undefined || (on === 'surface' ? changesSurface : on.includes(type))

/** State of each fold as JSON, by key, with the version that wrote it. */
export type FoldStates = { readonly [key: string]: { readonly version: number; readonly state: JsonValue } }

/** The registered folds of one session and their states, advanced together. */
export class FoldSet {
  readonly #folds: Fold<unknown>[] = []
  readonly #states: unknown[] = []
  /** States of the event being folded. */
  readonly #next: unknown[] = []
  /** Which folds look at the events of a type: of those that change the surface, and of those that do not. */
  readonly #asked = [new Map<string, readonly number[]>(), new Map<string, readonly number[]>()] as const

  constructor(folds: readonly Fold<unknown>[] = []) {
    for (const fold of folds) this.register(fold, fold.initial())
  }

  /** Adds a fold with the state it has at this point of the log. @throws {SessionError} `registration` for a used key. */
  register<State>(fold: Fold<State>, state: State): void {
    if (this.#folds.some(each => each.key === fold.key)) {
      throw new SessionError('registration', `A fold named ${fold.key} is already registered`)
    }
    // Types that were seen before it came are asked about anew.
    for (const asked of this.#asked) asked.clear()
    this.#folds.push(fold)
    this.#states.push(state)
  }

  has(fold: Fold<unknown>): boolean {
    return this.#folds.includes(fold)
  }

  /**
   * Advances every fold by one event. The first fold may work in place: it comes last, when no other can fail any more.
   *
   * @throws {SessionError} `fold` when one of them throws; then none has advanced.
   */
  evolve(committed: Committed): void {
    const { event, surfaceChange } = committed
    const changesSurface = surfaceChange.kind !== 'none'
    const asked = this.#askedFor(event.type, changesSurface)
    let at = 0
    try {
      for (; at < asked.length; at += 1) {
        const index = asked[at] as number
        this.#next[at] = (this.#folds[index] as Fold<unknown>).evolve(this.#states[index], committed)
      }
    } catch (error) {
      const what = `could not be folded by ${this.#folds[asked[at] as number]?.key}`
      throw refusal('fold', event, what, undefined, { cause: error })
    }
    for (at = 0; at < asked.length; at += 1) this.#states[asked[at] as number] = this.#next[at]
    const first = this.#folds[0]
    if (first !== undefined && asks(first, event.type, changesSurface)) {
      this.#states[0] = first.evolve(this.#states[0], committed)
    }
  }

  /** Positions of the folds that look at an event, without the first one. */
  #askedFor(type: string, changesSurface: boolean): readonly number[] {
    const known = this.#asked[changesSurface ? 1 : 0]
    let asked = known.get(type)
    if (asked === undefined) {
      asked = this.#folds.flatMap((fold, index) => (index > 0 && asks(fold, type, changesSurface) ? [index] : []))
      known.set(type, asked)
    }
    return asked
  }

  /** The state of a registered fold. @throws {SessionError} `registration` when it is not registered. */
  state<State>(fold: Fold<State>): State {
    const index = this.#folds.indexOf(fold)
    if (index === -1) throw new SessionError('registration', `No fold named ${fold.key} is registered`)
    return this.#states[index] as State
  }

  toJSON(): FoldStates {
    return Object.fromEntries(
      this.#folds.map((fold, index) => {
        return [fold.key, { version: fold.version, state: fold.toJSON(this.#states[index]) }] as const
      }),
    )
  }
}
