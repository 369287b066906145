/** Where a log was handed over: the marks that constructors leave, and what a header says of them (SPEC R6, L11). */
import { SessionError } from './errors.ts'
import { SESSION_FORMAT_VERSION, type SessionHeader } from './events.ts'
import type { Fold } from './fold.ts'
import type { SessionSeq } from './ids.ts'
import { snapshotJson } from './json.ts'
import type { CreateOptions } from './session-options.ts'

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
  on: ['session/end-seed'],
  initial: () => UNMARKED,
  evolve: (state, { event }) => {
    if (event.type !== 'session/end-seed') return state
    return { endSeed: event.seq, inherited: event.data.inherited === true ? event.seq : state.inherited }
  },
  toJSON: state => state,
  fromJSON: json => json as unknown as SeedState,
}

/**
 * How many events a session inherits, which header, log and caller must agree about (SPEC L11).
 *
 * @throws {SessionError} with the code `code`: which of them is wrong only the whole log can tell.
 */
export function checkedCut(
  { isSeeded, id }: SessionHeader,
  { inherited }: SeedState,
  told: number | undefined,
  code: 'header' | 'keyframe',
): number {
  const fail = (what: string): never => {
    throw new SessionError(code, `Session ${id} ${what}`, { sessionId: id })
  }
  if (isSeeded !== (inherited !== null)) {
    fail(`has isSeeded: ${isSeeded}, and its log ends what it inherits at ${inherited ?? 'no seq'}`)
  }
  const cut = inherited ?? 0
  return told === undefined || told === cut ? cut : fail(`inherits ${cut} events, not ${told}`)
}

/** The header of a new session, not checked yet. */
export const newHeader = ({ id, header, now }: Pick<CreateOptions, 'id' | 'header' | 'now'>): SessionHeader =>
  snapshotJson({
    createdAt: header?.createdAt ?? now(),
    isSeeded: false,
    ...header,
    version: SESSION_FORMAT_VERSION,
    id,
  })
