/** A log gone through event by event, with the folds that rules between events ask. */
import type { SessionEvent } from '../core/events.ts'
import type { Extensions } from '../core/extensions.ts'
import { type Committed, type Fold, FoldSet, type SurfaceChange } from '../core/fold.ts'
import type { SessionSeq } from '../core/ids.ts'
import { type Invariant, type LogView, problemOf } from '../core/invariant.ts'
import { planAdmission } from '../core/log.ts'
import { requestFold } from '../core/request-header.ts'
import { surfaceFold } from '../core/surface.ts'
import { turnsFold } from '../core/turns.ts'

export const NO_CHANGE: SurfaceChange = Object.freeze({ kind: 'none' })

/** An invariant that is broken, with what it says. */
export type Problem = { readonly key: string; readonly problem: string }

const NO_PROBLEMS: readonly Problem[] = Object.freeze([])

/** A session without what nobody asks here: the messages, and all that is live. */
export class LogWalk {
  /** Those that were committed; by seq, also where seqs have gaps. */
  readonly #events: SessionEvent[] = []
  readonly #extensions: Extensions
  readonly #invariants: readonly Invariant[]
  readonly #folds: FoldSet
  readonly #view: LogView
  #due = 0

  constructor(extensions: Extensions, invariants: readonly Invariant[]) {
    this.#extensions = extensions
    this.#invariants = invariants
    const own = invariants.flatMap(({ folds: theirs = [] }) => theirs)
    const folds = new FoldSet([...new Set<Fold<unknown>>([surfaceFold, turnsFold, requestFold, ...own])])
    this.#folds = folds
    const due = (): number => this.#due
    this.#view = {
      get length() {
        return due()
      },
      nodes: folds.state(surfaceFold).nodes,
      eventAt: this.#at,
      fold: fold => folds.state(fold),
    }
  }

  readonly #at = (seq: SessionSeq): SessionEvent | undefined => this.#events[seq]

  /** The seq the next event should have. */
  get due(): number {
    return this.#due
  }

  /** @throws {SessionError} as `planAdmission` does. */
  plan(event: SessionEvent): SurfaceChange {
    return planAdmission(event, this.#folds.state(surfaceFold), this.#at, this.#extensions)
  }

  /** What the event breaks, in the order of the invariants. */
  problems(committed: Committed): readonly Problem[] {
    let problems = NO_PROBLEMS
    for (const invariant of this.#invariants) {
      const problem = problemOf(invariant, committed, this.#view)
      if (problem !== null) problems = [...problems, { key: invariant.key, problem }]
    }
    return problems
  }

  /** @throws {SessionError} `fold`; then the event was passed over. */
  commit(committed: Committed): void {
    const { event } = committed
    this.passOver(event.seq + 1)
    this.#folds.evolve(committed)
    this.#events[event.seq] = event
  }

  /** Goes on with the seq `due`. */
  passOver(due: number): void {
    this.#due = due
  }
}
