/**
 * Opening a stored session for writing: what was cut off is settled and repaired, unless it waits for somebody (SPEC O2,
 * R1–R9).
 */
import type { Fold } from '../core/fold.ts'
import { SessionId, SessionSeq } from '../core/ids.ts'
import type { Session } from '../core/session.ts'
import type { SessionOptions } from '../core/session-options.ts'
import { settleEvents } from '../core/settlement.ts'
import { type TurnsState, turnsFold } from '../core/turns.ts'
import type { SessionRecord, SessionStorage } from '../storage/storage.ts'
import { readJournal } from './answer-journal.ts'
import { KeyframePace } from './keyframe-pace.ts'
import type { LiveSessionParts } from './live-session.ts'
import { type OpenedLog, openLog, unlessCorrupt } from './open-log.ts'
import { isOtherVersion } from './stored-events.ts'
import { listUnderLogged } from './title.ts'

/**
 * Whether the open turn of a log goes on, rather than being repaired. It has an open step with calls nobody answered, and
 * no model call that was cut off; `fold` answers for any fold of the sessions, as it would be if the turn went on.
 */
export type KeepsTurn = (id: SessionId, turn: TurnsState, fold: <State>(fold: Fold<State>) => State) => boolean

export type OpeningOptions = SessionOptions & {
  readonly storage: SessionStorage
  readonly newId: () => string
  readonly keepsTurn?: KeepsTurn
}

/** A session, and what a live one is made of it. */
export type OpenedSession = Pick<LiveSessionParts, 'session' | 'start' | 'pace' | 'residentFrom'>

/**
 * The session of a record that was claimed.
 *
 * @throws {StorageError} when it cannot be read. @throws {FormatError} when it cannot be migrated. @throws {SessionError} of
 * the first event that breaks a rule; what is stored stays as it is.
 */
export async function openStored(claimed: SessionRecord, options: OpeningOptions): Promise<OpenedSession> {
  const { storage } = options
  const record = await toCurrentVersion(claimed, options)
  const { logId, epoch, nextSeq } = record
  const journal = await storage.journal(SessionId(record.header.id)).catch(unlessCorrupt)
  const cutOff = readJournal(journal ?? [])
  const settled = cutOff === null ? {} : { settle: settleEvents(cutOff.call, cutOff.chunks) }
  const repaired = await openLog(storage, record, { ...options, repair: true, ...settled })
  const kept = cutOff === null ? await openKept(record, repaired.session, options) : null
  const { session, keyframe, tail } = kept ?? repaired
  await listUnderLogged(storage, record, session)
  return {
    session,
    start: { logId, epoch, nextSeq, hasJournal: journal === null || journal.length > 0 },
    pace: new KeyframePace(keyframe, tail),
    residentFrom: keyframe?.seq ?? SessionSeq(0),
  }
}

/** The same log without its repair, when that answered calls of a turn that goes on; null otherwise. */
async function openKept(record: SessionRecord, repaired: Session, options: OpeningOptions): Promise<OpenedLog | null> {
  const { storage, keepsTurn } = options
  const { nextSeq } = record
  // Calls are answered first. Without any, nothing is opened a second time.
  const answersCalls = repaired.firstLiveSeq > nextSeq && repaired.eventAt(nextSeq)?.type === 'tool/result'
  if (keepsTurn === undefined || !answersCalls) return null
  const kept = await openLog(storage, record, options)
  const { session } = kept
  const turn = session.fold(turnsFold)
  return turn.openStep !== null && keepsTurn(session.id, turn, fold => session.fold(fold)) ? kept : null
}

async function toCurrentVersion(claimed: SessionRecord, options: OpeningOptions): Promise<SessionRecord> {
  if (!isOtherVersion(claimed) && claimed.previous === undefined) return claimed
  const { storage, newId } = options
  const { toCurrentGeneration } = await import('./generations.ts')
  return toCurrentGeneration(claimed, { storage, newId, options })
}
