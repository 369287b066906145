/**
 * The bracket of a compaction, from `compaction/start` to `compaction/end`. An open one is the lock of compaction: while
 * it is open nobody else may compact (SPEC I5, I6).
 */
import type { Fold } from './fold.ts'
import type { SessionSeq } from './ids.ts'
import { fieldsOf, isText } from './invariants/payload.ts'

export type CompactionBracket = {
  readonly compactionId: string
  /** The turn it runs in, or null between turns. */
  readonly turn: number | null
  readonly sourceCommandId: string | null
  /** Its `compaction/summary` has come. */
  readonly hasSummary: boolean
  /** Seq of its `compaction/start`. */
  readonly startSeq: SessionSeq
}

export type CompactionState = { readonly open: CompactionBracket | null }

const CLOSED: CompactionState = Object.freeze({ open: null })

/**
 * The open bracket. Whoever opened it is gone where a constructor ended what it was given, and where repair ended the
 * turn: an orphan is forgotten there. Payloads are not trusted: what is malformed or names another bracket changes
 * nothing.
 */
export const compactionFold: Fold<CompactionState> = {
  key: 'compaction',
  version: 1,
  initial: () => CLOSED,
  evolve(state, { event }) {
    const { open } = state
    const { compactionId, turn, sourceCommandId = null } = fieldsOf(event.data)
    switch (event.type) {
      case 'compaction/start': {
        if (open !== null || !isText(compactionId)) return state
        if (turn !== null && typeof turn !== 'number') return state
        if (sourceCommandId !== null && typeof sourceCommandId !== 'string') return state
        return { open: { compactionId, turn, sourceCommandId, hasSummary: false, startSeq: event.seq } }
      }
      case 'compaction/summary':
        return open !== null && open.compactionId === compactionId ? { open: { ...open, hasSummary: true } } : state
      case 'compaction/end':
        return open !== null && open.compactionId === compactionId ? CLOSED : state
      case 'turn/end':
        return open !== null && event.data.reason.kind === 'interrupted' ? CLOSED : state
      case 'session/end-seed':
        return open === null ? state : CLOSED
      default:
        return state
    }
  },
  toJSON: state => state,
  fromJSON(json) {
    const state = json as unknown as CompactionState
    if (state.open !== null && !isText(state.open.compactionId)) throw new TypeError('no bracket of a compaction')
    return state
  },
}
