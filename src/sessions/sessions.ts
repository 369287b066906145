/** All sessions of one storage: create, open, list, rename, delete. */
import { SessionError } from '../core/errors.ts'
import { LogId, SessionId, SessionSeq } from '../core/ids.ts'
import { Session } from '../core/session.ts'
import type { SessionOptions } from '../core/session-options.ts'
import { endOfInherited } from '../storage/stored-session.ts'
import {
  type InheritedRange,
  type NewSession,
  type SessionRecord,
  type SessionStorage,
  StorageError,
} from '../storage/storage.ts'
import { WriteBehind, type WriteBehindOptions, type WriteBehindStatus } from '../storage/write-behind.ts'
import type { LogSource } from '../files/bytes.ts'
import { type ExportOptions, exportBytes } from './export-log.ts'
import { isOtherVersion, readCurrentLog, readStoredLog, toCurrentGeneration } from './generations.ts'
import {
  type ImportedLog,
  type ImportOptions,
  type ImportResult,
  readImport,
  relationOf,
  storeImport,
} from './import-log.ts'
import { KeyedQueue } from './keyed-queue.ts'
import type { Lease, Release } from './lease.ts'
import { LiveSession } from './live-session.ts'

/** What every session gets, and where they are kept. */
export type SessionsOptions = SessionOptions & {
  readonly storage: SessionStorage
  readonly lease: Lease
  /** A fresh unique id on each call. */
  readonly newId: () => string
  /** Told when the storage of a live session gets further or fails. */
  readonly onStorageStatus?: (id: SessionId, status: WriteBehindStatus) => void
}

/** What a list shows of a session. */
export type SessionSummary = {
  readonly id: SessionId
  readonly title: string | null
  /** Epoch ms. */
  readonly createdAt: number
  readonly updatedAt: number
  readonly eventCount: number
}

export class Sessions {
  readonly #options: SessionsOptions
  readonly #live = new Map<SessionId, LiveSession>()
  /** Opens and closes of one session happen one after the other. */
  readonly #queue = new KeyedQueue()

  constructor(options: SessionsOptions) {
    this.#options = options
  }

  /** Stored and live sessions, last changed first. */
  async list(): Promise<readonly SessionSummary[]> {
    const summaries = new Map((await this.#options.storage.list()).map(record => [record.header.id, summaryOf(record)]))
    for (const [id, { session }] of this.#live) {
      const { createdAt } = session.header
      const stored = summaries.get(id)
      summaries.set(id, {
        id,
        title: stored?.title ?? null,
        createdAt,
        updatedAt: Math.max(stored?.updatedAt ?? 0, session.eventAt(session.length - 1)?.time ?? createdAt),
        eventCount: session.length,
      })
    }
    return [...summaries.values()].sort((left, right) => right.updatedAt - left.updatedAt)
  }

  /** The live session of that id, or undefined. */
  live(id: SessionId): LiveSession | undefined {
    return this.#live.get(id)
  }

  /**
   * The session named `id`, open for writing: restored and, when its last turn was cut off, repaired; or created. One
   * that is already open here is returned as it is.
   *
   * @throws {StorageError} `in-use` when it is open for writing elsewhere; other codes when storage refuses.
   * @throws {SessionError} when the stored log breaks a rule; what is stored stays as it is.
   */
  open(id: SessionId): Promise<LiveSession> {
    return this.#queue.run(id, async () => {
      const live = this.#live.get(id)
      if (live !== undefined) return live
      if (id === '') throw new SessionError('header', 'Expected a non-empty session id')
      const release = await this.#lease(id)
      try {
        const opened = await this.#open(id, release)
        this.#live.set(id, opened)
        return opened
      } catch (error) {
        release()
        throw error
      }
    })
  }

