/** What the hooks take from the page's client: types only, the client itself is handed to the provider. */
import type { ClientSession } from '../worker/client-session.ts'
import type { ClientSessions } from '../worker/client-sessions.ts'

/** The part of `Palimpsest` the hooks need. */
export type SessionsClient = {
  readonly sessions: Pick<
    ClientSessions,
    'open' | 'page' | 'family' | 'rename' | 'pin' | 'delete' | 'undelete' | 'subscribe'
  >
}

/** Whether a session that is deleted can be brought back. */
export type DeleteHow = NonNullable<Parameters<ClientSessions['delete']>[1]>

export type SessionSummary = Awaited<ReturnType<ClientSessions['page']>>['sessions'][number]

export type FamilyMember = Awaited<ReturnType<ClientSessions['family']>>[number]

/** The code of a typed error; empty for others. */
export function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : ''
  return typeof code === 'string' ? code : ''
}

export type { ClientSession }
