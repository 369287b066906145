/**
 * Follows one live session with storage: what is appended in memory is written in batches, one transaction at a time,
 * and `flush` says when everything is stored for good. Keyframes and the journal of a running call go the same way, so
 * that none of them can overtake the events it belongs to.
 */
import { type LogId, SessionSeq, type SessionId } from '../core/ids.ts'
import {
  BATCH_BYTES,
  countWithin,
  type EventExtras,
  isEndOf,
  isLarge,
  type QueuedEvent,
  segmentsOf,
  type UnsavedEvent,
  widthOf,
} from './batches.ts'
import { type Flush, newFlush } from './flush.ts'
import { toStorageError } from './platform-error.ts'
import {
  type AppendBatch,
  type Durability,
  type JournalPart,
  type NewKeyframe,
  type NewSession,
  type SessionRecord,
  type SessionStorage,
  StorageError,
  type StorageErrorCode,
} from './storage.ts'

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
  /** Told of each keyframe that is stored, and with it all events before. What it throws is an uncaught error of its own. */
  readonly onKeyframe?: (seq: SessionSeq) => void
  /** Most text of one batch, in bytes as browsers keep it; a longer event is a batch of its own. */
  readonly maxBatchBytes?: number
  /** Batches that end here or before are no change anybody made: they leave `updatedAt` alone. */
  readonly quietTo?: SessionSeq
  /** Storage holds a journal. */
  readonly hasJournal?: boolean
}

/** A batch, and the journal it was made of as it was then. */
type Write = { readonly batch: AppendBatch; readonly pieces: string[]; readonly count: number }

/** Refusals that trying again cannot change. */
const PERMANENT: ReadonlySet<StorageErrorCode> = new Set(['stale-epoch', 'seq-conflict', 'exists'])

/**
 * The queue between a live session and its storage. Events leave it only once they are stored, so a failed write loses
 * nothing and changes no order.
 */
export class WriteBehind {
  readonly #options: WriteBehindOptions
  readonly #maxBatchBytes: number
  /** Events not known to be stored, those of a running write included. */
  readonly #queue: QueuedEvent[] = []
  /** Seq of the first event of the queue, or of the next one to come. */
  #storedSeq: SessionSeq
  #create: NewSession | undefined
  /** A stored batch was relaxed and no strict one came after it. */
  #relaxed = false
  /** A write since the last stored one failed and may have been stored all the same: answers get lost on the way. */
  #isInDoubt = false
  #writing = false
  #paused = false
  #lost: StorageError | null = null
  #lastError: StorageError | null = null
  #flush: Flush | null = null
  /** To be stored once all events before it are. */
  #keyframe: NewKeyframe | null = null
  /** There was no space for it: the events go first. */
  #isKeyframeSpared = false
  /** The write under way. */
  #inFlight: Write | null = null
  /** Pieces of the journal not known to be stored, and which part of it they will be. */
  #journal: string[] = []
  #journalPart = 0
  /** Storage may hold a journal. */
  #hasJournal: boolean

  constructor(options: WriteBehindOptions) {
    this.#options = options
    this.#maxBatchBytes = options.maxBatchBytes ?? BATCH_BYTES
    this.#storedSeq = options.nextSeq
    this.#create = options.create
    // How many parts it has does not matter: the next one written is the first of another call.
    this.#hasJournal = options.hasJournal === true
  }

