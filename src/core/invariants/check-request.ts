/** Whether a request is the one the log stands for: asked by who is about to send it (SPEC I10). */
import { SessionError } from '../errors.ts'
import type { EpochHeader, Message } from '../events.ts'
import { jsonDifference } from '../json.ts'
import { requestOf } from '../request.ts'
import type { Session } from '../session.ts'
import { turnsFold } from '../turns.ts'

/** What of a request comes from the log. */
export type CheckedRequest = {
  readonly sessionId: string
  readonly header: EpochHeader
  readonly messages: readonly Message[]
}

/**
 * Compares a request, which must be frozen, with the log of its session.
 *
 * @throws {SessionError} `invariant` with the `path` of the first difference in the request.
 */
export function checkRequest(session: Pick<Session, 'id' | 'fold' | 'messages'>, request: CheckedRequest): void {
  const { id: sessionId } = session
  const { header, messages } = request
  const fail = (path: string, what: string): never => {
    throw new SessionError('invariant', `A request of session ${sessionId} ${what}`, { sessionId, path })
  }
  const compare = (path: string, expected: unknown, actual: unknown): void => {
    const difference = jsonDifference(expected, actual)
    // Without what is there: it is what people said.
    if (difference !== null)
      fail(path + difference.path.slice(1), `differs from its log at ${path}${difference.path.slice(1)}`)
  }
  if (!Object.isFrozen(request)) fail('$', 'is not frozen')
  if (!Object.isFrozen(messages)) fail('$.messages', 'has messages that are not frozen')
  if (Object.hasOwn(request, 'system')) fail('$.system', 'has a system prompt beside its messages')
  compare('$.sessionId', sessionId, request.sessionId)
  if (session.fold(turnsFold).lastStep < 1) fail('$', 'is made before the first step of the turn')
  const logged = requestOf(session) ?? fail('$.header', 'is made before any header is logged')
  compare('$.header', logged.header, header)
  compare('$.messages', logged.messages, messages)
}
