/**
 * Follows one live session with storage: what is appended in memory is written in batches, one transaction at a time,
 * and `flush` says when everything is stored for good.
 */
import { type LogId, SessionSeq, type SessionId } from '../core/ids.ts'
import { toStorageError } from './platform-error.ts'
import {
  type AppendBatch,
  type Durability,
  type NewSession,
  type SessionRecord,
  type SessionStorage,
  StorageError,
  type StorageErrorCode,
} from './storage.ts'

/** An event that is not known to be stored. */
export type UnsavedEvent = { readonly seq: SessionSeq; readonly text: string }

export type WriteBehindStatus = {
  /** How many events are not known to be stored. */
  readonly unsaved: number
  /** Why the last write failed; `null` after a write that did not. */
  readonly lastError: StorageError | null
  /**
   * `paused`: a write failed, the next event or flush tries again. `lost`: this writer may not write any more, since
   * someone else does; `lastError` says why.
   */
  readonly state: 'idle' | 'writing' | 'paused' | 'lost'
}

export type WriteBehindOptions = {
  readonly storage: SessionStorage
  readonly id: SessionId
  /** The log the session's own events go to. */
  readonly logId: LogId
  /** Epoch of the claim, or 1 with `create`. */
  readonly epoch: number
  /** Seq of the first event that will be enqueued. */
  readonly nextSeq: SessionSeq
  /** Creates the session with the first batch that is stored. */
  readonly create?: NewSession
  /** Clock, epoch ms. */
  readonly now: () => number
  /** Runs when a write starts, succeeds or fails. What it throws is an uncaught error of its own. */
  readonly onStatus?: (status: WriteBehindStatus) => void
  /** Most text of one batch, in UTF-16 units; a longer event is a batch of its own. */
  readonly maxBatchBytes?: number
}

type Flush = {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: StorageError) => void
}

/** Refusals that trying again cannot change. */
const PERMANENT: ReadonlySet<StorageErrorCode> = new Set(['stale-epoch', 'seq-conflict', 'exists'])

/**
 * The queue between a live session and its storage. Events leave it only once they are stored, so a failed write loses
 * nothing and changes no order.
 */
export class WriteBehind {
  readonly #options: WriteBehindOptions
  readonly #maxBatchLength: number
  /** Events not known to be stored, those of a running write included. */
  readonly #queue: UnsavedEvent[] = []
  /** Seq of the first event of the queue, or of the next one to come. */
  #storedSeq: SessionSeq
  #create: NewSession | undefined
  /** A stored batch was relaxed and no strict one came after it. */
  #relaxed = false
  /** A write failed after it may have been stored: its answer can have been lost on the way. */
  #doubtful = false
  #writing = false
  #paused = false
  #lost: StorageError | null = null
  #lastError: StorageError | null = null
  #flush: Flush | null = null

  constructor(options: WriteBehindOptions) {
    this.#options = options
    this.#maxBatchLength = options.maxBatchBytes ?? 1_000_000
    this.#storedSeq = options.nextSeq
    this.#create = options.create
  }

