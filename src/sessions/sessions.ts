/** All sessions of one storage: create, open, fork, list, name, delete, import, export. */
import { SessionError } from '../core/errors.ts'
import { type BlobId, LogId, SessionId, SessionSeq } from '../core/ids.ts'
import type { SessionTitle } from '../core/plugin-events.ts'
import { Session } from '../core/session.ts'
import type { SessionOptions } from '../core/session-options.ts'
import type { LogSource } from '../files/bytes.ts'
import { inheritedRanges } from '../storage/stored-session.ts'
import { type NewSession, type SessionStorage, StorageError } from '../storage/storage.ts'
import type { WriteBehindStatus } from '../storage/write-behind.ts'
import { blobIdOf } from './blobs.ts'
import { deleteOld } from './deleting.ts'
import type { ExportOptions } from './export-log.ts'
import { type FamilyMember, familyOf } from './family.ts'
import { sessionEventTypes, sessionFolds } from './folds.ts'
import { childOf, notFound, openPrefix } from './forking.ts'
import type { ImportOptions, ImportResult } from './import-log.ts'
import { KeyedQueue } from './keyed-queue.ts'
import { KeyframePace } from './keyframe-pace.ts'
import type { Lease, Release } from './lease.ts'
import { LiveSession } from './live-session.ts'
import { type KeepsTurn, type OpenedSession, openStored } from './opening.ts'
import {
  PAGE_SIZE,
  pageOf,
  type PageOptions,
  type SessionPage,
  type SessionSummary,
  summariesOf,
} from './session-list.ts'
import { isOtherVersion } from './stored-events.ts'
import { listedTitle, rename, setTitle, titleFold } from './title.ts'

/** What every session gets, and where they are kept. */
export type SessionsOptions = SessionOptions & {
  readonly storage: SessionStorage
  readonly lease: Lease
  /** A fresh unique id on each call. */
  readonly newId: () => string
  /** How long a session that was deleted can be brought back, ms; default 7 days. `tidy` deletes it for good after that. */
  readonly keepDeletedMs?: number
  /**
   * Whether a stored turn that is open, with calls nobody has answered, stays so when its session is opened: somebody goes
   * on with it. Default: it is repaired (SPEC O2, A25).
   */
  readonly keepsTurn?: KeepsTurn
  /** Told when the storage of a live session gets further or fails. */
  readonly onStorageStatus?: (id: SessionId, status: WriteBehindStatus) => void
}

const KEEP_DELETED_MS = 7 * 24 * 3_600_000
/** Bytes that were stored and that nobody has referred to by then, ms, nobody will. */
const KEEP_UNUSED_MS = 3_600_000

export class Sessions {
  readonly #options: SessionsOptions
  readonly #live = new Map<SessionId, LiveSession>()
  /** Opens and closes of one session happen one after the other. */
  readonly #queue = new KeyedQueue()