  /**
   * A new session that begins as `source` did, up to the seq `boundary` (inclusive; all of it unless said otherwise). It
   * inherits those events instead of copying them, is open for writing, and is stored when this resolves.
   *
   * @throws {SessionError} `session-already-exists`, `session-not-found`, `session-not-live` (a session object that is
   * not the live one of its id), `invalid-boundary`, `open-turn`, in this order.
   * @throws {StorageError} when what is inherited, or the child, cannot be stored.
   */
  async fork(source: SessionId | LiveSession, { id, boundary }: ForkOptions = {}): Promise<LiveSession> {
    const { storage, newId } = this.#options
    const childId = id ?? SessionId(newId())
    if (typeof source === 'string') await this.#toCurrent(source)
    return this.#queue.run(childId, async () => {
      if (this.#live.has(childId) || (await storage.get(childId)) !== null) {
        throw new SessionError('session-already-exists', `Session ${childId} exists`, { sessionId: childId })
      }
      const parent = await this.#resolve(source)
      const child = parent.fork({ id: childId, ...(boundary === undefined ? {} : { boundary }) })
      await this.#live.get(parent.id)?.flush()
      const record = await storage.get(parent.id)
      const inherited = record === null ? [] : inheritedRanges(record, child.inheritedEventCount)
      const release = await this.#lease(childId)
      const create: NewSession = { header: child.header, logId: LogId(newId()), inherited }
      const nextSeq = SessionSeq(child.inheritedEventCount)
      const live = this.#toLive(child, release, { logId: create.logId, epoch: 1, nextSeq, create })
      try {
        await live.flush()
      } catch (error) {
        await live.close({ discard: true })
        throw error
      }
      this.#live.set(childId, live)
      return live
    })
  }

  /** The session to fork: live, or as it is stored. */
  async #resolve(source: SessionId | LiveSession): Promise<Session> {
    const id = typeof source === 'string' ? source : source.session.id
    const live = this.#live.get(id)
    if (typeof source !== 'string' && live !== source) {
      const isNamesake = live !== undefined
      const what = isNamesake ? 'is not the live one of its id' : 'is not open here'
      throw new SessionError(
        isNamesake ? 'session-not-live' : 'session-not-found',
        `The session ${id} to fork ${what}`,
        {
          sessionId: id,
        },
      )
    }
    if (live !== undefined) return live.session
    const { storage } = this.#options
    const record = await storage.get(id)
    if (record === null)
      throw new SessionError('session-not-found', `There is no session ${id} to fork`, { sessionId: id })
    return Session.fromRestore({ ...(await readCurrentLog(storage, record)), ...this.#options, readOnly: true })
  }

  /** What is inherited is of the child's version: a stored log of an older one is migrated before it is forked. */
  async #toCurrent(id: SessionId): Promise<void> {
    if (this.#live.has(id)) return
    const record = await this.#options.storage.get(id)
    if (record === null || !isOtherVersion(record)) return
    await this.open(id)
    await this.close(id)
  }

  /**
   * A log from a file, as a session of its own: read as a stream, whatever its version, and stored whole or not at all.
   * An id that another log has is left to it, and a fresh one is given; a stored session whose log is the beginning of
   * this one gets the rest. It is not opened (SPEC F15).
   *
   * @throws {FormatError}, {SessionError} with seq and line in the file; the reason of `signal`.
   * @throws {StorageError} when it cannot be stored.
   */
  async import(source: LogSource, options: ImportOptions = {}): Promise<ImportResult> {
    const { newId } = this.#options
    if (options.id === '') throw new SessionError('header', 'Expected a non-empty session id')
    const { header: own, ...log } = await readImport(source, options, this.#options)
    const header = options.id === undefined ? own : { ...own, id: options.id }
    const kept = await this.#import({ ...log, header }, options.signal)
    return kept ?? this.#importAs({ ...log, header: { ...header, id: newId() } })
  }

  /** Null when the id is another log's, or in use. */
  async #import(log: ImportedLog, signal: AbortSignal | undefined): Promise<ImportResult | null> {
    const id = SessionId(log.header.id)
    // Somebody else may be about to store the very same log.
    for (let wait = 0; ; wait += 1) {
      const result = await this.#queue.run(id, () => this.#tryImport(id, log, signal))
      if (result !== 'busy') return result
      if (wait === PATIENCE) return null
      await new Promise(resolve => setTimeout(resolve, PATIENCE_MS))
    }
  }

  async #tryImport(
    id: SessionId,
    log: ImportedLog,
    signal: AbortSignal | undefined,
  ): Promise<ImportResult | 'busy' | null> {
    const { storage } = this.#options
    const relation = await relationOf(storage, await storage.get(id), log)
    signal?.throwIfAborted()
    if (relation === 'same') return importResult(log, 'unchanged')
    if (relation === 'other' || this.#live.has(id)) return null
    let release: Release
    try {
      release = await this.#lease(id)
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== 'in-use') throw error
      // What is open elsewhere is left alone; what is not stored yet may be an import.
      return relation === 'none' ? 'busy' : null
    }
    try {
      const replaces = await storage.claim(id)
      // Another writer may have been here before the lease was ours.
      if ((await relationOf(storage, replaces, log)) !== relation) return 'busy'
      await this.#store(log, replaces)
      return importResult(log, relation === 'none' ? 'created' : 'extended')
    } catch (error) {
      // Without a lease they share, two writers meet in the storage.
      const isOvertaken = error instanceof StorageError && (error.code === 'exists' || error.code === 'stale-epoch')
      if (!isOvertaken) throw error
      return 'busy'
    } finally {
      release()
    }
  }

  async #importAs(log: ImportedLog): Promise<ImportResult> {
    await this.#store(log, null)
    return importResult(log, 'created')
  }

  #store(log: ImportedLog, replaces: SessionRecord | null): Promise<void> {
    const { storage, newId, now } = this.#options
    return storeImport(storage, log, { newId, now: now(), ...(replaces === null ? {} : { replaces }) })
  }

  /**
   * A session as a file, read from storage as the bytes are asked for; what a live one has not stored yet included.
   *
   * @throws {SessionError} `session-not-found`. @throws {FormatError} when an older log cannot be migrated.
   */
  async export(id: SessionId, options: ExportOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const { storage } = this.#options
    const live = this.#live.get(id)
    const record = await storage.get(id)
    const { title } = record ?? {}
    const how = title === undefined ? options : { title, ...options }
    if (live !== undefined) {
      const { session } = live
      return exportBytes({ header: session.header, events: live.readEvents({ to: session.length }) }, how)
    }
    if (record === null)
      throw new SessionError('session-not-found', `There is no session ${id} to export`, { sessionId: id })
    return exportBytes(await readStoredLog(storage, record), how)
  }

  /**
   * Stores what is left of a live session and gives its lease up. Unknown ids are not an error.
   *
   * @throws {StorageError} when it cannot be stored: then the session stays live and keeps its events.
   */
  close(id: SessionId): Promise<void> {
    return this.#queue.run(id, () => this.#close(id, false))
  }

  /** Closes every live session. @throws {StorageError} of the first that could not be stored. */
  async closeAll(): Promise<void> {
    const results = await Promise.allSettled([...this.#live.keys()].map(id => this.close(id)))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  /** Names a session; null takes the name away. @throws {StorageError} `not-found` while nothing of it is stored. */
  async rename(id: SessionId, title: string | null): Promise<void> {
    await this.#live.get(id)?.flush()
    await this.#options.storage.rename(id, title)
  }

  /**
   * Forgets a session; a live one is closed first.
   *
   * @throws {StorageError} `in-use` when it is open for writing elsewhere.
   */
  delete(id: SessionId): Promise<void> {
    return this.#queue.run(id, async () => {
      // What could not be stored need not be: a full disk must not keep a session from being deleted.
      await this.#close(id, true)
      const release = await this.#lease(id)
      try {
        await this.#options.storage.delete(id)
      } finally {
        release()
      }
    })
  }

  async #close(id: SessionId, discard: boolean): Promise<void> {
    const live = this.#live.get(id)
    try {
      await live?.close({ discard })
    } finally {
      if (live?.isClosed === true) this.#live.delete(id)
    }
  }

  /** Leases are scoped to the storage: the same id in another database is another session. */
  async #lease(id: SessionId): Promise<Release> {
    const { kind, name } = this.#options.storage
    const release = await this.#options.lease.acquire(`palimpsest:${kind}:${name}:${id}`)
    if (release !== null) return release
    throw new StorageError('in-use', `Session ${id} is open for writing in another tab or worker`, { sessionId: id })
  }

  async #open(id: SessionId, release: Release): Promise<LiveSession> {
    const { storage, newId } = this.#options
    const claimed = await storage.claim(id)
    if (claimed === null) {
      const session = Session.create({ id, ...this.#options })
      const create: NewSession = { header: session.header, logId: LogId(newId()), inherited: [] }
      return this.#toLive(session, release, { logId: create.logId, epoch: 1, nextSeq: SessionSeq(0), create })
    }
    const record = await toCurrentGeneration(claimed, { storage, newId, options: this.#options })
    const log = await readCurrentLog(storage, record)
    const session = Session.fromRestore({ ...log, ...this.#options, repair: true })
    return this.#toLive(session, release, record)
  }

  /** A live session whose events from `start.nextSeq` on are not stored yet. */
  #toLive(session: Session, release: Release, start: WriterStart): LiveSession {
    const writer = this.#writer(session.id, start)
    return new LiveSession({ session, storage: this.#options.storage, writer, release }, start.nextSeq)
  }

  #writer(id: SessionId, start: WriterStart): WriteBehind {
    const { storage, now, onStorageStatus } = this.#options
    const { logId, epoch, nextSeq, create } = start
    const created = create === undefined ? {} : { create }
    return new WriteBehind({
      storage,
      id,
      now,
      logId,
      epoch,
      nextSeq,
      ...created,
      onStatus: status => onStorageStatus?.(id, status),
    })
  }
}

/** How often, and after how many ms, an import looks again whether an id it wants is free. */
const PATIENCE = 20
const PATIENCE_MS = 100

type WriterStart = Pick<WriteBehindOptions, 'logId' | 'epoch' | 'nextSeq' | 'create'>

export type ForkOptions = {
  /** Id of the child; a fresh one unless said otherwise. */
  readonly id?: SessionId
  /** Seq of the last event the child inherits: the end of a turn, or after it. */
  readonly boundary?: number
}

/** The ranges that are the first `count` events of a stored session. */
function inheritedRanges({ inherited, logId, nextSeq }: SessionRecord, count: number): InheritedRange[] {
  const own: InheritedRange = { logId, from: endOfInherited(inherited), to: nextSeq }
  return [...inherited, own]
    .filter(({ from, to }) => from < to && from < count)
    .map(range => ({ ...range, to: SessionSeq(Math.min(range.to, count)) }))
}

function importResult(log: ImportedLog, outcome: ImportResult['outcome']): ImportResult {
  const { header, events, version, fileEventCount, repairs, isUnterminated } = log
  return {
    id: SessionId(header.id),
    outcome,
    version,
    fileEventCount,
    eventCount: events.length,
    repairs,
    isUnterminated,
  }
}

function summaryOf({ header, title, updatedAt, nextSeq }: SessionRecord): SessionSummary {
  const { id, createdAt } = header
  return { id: SessionId(id), title: title ?? null, createdAt, updatedAt, eventCount: nextSeq }
}