  get status(): WriteBehindStatus {
    const state = this.#lost ? 'lost' : this.#writing ? 'writing' : this.#paused ? 'paused' : 'idle'
    return { unsaved: this.#queue.length, lastError: this.#lastError, state }
  }

  /**
   * Gives the writing up: what was enqueued stays unsaved, and `flush` rejects with `error` from now on. For an event
   * that has no text to store: what comes after it must not be stored without it.
   */
  stop(error: StorageError): void {
    this.#lost ??= error
    this.#lastError = error
    if (!this.#writing) this.#report()
  }

  /** Events not known to be stored, in order; still there when the writer is lost. */
  unsaved(): readonly UnsavedEvent[] {
    return [...this.#queue]
  }

  /**
   * Takes the JSON text of the next event; it is written from the next microtask on, or kept when the writer is lost.
   *
   * @throws {StorageError} `invalid-batch` when `seq` is not the next one.
   */
  enqueue(seq: SessionSeq, text: string): void {
    const expected = this.#storedSeq + this.#queue.length
    if (seq !== expected) {
      const facts = { sessionId: this.#options.id, seq, expected, actual: seq }
      throw new StorageError(
        'invalid-batch',
        `Session ${this.#options.id} goes on at seq ${expected}, not ${seq}`,
        facts,
      )
    }
    this.#queue.push({ seq, text })
    this.#paused = false
    this.#start()
  }

  /**
   * Resolves when everything enqueued, also while it runs, is stored with strict durability, and the session exists.
   * Callers that come while one runs share it. A write that was under way when it was called and fails is tried again.
   *
   * @throws {StorageError} what the storage refused with; the events are kept.
   */
  flush(): Promise<void> {
    if (this.#lost) return Promise.reject(this.#lost)
    if (this.#flush) return this.#flush.promise
    if (!this.#writing && !this.#isUnflushed()) return Promise.resolve()
    this.#flush = newFlush()
    this.#paused = false
    this.#start()
    return this.#flush.promise
  }

  #start(): void {
    if (this.#writing || this.#lost) return
    this.#writing = true
    void this.#drain()
  }

  /** Writes batch after batch until nothing is left to do. Never rejects: each failure is reported where it ends. */
  async #drain(): Promise<void> {
    // Everything that is appended in one job goes into one batch.
    await Promise.resolve()
    this.#report()
    let error: StorageError | null = null
    while (this.#hasWork()) {
      // Taken before the write: a flush that joins while it runs is not answered by its failure.
      const flush = this.#flush
      error = await this.#write(flush ? 'strict' : 'relaxed')
      if (error && this.#isPermanent(error)) this.#lost ??= error
      else if (error && flush === this.#flush) this.#paused = true
      this.#lastError = this.#lost ?? error
      if (this.#hasWork()) this.#report()
    }
    // From here to the end is one job, so no event can slip between the last look at the queue and the answer.
    this.#writing = false
    const flush = this.#flush
    this.#flush = null
    const failed = this.#lost ?? error
    if (failed) flush?.reject(failed)
    else flush?.resolve()
    this.#report()
  }

  #hasWork(): boolean {
    if (this.#lost || this.#paused) return false
    return this.#flush ? this.#isUnflushed() : this.#queue.length > 0
  }

  #isUnflushed(): boolean {
    return this.#queue.length > 0 || this.#relaxed || this.#create !== undefined
  }

  /** Stores the next batch; answers the failure instead of throwing it. */
  async #write(durability: Durability): Promise<StorageError | null> {
    const events = this.#nextEvents()
    try {
      await this.#options.storage.append(this.#batch(events, durability))
      this.#stored(events.length, durability)
      return null
    } catch (thrown) {
      const error = toStorageError(thrown, `append to session ${this.#options.id}`, { sessionId: this.#options.id })
      if (!this.#isPermanent(error)) {
        this.#doubtful = true
        return error
      }
      return this.#doubtful && error.code !== 'stale-epoch' ? this.#resolveDoubt(error) : error
    }
  }

  /**
   * A refusal after a doubtful failure: when what is stored beyond our count is our own batch, word for word, its answer
   * was lost and the events are stored. Otherwise the refusal stands.
   */
  async #resolveDoubt(refusal: StorageError): Promise<StorageError | null> {
    const { storage, id } = this.#options
    try {
      const record = await storage.get(id)
      const count = record && this.#isOurs(record) ? record.nextSeq - this.#storedSeq : -1
      if (!record || count < 0 || count > this.#queue.length) return refusal
      const segments = count === 0 ? [] : await storage.read(id, this.#storedSeq, record.nextSeq)
      if (count > 0 && (segments.length !== 1 || segments[0]?.text !== textOf(this.#queue.slice(0, count))))
        return refusal
      this.#stored(count, 'relaxed')
      return null
    } catch (thrown) {
      // Not settled yet: the events stay, and the next try is refused and looks again.
      return toStorageError(thrown, `look at session ${id} after a refused write`, { sessionId: id })
    }
  }

  /** A session that was stored and is not any more was deleted, by somebody or with all of the site's data. */
  #isPermanent({ code }: StorageError): boolean {
    return PERMANENT.has(code) || (code === 'not-found' && this.#create === undefined)
  }

  /** Nobody else has claimed the session, nor created one of the same name. */
  #isOurs(record: SessionRecord): boolean {
    return record.epoch === this.#options.epoch && record.logId === this.#options.logId
  }

  #stored(count: number, durability: Durability): void {
    this.#queue.splice(0, count)
    this.#storedSeq = SessionSeq(this.#storedSeq + count)
    this.#create = undefined
    this.#relaxed = durability === 'relaxed'
    this.#doubtful = false
  }

  /** The first events of the queue, as many as fit in a batch, but at least one if there is one. */
  #nextEvents(): readonly UnsavedEvent[] {
    let length = 0
    let count = 0
    for (const { text } of this.#queue) {
      length += text.length + 1
      if (count > 0 && length > this.#maxBatchLength) break
      count++
    }
    return this.#queue.slice(0, count)
  }

  #batch(events: readonly UnsavedEvent[], durability: Durability): AppendBatch {
    const { id, logId, epoch, now } = this.#options
    const segment = { firstSeq: this.#storedSeq, count: events.length, text: textOf(events) }
    return { id, logId, epoch, segment, durability, time: now(), ...(this.#create ? { create: this.#create } : {}) }
  }

  #report(): void {
    const { onStatus } = this.#options
    if (!onStatus) return
    try {
      onStatus(this.status)
    } catch (error) {
      // A listener's fault must not stop the writing, nor be swallowed.
      queueMicrotask(() => {
        throw error
      })
    }
  }
}

function textOf(events: readonly UnsavedEvent[]): string {
  return `[${events.map(event => event.text).join(',')}]`
}

function newFlush(): Flush {
  let resolve: Flush['resolve'] = () => {}
  let reject: Flush['reject'] = () => {}
  const promise = new Promise<void>((onStored, onFailed) => {
    resolve = onStored
    reject = onFailed
  })
  return { promise, resolve, reject }
}
