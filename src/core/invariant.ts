/** Invariants: relations between events that a session may be asked to keep, each vetoing before the commit (SPEC I1). */
import type { Committed, EventLookup, Fold } from './fold.ts'
import type { SessionSeq } from './ids.ts'
import { inWords } from './message-projection.ts'

/** The log as it is before the event that is looked at. */
export type LogView = {
  readonly length: number
  /** The surface, in reading order. */
  readonly nodes: readonly SessionSeq[]
  /** Finds resident events: those of the surface, and the tail. */
  readonly eventAt: EventLookup
  /** The state of a fold of the session. */
  fold<State>(fold: Fold<State>): State
}

/**
 * A rule about how events follow each other. Pure: it reads the log and answers, and remembers nothing but in folds. It
 * is asked for every event from the first one on, stored ones too.
 */
export type Invariant = {
  readonly key: string
  /** Folds it reads besides the session's own. */
  readonly folds?: readonly Fold<unknown>[]
  /** What the event breaks, in words; null when nothing. */
  problem(committed: Committed, log: LogView): string | null
}

/** The folds that rules read besides the session's own. */
export const foldsOf = (invariants: readonly Invariant[]): readonly Fold<unknown>[] =>
  invariants.flatMap(({ folds = [] }) => folds)

/** What an event breaks; an invariant that throws vetoes as well. */
export function problemOf(invariant: Invariant, committed: Committed, log: LogView): string | null {
  try {
    return invariant.problem(committed, log) ?? null
  } catch (error) {
    return `it could not be checked: ${inWords(error)}`
  }
}
