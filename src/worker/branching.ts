/** A child of an open session, and what its agent begins with: going on, saying it otherwise, having it again (SPEC A28). */
import { withText } from '../agent/messages.ts'
import { SessionError } from '../core/errors.ts'
import type { UserMessage } from '../core/events.ts'
import { MessageId, type SessionId } from '../core/ids.ts'
import { branchAfter, branchBefore, lastTurnStart } from '../sessions/branching.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import type { ForkOptions, Sessions } from '../sessions/sessions.ts'
import type { BranchHow } from './protocol.ts'

type Branch = {
  readonly boundary: Pick<ForkOptions, 'boundary'>
  /** What the child begins with; null when it only goes on. */
  readonly said: readonly UserMessage[] | null
}

/** Forks `live` as a page wants it; answers what the child is to say. Nothing is forked when that cannot be said. */
export async function forkFor(
  sessions: Sessions,
  live: LiveSession,
  how: BranchHow,
  { id, newId }: { readonly id: SessionId; readonly newId: () => string },
): Promise<readonly UserMessage[] | null> {
  const { boundary, said } = await branchOf(live, how, newId)
  await sessions.fork(live, { id, ...boundary })
  return said
}

async function branchOf(live: LiveSession, how: BranchHow, newId: () => string): Promise<Branch> {
  if (how.kind === 'after') {
    const boundary = how.seq === null ? {} : { boundary: await branchAfter(live, how.seq) }
    return { boundary, said: null }
  }
  const seq = how.seq ?? (await lastTurnStart(live))
  if (seq === null) {
    const { id } = live.session
    throw new SessionError('invalid-boundary', `Session ${id} has no turn to have again`, { sessionId: id })
  }
  const { boundary, said } = await branchBefore(live, seq)
  if (how.kind === 'again') return { boundary: { boundary }, said }
  const edited = await idAt(live, seq)
  // Said otherwise it is another message.
  const otherwise = (message: UserMessage) => ({ ...withText(message, how.prompt), id: MessageId(newId()) })
  return { boundary: { boundary }, said: said.map(each => (each.id === edited ? otherwise(each) : each)) }
}

async function idAt(live: LiveSession, seq: number): Promise<string | null> {
  for await (const event of live.readEvents({ from: seq, to: seq + 1 })) {
    if (event.type === 'user/message') return event.data.id
  }
  return null
}
