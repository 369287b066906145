/** Where a log was handed over: the marks that constructors leave (SPEC R6). */
import type { Fold } from './fold.ts'
import type { SessionSeq } from './ids.ts'

export type SeedState = {
  /** The last `session/end-seed`: what is before it came from a constructor. */
  readonly endSeed: SessionSeq | null
  /** The last one that says `inherited`: what is before it is another session's. */
  readonly inherited: SessionSeq | null
}

const UNMARKED: SeedState = Object.freeze({ endSeed: null, inherited: null })

/** The last marks of a log. */
export const seedFold: Fold<SeedState> = {
  key: 'seed',
  version: 1,
  initial: () => UNMARKED,
  evolve: (state, { event }) => {
    if (event.type !== 'session/end-seed') return state
    return { endSeed: event.seq, inherited: event.data.inherited === true ? event.seq : state.inherited }
  },
  toJSON: state => state,
  fromJSON: json => json as unknown as SeedState,
}