  constructor(options: SessionsOptions) {
    this.#options = {
      ...options,
      folds: [...new Set([...sessionFolds, ...(options.folds ?? [])])],
      eventTypes: [...new Set([...sessionEventTypes, ...(options.eventTypes ?? [])])],
    }
  }

  /** Stored and live sessions: pinned ones first, then last changed first. */
  async list(): Promise<readonly SessionSummary[]> {
    const unstored = await this.#unstored()
    const records = await this.#options.storage.list()
    return summariesOf(records, this.#live.values(), unstored)
  }

  /** The same a page at a time, from the records of the sessions alone: no event is read for it. */
  async page({ limit = PAGE_SIZE, after = null, deleted = false }: PageOptions = {}): Promise<SessionPage> {
    const { storage } = this.#options
    const unstored = await this.#unstored(after === null && !deleted)
    // One more, to know whether there is one.
    const found = await storage.list({ limit: limit + 1, deleted, ...(after === null ? {} : { after }) })
    return pageOf(found, limit, records => summariesOf(records, this.#live.values(), unstored))
  }

  /**
   * The family of a session, from records alone: its first ancestor, then all that descends from it, depth first, the
   * oldest child first. Empty when nobody knows `id` (SPEC W18).
   */
  async family(id: SessionId): Promise<readonly FamilyMember[]> {
    const { storage } = this.#options
    const unstored = await this.#unstored()
    // What was deleted may stand between others; one that is brought back meanwhile is as it was found last.
    const records = [...(await storage.list({ deleted: true })), ...(await storage.list())]
    return familyOf(id, records, summariesOf(records, this.#live.values(), unstored))
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
      const opened = await this.#leased(id)
      this.#live.set(id, opened)
      return opened
    })
  }

  /**
   * A new session that begins as `source` did, up to the seq `boundary` (inclusive; all of it unless said otherwise, and
   * nothing for null). It inherits those events instead of copying them, is open for writing, is listed under the title
   * they give it, and is stored when this resolves (SPEC R7).
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
      const parentId = typeof source === 'string' ? source : source.session.id
      const parent = { id: parentId, live: this.#live.get(parentId), source, boundary }
      const child = await childOf(parent, childId, { storage, options: this.#options })
      await this.#live.get(parentId)?.flush()
      const record = await storage.get(parentId)
      if (record === null) throw notFound(parentId, 'to fork')
      const inherited = inheritedRanges(record, child.inheritedEventCount)
      const release = await this.#lease(childId)
      const { title } = child.fold(titleFold)
      const logId = LogId(newId())
      const create: NewSession = { header: child.header, logId, inherited, ...(title === null ? {} : { title }) }
      const nextSeq = SessionSeq(child.inheritedEventCount)
      const live = this.#toLive(child, release, {
        start: { logId, epoch: 1, nextSeq, create },
        pace: new KeyframePace(null, 0),
        residentFrom: nextSeq,
      })
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

  /** What is inherited is of the child's version: a stored log of an older one is migrated before it is forked. */
  #toCurrent(id: SessionId): Promise<void> {
    return this.#queue.run(id, async () => {
      if (this.#live.has(id)) return
      const record = await this.#options.storage.get(id)
      if (record === null || !isOtherVersion(record)) return
      // Nobody else gets to see it: what somebody opens meanwhile is not this one's to close.
      const opened = await this.#leased(id)
      try {
        await opened.close()
      } catch (error) {
        await opened.close({ discard: true })
        throw error
      }
    })
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
    const { storage, newId, now } = this.#options
    if (options.id === '') throw new SessionError('header', 'Expected a non-empty session id')
    const [{ readImport }, { placeImport }] = await Promise.all([import('./import-log.ts'), import('./importing.ts')])
    const { header: own, ...log } = await readImport(source, options, this.#options, bytes => this.putBlob(bytes))
    const header = options.id === undefined ? own : { ...own, id: options.id }
    const parts = {
      ...{ storage, newId, now },
      queue: this.#queue,
      isLive: (id: SessionId) => this.#live.has(id),
      lease: (id: SessionId) => this.#lease(id),
    }
    return placeImport({ ...log, header }, parts, options.signal)
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
    const title = record && listedTitle(record)
    const getBlob = (blob: BlobId) => storage.getBlob(blob)
    const { exportBytes } = await import('./export-log.ts')
    const how = title === null ? options : { title, ...options }
    if (live !== undefined) {
      const { session } = live
      const events = live.readEvents({ to: session.length })
      return exportBytes({ header: session.header, events, getBlob }, how)
    }
    if (record === null) throw notFound(id, 'to export')
    const { readStoredLog } = await import('./generations.ts')
    return exportBytes({ ...(await readStoredLog(storage, record)), getBlob }, how)
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

  /**
   * Names a session; null takes the name away. The title is kept well-formed, without space around it, at 200 code points
   * at most. In the log of an open session, unless it is empty, it is an event as well, which forks and files have.
   *
   * @throws {StorageError} `not-found` while nothing of it is stored; when it cannot be stored.
   */
  rename(id: SessionId, title: string | null): Promise<void> {
    return this.#queue.run(id, () => rename(this.#options.storage, id, this.#live.get(id), title))
  }

  /**
   * Names a live session after messages of people in it, as `rename` does; unless a person named it, or the title is empty.
   *
   * @throws {StorageError} when it cannot be stored, `closed` among others.
   */
  setTitle(live: LiveSession, title: string, from: Pick<SessionTitle, 'messageSeqs' | 'source'>): Promise<void> {
    return this.#queue.run(live.session.id, () => setTitle(this.#options.storage, live, title, from))
  }

  /** Lists a session before all that are not pinned, or no more. @throws {StorageError} `not-found` as `rename`. */
  async pin(id: SessionId, pinned: boolean): Promise<void> {
    await this.#live.get(id)?.flush()
    await this.#options.storage.update(id, { pinned })
  }

  /**
   * Deletes a session; a live one is closed first. For good, unless it is `undoable`: then it is not listed, nobody can
   * open it, and `undelete` brings it back as long as `tidy` has not deleted it for good. Unknown ids are not an error.
   *
   * @throws {StorageError} `in-use` when it is open for writing elsewhere; when an undoable one cannot be stored.
   */
  delete(id: SessionId, { undoable = false }: { readonly undoable?: boolean } = {}): Promise<void> {
    return this.#queue.run(id, async () => {
      const { storage, now } = this.#options
      // What could not be stored need not be: a full disk must not keep a session from being deleted.
      await this.#close(id, !undoable)
      await this.#withLease(id, async () => {
        if (!undoable) await storage.delete(id)
        else if ((await storage.get(id)) !== null) await storage.update(id, { deletedAt: now() })
      })
    })
  }

  /** Brings a session back that was deleted. @throws {StorageError} `not-found` when it was deleted for good. */
  undelete(id: SessionId): Promise<void> {
    const { storage } = this.#options
    return this.#queue.run(id, async () => {
      const record = await storage.get(id)
      if (record !== null && record.deletedAt === undefined) return
      // `tidy` looks and deletes under the same lease.
      await this.#withLease(id, () => storage.update(id, { deletedAt: null }))
    })
  }

  /**
   * Deletes for good what was deleted long ago, then bytes no session refers to and what is left of imports that were cut
   * off. To be called now and then, when nothing else is to do. @throws {StorageError}
   */
  async tidy(): Promise<void> {
    const { storage, now, keepDeletedMs = KEEP_DELETED_MS } = this.#options
    await deleteOld(storage, now() - keepDeletedMs, (id, work) => {
      return this.#queue.run(id, () => this.#withLease(id, work))
    })
    await storage.collect(now() - KEEP_UNUSED_MS)
  }

  /**
   * Stores bytes for attachments to refer to, as their `attachmentId`; the same bytes are stored once. They are kept as
   * long as a session refers to them, and an hour for one to do so. @throws {StorageError} when they cannot be stored.
   */
  async putBlob(data: Blob | Uint8Array): Promise<BlobId> {
    const { storage, now } = this.#options
    const bytes = new Uint8Array(data instanceof Blob ? await data.arrayBuffer() : data)
    const id = await blobIdOf(bytes)
    await storage.putBlob(id, bytes, now())
    return id
  }

  /** The bytes an attachment refers to; null when they are not here. */
  getBlob(id: BlobId): Promise<Uint8Array | null> {
    return this.#options.storage.getBlob(id)
  }

  /** Live sessions that are not stored yet; none unless they are `wanted`. */
  async #unstored(wanted = true): Promise<ReadonlySet<LiveSession>> {
    const unstored = new Set<LiveSession>()
    if (!wanted) return unstored
    for (const [id, live] of this.#live) {
      // One that was stored when the answer was lost does not know it.
      if (!live.isStored && (await this.#options.storage.get(id)) === null) unstored.add(live)
    }
    return unstored
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

  async #withLease<Result>(id: SessionId, work: () => Promise<Result>): Promise<Result> {
    const release = await this.#lease(id)
    try {
      return await work()
    } finally {
      release()
    }
  }

  async #leased(id: SessionId): Promise<LiveSession> {
    const release = await this.#lease(id)
    try {
      return await this.#open(id, release)
    } catch (error) {
      release()
      throw error
    }
  }

  async #open(id: SessionId, release: Release): Promise<LiveSession> {
    const { storage, newId } = this.#options
    const claimed = await storage.claim(id)
    if (claimed !== null) {
      const { session, ...start } = await openStored(claimed, this.#options)
      return this.#toLive(session, release, start)
    }
    const session = Session.create({ id, ...this.#options })
    const create: NewSession = { header: session.header, logId: LogId(newId()), inherited: [] }
    const start = { logId: create.logId, epoch: 1, nextSeq: SessionSeq(0), create }
    return this.#toLive(session, release, { start, pace: new KeyframePace(null, 0), residentFrom: start.nextSeq })
  }

  #toLive(session: Session, release: Release, parts: Omit<OpenedSession, 'session'>): LiveSession {
    const { storage, now, onStorageStatus, onListenerError } = this.#options
    const { id } = session
    return new LiveSession({
      ...{ session, storage, release, now, ...parts },
      openPrefix: to => openPrefix({ storage, options: this.#options }, id, to, session.inheritedEventCount),
      onStatus: status => onStorageStatus?.(id, status),
      ...(onListenerError && { onError: onListenerError }),
    })
  }
}

export type ForkOptions = {
  /** Id of the child; a fresh one unless said otherwise. */
  readonly id?: SessionId
  /** Seq of the last event the child inherits: the end of a turn, or after it; null to inherit nothing. */
  readonly boundary?: number | null
}
