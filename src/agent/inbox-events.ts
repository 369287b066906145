/** Changes of the inbox as events of the session. */
import type { UserMessage } from '../core/events.ts'
import { inboxFold, planClaim } from '../core/inbox.ts'
import type { InboxSplice } from '../core/plugin-events.ts'
import type { Session } from '../core/session.ts'

/** Logs splices. */
export function commitSplices(session: Session, splices: readonly InboxSplice[]): void {
  for (const splice of splices) session.append('agent/inbox/spliced', splice)
}

/** Takes what a step begins with. */
export function claimMessages(session: Session, startsTurn: boolean): readonly UserMessage[] {
  commitSplices(session, planClaim(session.fold(inboxFold), startsTurn))
  return session.fold(inboxFold).claimed.map(({ message }) => message)
}
