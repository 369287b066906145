/** A log from a file becomes a stored session, whole or not at all (SPEC F15). */
import { SessionError } from '../core/errors.ts'
import type { SessionEvent, SessionHeader } from '../core/events.ts'
import { type BlobId, LogId, SessionId } from '../core/ids.ts'
import { equalJson } from '../core/json.ts'
import type { Keyframe } from '../core/keyframe.ts'
import { repairLog } from '../core/repair.ts'
import type { Session } from '../core/session.ts'
import type { SessionOptions } from '../core/session-options.ts'
import type { LogSource } from '../files/bytes.ts'
import type { ReadProgress } from '../files/read-log.ts'
import { FormatError } from '../format/errors.ts'
import type { Repair } from '../format/migration.ts'
import { type SessionRecord, type SessionStorage, StorageError } from '../storage/storage.ts'
import { withoutBytes } from './blobs.ts'
import { type CurrentLog, readCurrentLog, segmentsOf } from './generations.ts'
import { firstKeyframe } from './keyframe-pace.ts'
import { titleFold } from './title.ts'

export type ImportOptions = {
  /** Id of the session; that of the log unless said otherwise. */
  readonly id?: SessionId
  /** Default `strict`; `recoverable` opens more, by repairs that it lists (SPEC F10). */
  readonly mode?: 'strict' | 'recoverable'
  /** Gives up; nothing is stored. */
  readonly signal?: AbortSignal
  /** Told now and then, and when all of the file was read. */
  readonly onProgress?: (progress: ReadProgress) => void
}

export type ImportResult = {
  /** The session it became: a new id when another log has the one asked for. */
  readonly id: SessionId
  /** `extended`: the stored log was the beginning of this one. `unchanged`: it was the same. */
  readonly outcome: 'created' | 'extended' | 'unchanged'
  /** Format version of the file. */
  readonly version: number
  /** Events of the file, and of the session. */
  readonly fileEventCount: number
  readonly eventCount: number
  /** What was done to make it open. */
  readonly repairs: readonly Repair[]
  /** The last line of the file had no newline; it was whole, and was taken. */
  readonly isUnterminated: boolean
}

/** A log that was read and may be stored as it is. */
export type ImportedLog = CurrentLog &
  Pick<ImportResult, 'version' | 'fileEventCount' | 'repairs' | 'isUnterminated'> & {
    /** What it comes to, when that is worth storing. */
    readonly keyframe: Keyframe | null
    /** What it says it is called. */
    readonly title: string | null
  }

/**
 * Reads a file and puts what it holds through admission.
 *
 * @throws {FormatError}, {SessionError} with seq and line in the file; the reason of `signal`.
 */
export async function readImport(
  source: LogSource,
  { mode = 'strict', signal, onProgress }: ImportOptions,
  options: SessionOptions,
  putBlob: (bytes: Uint8Array<ArrayBuffer>) => Promise<BlobId>,
): Promise<ImportedLog> {
  const { admitLog, newLogReader, readLog } = await import('../files/read-log.ts')
  const reader = newLogReader({ mode, purpose: 'store' })
  const read = await readLog(source, { mode, signal, onProgress }, reader)
  const events = await withoutBytes(read.events, putBlob)
  const { log, session } = admitLog({ ...read, events }, reader, { ...options, readOnly: true })
  const { header, version, repairs, isUnterminated, eventCount: fileEventCount, inheritedEventCount } = log
  const known = inheritedEventCount === undefined ? {} : { inheritedEventCount }
  return {
    header,
    events: log.events,
    ...known,
    version,
    fileEventCount,
    repairs,
    isUnterminated,
    keyframe: keyframeOf(session),
    title: session.fold(titleFold).title,
  }
}

/** Events below which a log is read as fast as its keyframe. */
const FEW_EVENTS = 100

function keyframeOf(session: Session): Keyframe | null {
  if (session.length < FEW_EVENTS) return null
  try {
    return session.keyframe()
  } catch {
    // A fold of somebody else's has no JSON, or an interpreter is missing: then the log is folded when it is opened.
    return null
  }
}

/** What a stored log is to an imported one; the `same` too when nobody said anything in what it has more. */
export type Relation = 'none' | 'same' | 'beginning' | 'other'

/** Compares what is stored under an id with what is to be. An unreadable log is another one. */
export async function relationOf(
  storage: SessionStorage,
  record: SessionRecord | null,
  { header, events }: CurrentLog,
): Promise<Relation> {
  if (record === null) return 'none'
  // It may be brought back: until then it is nobody's to continue.
  if (record.deletedAt !== undefined) return 'other'
  let stored: CurrentLog
  try {
    stored = await readCurrentLog(storage, record)
  } catch (error) {
    // What cannot be read as a log is another one; what cannot be read just now is nobody knows what.
    if (error instanceof FormatError || error instanceof SessionError) return 'other'
    if (error instanceof StorageError && error.code === 'corrupt') return 'other'
    throw error
  }
  if (!equalJson(lineage(stored.header), lineage(header))) return 'other'
  const common = Math.min(stored.events.length, events.length)
  if (!equalJson(stored.events.slice(0, common), events.slice(0, common))) return 'other'
  if (stored.events.length < events.length) return 'beginning'
  return isUnsaid(stored.events.slice(common), repairLog(events)) ? 'same' : 'other'
}

/** Whether events after a log are what opening it adds, and what it was called since: then nobody said anything. */
function isUnsaid(added: readonly SessionEvent[], closers: readonly SessionEvent[]): boolean {
  // A turn that waits for somebody is not closed.
  const isClosed = closers.length > 0 && equalJson(added.slice(0, closers.length), closers)
  return added
    .slice(isClosed ? closers.length : 0)
    .every(({ type, data }) => type === 'session/title' || (type === 'session/end-seed' && data.inherited !== true))
}

/** What must be the same for two logs to be one. */
const lineage = ({ id, createdAt, isSeeded, ...more }: SessionHeader) => [
  id,
  createdAt,
  isSeeded,
  more.parentSession ?? null,
  more.cwd ?? null,
  more.origin ?? null,
  more.delegationDepth ?? 0,
  more.agentPreset ?? null,
]

/** Stores a log under the id of its header: as a new session, or in place of its beginning. */
export async function storeImport(
  storage: SessionStorage,
  { header, events, keyframe, title }: ImportedLog,
  { newId, now, replaces }: { readonly newId: () => string; readonly now: number; readonly replaces?: SessionRecord },
): Promise<void> {
  const blobs = new Set<BlobId>()
  const stored = await storage.storeLog({
    session: { header, logId: LogId(newId()), inherited: [], ...(title === null ? {} : { title }) },
    segments: segmentsOf(events, blobs),
    blobs,
    time: now,
    // It may have got another id than the one it came with.
    ...(keyframe === null ? {} : { keyframe: firstKeyframe({ ...keyframe, sessionId: header.id }) }),
    ...(replaces === undefined ? {} : { replaces }),
  })
  if (replaces === undefined) return
  try {
    const id = SessionId(header.id)
    await storage.forgetPrevious(id, stored.epoch)
    if (stored.title === undefined && title !== null) await storage.update(id, { title })
  } catch (error) {
    // The log is stored; whoever opens the session next forgets the old one beside it, and lists it by its title.
    if (!(error instanceof StorageError)) throw error
  }
}
