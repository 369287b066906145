/**
 * Where a fork begins that says something again, or goes on from here: at the boundaries of turns (SPEC R7). They are
 * found by reading from where one looks, a page at a time and never the whole log. What is asked for is a live session:
 * whoever branches off has it open.
 */
import { SessionError } from '../core/errors.ts'
import type { EventOf, SessionEvent, UserMessage } from '../core/events.ts'
import { checkBoundary } from '../core/fork.ts'
import { SessionSeq } from '../core/ids.ts'
import { turnsFold } from '../core/turns.ts'
import type { LiveSession } from './live-session.ts'

/** Where to fork so that a turn can begin anew. */
export type BranchPoint = {
  /** Seq of the last event before the turn; null when there is none: then the child inherits nothing. */
  readonly boundary: SessionSeq | null
  /** What the turn began with, in order: to be said again as it is, or with one of them replaced. */
  readonly said: readonly UserMessage[]
}

/** What is looked at of a live session. */
export type BranchSource = Pick<LiveSession, 'session' | 'readEvents'>

/**
 * Where to fork to say the message at `seq` again, or otherwise: before the turn that began with it. What of that turn
 * went through the inbox may have waited there before; a fork cancels what waits (SPEC R8).
 *
 * @throws {SessionError} `invalid-boundary` when no turn began with that message: it was sent into a turn that ran, was
 * said outside of one, takes the place of others, or is none at all. @throws {StorageError} when it cannot be read.
 */
export async function branchBefore(live: BranchSource, seq: number): Promise<BranchPoint> {
  checkBoundary(live.session.id, seq, live.session.length)
  if (!isSaid(await eventAt(live, seq))) throw refused(live, seq, 'is no message that somebody sent')
  const start = await startOfTurn(live, seq)
  if (start === null) throw refused(live, seq, 'was sent outside any turn')
  const said = await begunWith(live, start)
  if (!said.some(event => event.seq === seq)) throw refused(live, seq, 'was sent into a turn that had begun already')
  return { boundary: start === 0 ? null : SessionSeq(start - 1), said: said.map(({ data }) => data) }
}

/**
 * Where to fork to go on from `seq`: the end of the turn it is in, or itself between turns.
 *
 * @throws {SessionError} `invalid-boundary` when it is no seq of the log, `open-turn` when its turn has not ended.
 * @throws {StorageError} when it cannot be read.
 */
export async function branchAfter(live: BranchSource, seq: number): Promise<SessionSeq> {
  checkBoundary(live.session.id, seq, live.session.length)
  const start = await startOfTurn(live, seq)
  if (start === null) return SessionSeq(seq)
  for await (const event of forwards(live, seq)) if (event.type === 'turn/end') return event.seq
  const { id } = live.session
  const message = `Seq ${seq} of session ${id} is in a turn that has not ended; stop it, or fork before it`
  throw new SessionError('open-turn', message, { sessionId: id, seq })
}

/**
 * Seq of the first message the latest turn began with, for `branchBefore`; null when there is no turn, or it began with
 * none. @throws {StorageError} when it cannot be read.
 */
export async function lastTurnStart(live: BranchSource): Promise<SessionSeq | null> {
  if (!hasTurns(live)) return null
  for await (const event of backwards(live, live.session.length)) {
    if (event.type === 'turn/start') return (await begunWith(live, event.seq))[0]?.seq ?? null
  }
  return null
}

/** Seq of the `turn/start` of the turn that `seq` is in, but for its end; null outside of turns. */
async function startOfTurn(live: BranchSource, seq: number): Promise<SessionSeq | null> {
  if (!hasTurns(live)) return null
  for await (const event of backwards(live, seq + 1)) {
    if (event.type === 'turn/start') return event.seq
    if (event.type === 'turn/end') return null
  }
  return null
}

const hasTurns = ({ session }: BranchSource): boolean => session.fold(turnsFold).lastTurn > 0

/** What a turn said before its model was called first. */
async function begunWith(live: BranchSource, start: SessionSeq): Promise<readonly EventOf<'user/message'>[]> {
  const said: EventOf<'user/message'>[] = []
  let steps = 0
  for await (const event of forwards(live, start + 1)) {
    if (event.type === 'step/start') steps += 1
    if (steps > 1 || IS_BEGUN.has(event.type)) break
    if (isSaid(event)) said.push(event)
  }
  return said
}

/** What says that the first model call of a turn was made, or that there was none. */
const IS_BEGUN: ReadonlySet<string> = new Set<SessionEvent['type']>([
  'request/header',
  'request/context',
  'assistant/message',
  'assistant/attempt',
  'tool/call',
  'tool/result',
  'step/end',
  'turn/end',
  'turn/start',
])

/** Somebody sent it: it is no answer of a tool, and takes no other's place. */
const isSaid = (event: SessionEvent | undefined): event is EventOf<'user/message'> =>
  event?.type === 'user/message' && event.surfaceOp === 'append' && event.data.source.kind !== 'tool'

/** Events that are read at once. */
const PAGE = 256

/** Events before `end`, the last one first. */
async function* backwards(live: BranchSource, end: number): AsyncGenerator<SessionEvent, void, void> {
  for (let to = end; to > 0; to -= PAGE) {
    const page: SessionEvent[] = []
    for await (const event of live.readEvents({ from: Math.max(0, to - PAGE), to })) page.push(event)
    yield* page.reverse()
  }
}

/** Events from `start` on. */
async function* forwards(live: BranchSource, start: number): AsyncGenerator<SessionEvent, void, void> {
  for (let from = start; from < live.session.length; from += PAGE) {
    yield* live.readEvents({ from, to: Math.min(from + PAGE, live.session.length) })
  }
}

async function eventAt(live: BranchSource, seq: number): Promise<SessionEvent | undefined> {
  for await (const event of live.readEvents({ from: seq, to: seq + 1 })) return event
  return undefined
}

function refused({ session: { id } }: BranchSource, seq: number, what: string): SessionError {
  const message = `Expected a message that a turn of session ${id} began with; the event at seq ${seq} ${what}`
  return new SessionError('invalid-boundary', message, { sessionId: id, seq })
}
