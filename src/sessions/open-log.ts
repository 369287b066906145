/**
 * A session from storage, with no more in memory than it needs: a keyframe, the events on its surface, and the tail
 * (SPEC K2, K3). Without a keyframe that can be used, the whole log is folded.
 */
import { SessionError } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import { isSafeNonNegativeInteger, SessionId, SessionSeq } from '../core/ids.ts'
import type { Keyframe } from '../core/keyframe.ts'
import { Session } from '../core/session.ts'
import type { KeyframeOptions, RestoreOptions, SessionOptions } from '../core/session-options.ts'
import { surfaceFold } from '../core/surface.ts'
import {
  type SeqRange,
  type SessionRecord,
  type SessionStorage,
  StorageError,
  type StoredKeyframe,
} from '../storage/storage.ts'
import { type LastKeyframe, parseKeyframe, UNKNOWN_LENGTH } from './keyframe-pace.ts'
import { eventsOf, isOtherVersion, readStoredPages } from './stored-events.ts'

export type OpenLogOptions = SessionOptions &
  Pick<RestoreOptions, 'repair' | 'readOnly' | 'settle' | 'inheritedEventCount'> & {
    /** Only the first so many events: then the session is read-only, and may be inside a turn. */
    readonly to?: SessionSeq
  }

export type OpenedLog = {
  readonly session: Session
  /** The keyframe it was opened from; null when the log was folded. */
  readonly keyframe: LastKeyframe | null
  /** Text read after the keyframe, UTF-16 units. */
  readonly tail: number
}

/**
 * @throws {StorageError} when it cannot be read, `corrupt` among others. @throws {FormatError} when it cannot be
 * migrated. @throws {SessionError} of the first event that breaks a rule.
 */
export async function openLog(
  storage: SessionStorage,
  record: SessionRecord,
  { to = record.nextSeq, ...options }: OpenLogOptions,
): Promise<OpenedLog> {
  const opening: Opening = { storage, record, to, options: to < record.nextSeq ? asPrefix(options) : options }
  if (isOtherVersion(record)) return fold(opening)
  for (let atMost = to; atMost > 0; ) {
    const stored = await storage.keyframe(SessionId(record.header.id), atMost).catch(unlessCorrupt)
    if (stored === null) break
    const opened = await fromKeyframe(opening, stored)
    if (opened !== null) return opened
    // An earlier one may be whole.
    atMost = SessionSeq(stored.seq - 1)
  }
  return fold(opening)
}

/** For what is stored beside the log: what cannot be read any more is as if it had never been. Others are rethrown. */
export function unlessCorrupt(error: unknown): null {
  if (error instanceof StorageError && error.code === 'corrupt') return null
  throw error
}

type Opening = {
  readonly storage: SessionStorage
  readonly record: SessionRecord
  readonly to: SessionSeq
  readonly options: SessionOptions &
    Pick<KeyframeOptions, 'repair' | 'readOnly' | 'settle' | 'isPrefix' | 'inheritedEventCount'>
}

const asPrefix = (options: Omit<OpenLogOptions, 'to'>) => ({
  ...options,
  readOnly: true,
  isPrefix: true,
  repair: false,
})

/** Null when the keyframe cannot be used: it is a shortcut, and whatever is wrong with it, the log says better. */
async function fromKeyframe(opening: Opening, stored: StoredKeyframe): Promise<OpenedLog | null> {
  const { storage, record, to, options } = opening
  const { header } = record
  const tail: SeqRange = { from: stored.seq, to }
  try {
    const { span, keyframe } = parseKeyframe(stored)
    const ranges = nodeRanges(keyframe)
    const read = await storage.readRanges(SessionId(header.id), [...ranges, tail])
    const events = [...ranges, tail].map((range, at) =>
      (read[at] ?? []).flatMap(segment => eventsOf(header.id, segment, range)),
    )
    const nodes = new Set<number>(nodesOf(keyframe))
    const isInherited = stored.logId !== record.logId
    const session = Session.fromKeyframe({
      ...options,
      header,
      // That of a parent says as much of the beginning of its child.
      keyframe: isInherited ? { ...keyframe, sessionId: header.id } : keyframe,
      surfaceEvents: events.slice(0, -1).flatMap(each => each.filter(({ seq }) => nodes.has(seq))),
      events: events.at(-1) ?? [],
    })
    const length = read.at(-1)?.reduce((sum, { text }) => sum + text.length, 0) ?? 0
    return { session, keyframe: { seq: stored.seq, length: stored.text.length, span, isInherited }, tail: length }
  } catch (error) {
    return error instanceof SessionError ? null : unlessCorrupt(error)
  }
}

async function fold({ storage, record, to, options }: Opening): Promise<OpenedLog> {
  const { header, size: own = UNKNOWN_LENGTH, inherited } = record
  const size = inherited.length === 0 ? own : UNKNOWN_LENGTH
  if (isOtherVersion(record)) {
    const { readCurrentLog } = await import('./generations.ts')
    const log = await readCurrentLog(storage, record)
    // A log that was migrated has other seqs than the stored one.
    const session = Session.fromRestore({
      ...options,
      ...log,
      events: to < record.nextSeq ? log.events.slice(0, to) : log.events,
    })
    return { session, keyframe: null, tail: size }
  }
  const events: SessionEvent[] = []
  for await (const event of readStoredPages(storage, record, { from: SessionSeq(0), to })) events.push(event)
  return { session: Session.fromRestore({ ...options, header, events }), keyframe: null, tail: size }
}

/** Nodes this close to each other are read in one go: they are likely in one page. */
const GAP = 256

/** Ranges that hold the surface of a keyframe, few and short. */
function nodeRanges(keyframe: Keyframe): readonly SeqRange[] {
  const ranges: { from: SessionSeq; to: SessionSeq }[] = []
  for (const seq of [...nodesOf(keyframe)].sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && seq - last.to < GAP) last.to = SessionSeq(seq + 1)
    else ranges.push({ from: seq, to: SessionSeq(seq + 1) })
  }
  return ranges
}

/** @throws {StorageError} `corrupt` when it names no nodes before its own seq. */
function nodesOf({ folds, seq }: Keyframe): readonly SessionSeq[] {
  // Nobody has looked at its shape so far.
  const states = folds as Keyframe['folds'] | null | undefined
  const { nodes } = (states?.[surfaceFold.key]?.state ?? {}) as { readonly nodes?: unknown }
  const isNode = (node: unknown) => isSafeNonNegativeInteger(node) && node < seq
  if (Array.isArray(nodes) && nodes.every(isNode)) return nodes as SessionSeq[]
  throw new StorageError('corrupt', `The keyframe of ${seq} events has no surface`, { seq })
}