  get status(): WriteBehindStatus {
    const state = this.#lost ? 'lost' : this.#writing ? 'writing' : this.#paused ? 'paused' : 'idle'
    return { unsaved: this.#queue.length, lastError: this.#lastError, state }
  }

  /** Storage knows the session. */
  get isCreated(): boolean {
    return this.#create === undefined
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
    return this.#queue.map(({ width: _width, ...event }) => event)
  }

  /**
   * Takes the JSON text of the next event; it is written from the next microtask on, or kept when the writer is lost.
   *
   * @throws {StorageError} `invalid-batch` when `seq` is not the next one.
   */
  enqueue(seq: SessionSeq, text: string, extras: EventExtras = {}): void {
    const expected = this.#storedSeq + this.#queue.length
    if (seq !== expected) {
      const facts = { sessionId: this.#options.id, seq, expected, actual: seq }
      throw new StorageError(
        'invalid-batch',
        `Session ${this.#options.id} goes on at seq ${expected}, not ${seq}`,
        facts,
      )
    }
    this.#queue.push({ seq, text, width: widthOf(text), ...extras })
    // What the journal did not get yet is in the event.
    if (extras.settles === true) this.#journal = []
    this.#paused = false
    this.#start()
  }

  /** Takes a keyframe, to be stored with the events before it; in place of one that still waits. */
  keyframe(keyframe: NewKeyframe): void {
    const waiting = this.#keyframe
    // One that will never be stored leaves the one it was to replace to its successor.
    const isSkipped = waiting !== null && waiting !== this.#inFlight?.batch.keyframe && keyframe.instead === waiting.seq
    const { instead: _instead, ...rest } = keyframe
    const instead = isSkipped ? waiting.instead : keyframe.instead
    this.#keyframe = instead === undefined ? rest : { ...rest, instead }
    this.#start()
  }

  /**
   * Takes the next piece of the journal of a running call, the first one in place of what there is of a call that nothing
   * settled. A call that is settled has none any more.
   */
  journal(text: string, isFirst = false): void {
    if (isFirst) {
      this.#journal = []
      this.#journalPart = 0
    }
    this.#journal.push(text)
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
    if (this.#writing || !this.#hasWork()) return
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
      error = await this.#write(flush !== null)
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
    if (this.#flush !== null && this.#isUnflushed()) return true
    // Neither of them makes a session that has no events.
    return this.#queue.length > 0 || (this.#create === undefined && (this.#isKeyframeDue() || this.#journal.length > 0))
  }

  /** All events before the keyframe that waits are stored. */
  #isKeyframeDue(): boolean {
    return this.#keyframe !== null && this.#keyframe.seq <= this.#storedSeq
  }

  #isUnflushed(): boolean {
    return this.#queue.length > 0 || this.#relaxed || this.#create !== undefined || this.#journal.length > 0
  }

  /** Stores the next batch; answers the failure instead of throwing it. */
  async #write(isFlush: boolean): Promise<StorageError | null> {
    const events = this.#nextEvents()
    // The last batch of a flush hardens all before it.
    const durability = isFlush && events.length === this.#queue.length ? 'strict' : 'relaxed'
    let write: Write | null = null
    try {
      write = { batch: this.#batch(events, durability), pieces: this.#journal, count: this.#journal.length }
      this.#inFlight = write
      await this.#options.storage.append(write.batch)
    } catch (thrown) {
      const error = toStorageError(thrown, `append to session ${this.#options.id}`, { sessionId: this.#options.id })
      if (!this.#isPermanent(error)) {
        this.#isKeyframeSpared = error.code === 'quota-exceeded' && write?.batch.keyframe !== undefined
        this.#isInDoubt ||= write !== null
        // What may be stored has to be taken away again.
        if (typeof write?.batch.journal === 'object') this.#hasJournal = true
        return error
      }
      return this.#isInDoubt && error.code !== 'stale-epoch' ? this.#resolveDoubt(error) : error
    } finally {
      this.#inFlight = null
    }
    this.#stored(events.length, write.batch.durability)
    this.#storedExtras(write)
    return null
  }

  /**
   * A refusal after a doubtful failure: when what is stored beyond our count is our own batch, word for word, its answer
   * was lost and the events are stored. Otherwise the refusal stands. What came with them is written once more, since it
   * grew from one try to the next and nobody knows which one was stored: the same part of the journal, with all of its
   * pieces, and the keyframe.
   */
  async #resolveDoubt(refusal: StorageError): Promise<StorageError | null> {
    const { storage, id } = this.#options
    try {
      const record = await storage.get(id)
      const count = record && this.#isOurs(record) ? record.nextSeq - this.#storedSeq : -1
      if (!record || count < 0 || count > this.#queue.length) return refusal
      const events = this.#queue.slice(0, count)
      const segments = count === 0 ? [] : await storage.read(id, this.#storedSeq, record.nextSeq)
      if (!isEndOf(segments, events)) return refusal
      this.#stored(count, 'relaxed')
      if (events.some(event => event.settles)) this.#journalPart = 0
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
    this.#isInDoubt = false
    this.#isKeyframeSpared = false
  }

  #storedExtras({ batch: { keyframe, journal }, pieces, count }: Write): void {
    if (journal === 'settled') {
      this.#journalPart = 0
      this.#hasJournal = false
    } else if (journal !== undefined) {
      this.#hasJournal = true
      // Unless the call was settled meanwhile, or another one began: then it is another journal by now.
      if (this.#journal === pieces) {
        this.#journalPart = journal.part + 1
        pieces.splice(0, count)
      }
    }
    if (keyframe === undefined) return
    if (this.#keyframe === keyframe) this.#keyframe = null
    this.#tell(() => this.#options.onKeyframe?.(keyframe.seq))
  }

  /** The first events of the queue, as many as fit in a batch, but at least one if there is one. */
  #nextEvents(): readonly QueuedEvent[] {
    return this.#queue.slice(0, countWithin(this.#queue, 0, this.#maxBatchBytes))
  }

  #batch(events: readonly QueuedEvent[], wanted: Durability): AppendBatch {
    const { id, logId, epoch, now, quietTo = 0 } = this.#options
    const [segment, ...more] = segmentsOf(events, this.#storedSeq)
    const end = this.#storedSeq + events.length
    const create = this.#create
    const isSpared = this.#isKeyframeSpared && events.length > 0
    const keyframe = this.#keyframe !== null && this.#keyframe.seq <= end && !isSpared ? this.#keyframe : null
    const journal = this.#nextJournal(events)
    const blobs = [...new Set(events.flatMap(event => event.blobs ?? []))]
    const journalText = typeof journal === 'object' ? journal?.text : undefined
    const values = [segment.text, ...more.map(({ text }) => text), keyframe?.text ?? '', journalText ?? '']
    return {
      ...{ id, logId, epoch, segment },
      ...(more.length > 0 && { more }),
      durability: values.some(isLarge) ? 'strict' : wanted,
      time: create === undefined && end <= quietTo ? null : now(),
      ...(create && { create }),
      ...(keyframe && { keyframe }),
      ...(journal && { journal }),
      ...(blobs.length > 0 && { blobs }),
    }
  }

  /** What becomes of the journal with a batch of these events, the first of the queue. */
  #nextJournal(events: readonly UnsavedEvent[]): JournalPart | 'settled' | null {
    const settles = events.some(event => event.settles)
    // The journal of the next call waits until the one before has been settled in storage as well.
    const isWaiting = this.#queue.some((event, index) => event.settles && index >= events.length)
    if (this.#journal.length > 0 && !isWaiting) {
      return { part: settles ? 0 : this.#journalPart, text: `[${this.#journal.join(',')}]` }
    }
    return settles && this.#hasJournal ? 'settled' : null
  }

  #report(): void {
    this.#tell(() => this.#options.onStatus?.(this.status))
  }

  #tell(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      // A listener's fault must not stop the writing, nor be swallowed.
      queueMicrotask(() => {
        throw error
      })
    }
  }
}
