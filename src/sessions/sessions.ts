/** All sessions of one storage: create, open, list, rename, delete. */
import { SessionError } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import type { Fold } from '../core/fold.ts'
import { LogId, SessionId, SessionSeq } from '../core/ids.ts'
import { repairLog } from '../core/repair.ts'
import { Session } from '../core/session.ts'
import { type NewSession, type SessionRecord, type SessionStorage, StorageError } from '../storage/storage.ts'
import { WriteBehind, type WriteBehindOptions, type WriteBehindStatus } from '../storage/write-behind.ts'
import { KeyedQueue } from './keyed-queue.ts'
import type { Lease, Release } from './lease.ts'
import { LiveSession } from './live-session.ts'

export type SessionsOptions = {
  readonly storage: SessionStorage
  readonly lease: Lease
  /** Clock, epoch ms. */
  readonly now: () => number
  /** A fresh unique id on each call. */
  readonly newId: () => string
  /** Told when the storage of a live session gets further or fails. */
  readonly onStorageStatus?: (id: SessionId, status: WriteBehindStatus) => void
  /** Told when a listener of a live session fails. */
  readonly onListenerError?: (error: unknown) => void
  /** Folds every live session has besides its own; read with `live.session.fold`. */
  readonly folds?: readonly Fold<unknown>[]
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
    const { storage, now, newId, onListenerError, folds = [] } = this.#options
    const options = { now, folds, ...(onListenerError === undefined ? {} : { onListenerError }) }
    const record = await storage.claim(id)
    if (record === null) {
      const session = Session.create({ id, ...options })
      const create: NewSession = { header: session.header, logId: LogId(newId()), inherited: [] }
      const writer = this.#writer(id, { logId: create.logId, epoch: 1, nextSeq: SessionSeq(0), create })
      return new LiveSession({ session, storage, writer, release }, [])
    }
    const stored = await readAll(storage, record)
    const events = [...stored, ...repairLog(stored)]
    const inheritedEventCount = record.header.isSeeded ? { inheritedEventCount: inheritedCut(stored) } : {}
    const session = Session.fromRestore({ header: record.header, events, ...options, ...inheritedEventCount })
    const unsaved: SessionEvent[] = []
    for (let seq = stored.length; seq < session.length; seq += 1) unsaved.push(session.eventAt(seq) as SessionEvent)
    const writer = this.#writer(id, record)
    return new LiveSession({ session, storage, writer, release }, unsaved)
  }

  #writer(id: SessionId, start: Pick<WriteBehindOptions, 'logId' | 'epoch' | 'nextSeq' | 'create'>): WriteBehind {
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

function summaryOf({ header, title, updatedAt, nextSeq }: SessionRecord): SessionSummary {
  const { id, createdAt } = header
  return { id: SessionId(id), title: title ?? null, createdAt, updatedAt, eventCount: nextSeq }
}

/** Every stored event of a session, parsed. @throws {StorageError} `corrupt` when a segment is not what it says. */
async function readAll(storage: SessionStorage, record: SessionRecord): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  const sessionId = record.header.id
  for (const segment of await storage.read(SessionId(sessionId))) {
    let parsed: unknown
    try {
      parsed = JSON.parse(segment.text)
    } catch (error) {
      throw new StorageError(
        'corrupt',
        `Stored events from seq ${segment.firstSeq} of session ${sessionId} are not JSON`,
        { sessionId, seq: segment.firstSeq },
        { cause: error },
      )
    }
    if (!Array.isArray(parsed) || parsed.length !== segment.count) {
      throw new StorageError(
        'corrupt',
        `Expected ${segment.count} stored events from seq ${segment.firstSeq} of session ${sessionId}`,
        { sessionId, seq: segment.firstSeq },
      )
    }
    for (const event of parsed) events.push(event as SessionEvent)
  }
  return events
}

/** Seq of the last marker that ends inherited events. */
function inheritedCut(events: readonly SessionEvent[]): number {
  return events.findLastIndex(event => event.type === 'session/end-seed' && event.data.inherited === true)
}
