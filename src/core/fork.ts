/** Forks: a child session shares the beginning of another one's log (SPEC R7). */
import { SessionError } from './errors.ts'
import type { SessionHeader } from './events.ts'
import { isSafeNonNegativeInteger } from './ids.ts'
import type { TurnsState } from './turns.ts'

/** @throws {SessionError} `invalid-boundary` when a log is to be cut at what is no seq below `end`. */
export function checkBoundary(sessionId: string, boundary: number, end: number): void {
  if (isSafeNonNegativeInteger(boundary) && boundary < end) return
  const message = `Expected a seq below ${end} to cut session ${sessionId} at; found ${String(boundary)}`
  throw new SessionError('invalid-boundary', message, { sessionId })
}

/** @throws {SessionError} `open-turn` when the first `count` events leave a turn open. */
export function checkOutsideTurn(sessionId: string, count: number, { openTurn }: TurnsState): void {
  if (openTurn === null) return
  const seq = count - 1
  const message = `Seq ${seq} of session ${sessionId} is inside turn ${openTurn}; fork after its end`
  throw new SessionError('open-turn', message, { sessionId, seq })
}

/** @throws {SessionError} `session-already-exists` when a child would have its parent's id. */
export function checkChildId(sessionId: string, childId: string): void {
  if (childId === sessionId)
    throw new SessionError('session-already-exists', `Session ${childId} is the one to fork`, { sessionId })
}

/** What the header of a child has of its parent's: where it comes from, and where it works. */
export function childHeader({ id, cwd }: SessionHeader): Pick<SessionHeader, 'parentSession' | 'isSeeded' | 'cwd'> {
  return { parentSession: id, isSeeded: true, ...(cwd === undefined ? {} : { cwd }) }
}
