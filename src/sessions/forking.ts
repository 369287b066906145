/** Where a fork begins: its parent as it was at the boundary, live or as it is stored (SPEC R7, K6). */
import { SessionError } from '../core/errors.ts'
import { checkBoundary, checkChildId } from '../core/fork.ts'
import type { SessionId } from '../core/ids.ts'
import { SessionSeq } from '../core/ids.ts'
import type { Session } from '../core/session.ts'
import type { SessionOptions } from '../core/session-options.ts'
import type { SessionStorage } from '../storage/storage.ts'
import { notDeleted } from '../storage/stored-session.ts'
import type { LiveSession } from './live-session.ts'
import { openLog } from './open-log.ts'

type Stored = { readonly storage: SessionStorage; readonly options: SessionOptions }

type Parent = {
  readonly id: SessionId
  /** The live session of that id, if there is one. */
  readonly live: LiveSession | undefined
  /** What the caller named: its id, or a live session that has to be the one. */
  readonly source: SessionId | LiveSession
  /** Null to inherit nothing. */
  readonly boundary: number | null | undefined
}

/**
 * A child of the session as it was at the boundary, which is made before anything else can be appended.
 *
 * @throws {SessionError} `session-not-found`, `session-not-live`, `session-already-exists`, `invalid-boundary`,
 * `open-turn`. @throws {StorageError} `deleted`, and when the parent cannot be read.
 */
export async function childOf(
  { id, live, source, boundary }: Parent,
  childId: SessionId,
  stored: Stored,
): Promise<Session> {
  if (typeof source !== 'string' && live !== source) {
    const facts = { sessionId: id }
    if (live === undefined) {
      throw new SessionError('session-not-found', `The session ${id} to fork is not open here`, facts)
    }
    throw new SessionError('session-not-live', `The session ${id} to fork is not the live one of its id`, facts)
  }
  const record = live === undefined ? await stored.storage.get(id) : null
  const length = live?.session.length ?? (record === null ? undefined : notDeleted(record).nextSeq)
  if (length === undefined) throw notFound(id, 'to fork')
  checkChildId(id, childId)
  if (typeof boundary === 'number') checkBoundary(id, boundary, length)
  const count = boundary === undefined ? length : boundary === null ? 0 : boundary + 1
  if (live !== undefined && count === length) return live.session.fork({ id: childId })
  const parent = await (live === undefined ? openPrefix(stored, id, SessionSeq(count)) : live.at(count))
  return parent.fork({ id: childId })
}

/**
 * The first `to` events of a stored session, read-only. How many of all are inherited they may not tell.
 *
 * @throws {SessionError} `session-not-found`; as `openLog`.
 */
export async function openPrefix(
  { storage, options }: Stored,
  id: SessionId,
  to: SessionSeq,
  inheritedEventCount?: number,
): Promise<Session> {
  const record = await storage.get(id)
  if (record === null) throw notFound(id, 'to read')
  const known = inheritedEventCount === undefined ? {} : { inheritedEventCount }
  return (await openLog(storage, record, { ...options, readOnly: true, to, ...known })).session
}

/** `session-not-found`. */
export const notFound = (id: SessionId, why: string): SessionError =>
  new SessionError('session-not-found', `There is no session ${id} ${why}`, { sessionId: id })
