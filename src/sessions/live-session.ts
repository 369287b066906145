/** A session that is open for writing: the log in memory, its storage following behind, and the lease it is held by. */
import { SessionError } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import type { Committed } from '../core/fold.ts'
import { SessionSeq } from '../core/ids.ts'
import { jsonText } from '../core/json.ts'
import type { SessionDifference } from '../core/keyframe.ts'
import type { LoggedRequest } from '../core/request.ts'
import type { Session } from '../core/session.ts'
import { turnsFold } from '../core/turns.ts'
import { type SessionStorage, StorageError } from '../storage/storage.ts'
import { WriteBehind, type WriteBehindOptions, type WriteBehindStatus } from '../storage/write-behind.ts'
import { AnswerJournal } from './answer-journal.ts'
import { blobsIn } from './blobs.ts'
import type { KeyframePace } from './keyframe-pace.ts'
import type { Release } from './lease.ts'
import { Merging } from './merging.ts'
import { readStoredPages } from './stored-events.ts'

/** A committed event with its JSON text, made once for disk, page and other tabs. */
export type StoredCommit = Committed & { readonly text: string }

export type CommitListener = (commit: StoredCommit) => void

/** Where the events of a session go, and from which one on. */
export type WriterStart = Pick<WriteBehindOptions, 'logId' | 'epoch' | 'nextSeq' | 'create' | 'hasJournal'>

export type LiveSessionParts = {
  readonly session: Session
  readonly storage: SessionStorage
  /** Storage has the events before its `nextSeq`. */
  readonly start: WriterStart
  readonly pace: KeyframePace
  /** Events before it that are not on the surface are read from storage. */
  readonly residentFrom: SessionSeq
  readonly now: () => number
  readonly release: Release
  /** The session of the first so many stored events, read-only. */
  readonly openPrefix: (to: SessionSeq) => Promise<Session>
  readonly onStatus?: (status: WriteBehindStatus) => void
  /** Told when no keyframe can be made; the session goes on without. */
  readonly onError?: (error: unknown) => void
}

export class LiveSession {
  readonly session: Session
  /** What comes of a model call, until an event settles it. */
  readonly journal: AnswerJournal
  readonly #parts: LiveSessionParts
  readonly #writer: WriteBehind
  readonly #merging: Merging
  readonly #listeners = new Set<CommitListener>()
  readonly #unsubscribe: () => void
  #residentFrom: SessionSeq
  #makesKeyframes = true
  #closed = false

  constructor(parts: LiveSessionParts) {
    const { session, storage, start, now, onStatus } = parts
    this.session = session
    this.#parts = parts
    this.#residentFrom = parts.residentFrom
    this.#merging = new Merging(() => storage.merge(session.id, start.epoch))
    this.#writer = new WriteBehind({
      ...start,
      storage,
      id: session.id,
      now,
      // What opening adds is no change anybody made.
      quietTo: SessionSeq(session.length),
      onStatus: status => {
        if (this.#closed) return
        if (status.state === 'writing') this.#merging.wrote()
        if (status.state === 'idle') this.#makeKeyframe()
        onStatus?.(status)
      },
      onKeyframe: seq => this.#evict(seq),
    })
    this.journal = new AnswerJournal((text, isFirst) => this.#writer.journal(text, isFirst))
    for (let seq: number = start.nextSeq; seq < session.length; seq += 1) {
      const text = jsonText(session.eventAt(seq))
      // The first of them settles what the journal was kept for, or nothing does.
      const settles = start.hasJournal === true && seq === start.nextSeq
      this.#writer.enqueue(SessionSeq(seq), text, { settles, blobs: blobsIn(text) })
      parts.pace.grow(text.length)
    }
    this.#makeKeyframe(start.create !== undefined && session.inheritedEventCount > 0)
    this.#unsubscribe = session.subscribe(committed => this.#publish(committed))
  }

  /** How much is not stored yet, and why. */
  get storageStatus(): WriteBehindStatus {
    return this.#writer.status
  }

  /** Storage knows the session: one nothing was said in is nowhere yet. */
  get isStored(): boolean {
    return this.#writer.isCreated
  }

  /** Calls `listener` for each event committed from now on; returns its remover. Listeners must not throw. */
  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /**
   * Resolves when every event so far is stored for good.
   *
   * @throws {StorageError} and keeps the events (SPEC W6, W7); `closed` after `close`: what is appended then is stored
   * nowhere, and nothing may happen on the strength of it.
   */
  flush(): Promise<void> {
    this.journal.flush()
    return this.#closed ? Promise.reject(this.#closedError()) : this.#writer.flush()
  }

  /**
   * Events `from` (inclusive) to `to` (exclusive), in order, from memory or storage.
   *
   * @throws {SessionError} `not-resident` when the range is not one of the log.
   */
  async *readEvents({ from = 0, to = this.session.length }: EventRange = {}): AsyncGenerator<SessionEvent, void, void> {
    this.#checkRange(from, to)
    for (let seq = from; seq < to; seq += 1) {
      const event = this.session.eventAt(seq)
      if (event !== undefined) {
        yield event
        continue
      }
      const end = Math.min(to, this.#residentFrom)
      yield* this.#readStored(seq, end)
      seq = end - 1
    }
  }

  /**
   * The request that was, or would have been, sent when the next event had the seq `seq`; null when no header was logged
   * by then. For an event that settles a model call that is the request it answers.
   *
   * @throws {SessionError} `not-resident` when `seq` is beyond the log.
   */
  async requestAt(seq: number): Promise<LoggedRequest | null> {
    const { session } = this
    if (this.#residentFrom === 0 || seq === session.length || !(seq < session.length)) return session.requestAt(seq)
    return (await this.at(seq)).requestAt(seq)
  }

  /**
   * The session as it was when the next event had the seq `seq`, read-only.
   *
   * @throws {SessionError} `not-resident` when `seq` is beyond the log. @throws {StorageError} when it cannot be read.
   */
  async at(seq: number): Promise<Session> {
    this.#checkRange(0, seq)
    const { openPrefix } = this.#parts
    await this.flush()
    return openPrefix(SessionSeq(seq))
  }

  /**
   * Reads the whole log from storage, folds it anew and names the first difference to what is in memory; null when there
   * is none.
   *
   * @throws {StorageError} `corrupt` when what is stored cannot be read; others as `flush` does.
   * @throws {SessionError} of the first event that breaks a rule.
   */
  async verify(): Promise<SessionDifference | null> {
    const { session } = this
    const events: SessionEvent[] = []
    // What is appended while the answer is on its way belongs to it as well.
    do {
      // As of before the flush: what is appended right after it is not stored.
      const { length } = session
      await this.flush()
      for await (const event of this.#readStored(events.length, length)) events.push(event)
    } while (events.length < session.length)
    return session.verify(events)
  }

  /**
   * Stores what is left and gives the lease up; `discard` gives it up without storing. Safe to call twice.
   *
   * @throws {StorageError} when the last flush fails: then the session stays open and keeps its events, unless another
   * writer has it.
   */
  async close({ discard = false }: { readonly discard?: boolean } = {}): Promise<void> {
    const { session } = this
    const writer = this.#writer
    this.journal.flush()
    try {
      // A session nothing was ever written to leaves nothing behind. What is appended while the answer is on its way
      // belongs to it as well.
      if (!discard && session.length > 0) {
        do await writer.flush()
        while (writer.status.unsaved > 0)
      }
    } catch (error) {
      if (writer.status.state === 'lost') this.#letGo()
      throw error
    }
    this.#letGo()
    // Also what is tried again by then: nothing may bring back what is about to be deleted.
    if (discard) writer.stop(this.#closedError())
  }

  /** The lease was given up; nothing is stored any more. */
  get isClosed(): boolean {
    return this.#closed
  }

  #closedError(): StorageError {
    const { id } = this.session
    return new StorageError('closed', `Session ${id} is closed; nothing more is stored`, { sessionId: id })
  }

  #letGo(): void {
    this.#closed = true
    this.journal.end()
    this.#merging.stop()
    this.#unsubscribe()
    this.#parts.release()
  }

  #readStored(from: number, to: number): AsyncGenerator<SessionEvent, void, void> {
    const { storage, start } = this.#parts
    const range = { from: SessionSeq(from), to: SessionSeq(to) }
    return readStoredPages(storage, { header: this.session.header, logId: start.logId, nextSeq: range.to }, range)
  }

  #checkRange(from: number, to: number): void {
    const { id, length } = this.session
    const isRange = Number.isInteger(from) && Number.isInteger(to) && from >= 0 && from <= to
    if (isRange && to <= length) return
    throw new SessionError('not-resident', `Expected a range within 0…${length}; found ${from}…${to}`, {
      sessionId: id,
    })
  }

  #publish(committed: Committed): void {
    const writer = this.#writer
    const { event } = committed
    let text: string
    try {
      text = jsonText(event)
      writer.enqueue(event.seq, text, { settles: this.#settles(event), blobs: blobsIn(text) })
    } catch (error) {
      // It is committed and cannot be stored, so nothing after it may be: flush and close say so from now on.
      const message = `Event ${event.seq} of session ${this.session.id} cannot be stored`
      writer.stop(
        new StorageError('invalid-batch', message, { sessionId: this.session.id, seq: event.seq }, { cause: error }),
      )
      throw error
    }
    this.#parts.pace.grow(text.length)
    this.#makeKeyframe()
    // Its failure is in the status, and whoever needs to know flushes.
    if (event.type === 'turn/end') writer.flush().catch(() => undefined)
    for (const listener of [...this.#listeners]) listener({ ...committed, text })
  }

  /** Whether an event is what came of the call whose journal is kept. */
  #settles(event: SessionEvent): boolean {
    const { call } = this.journal
    if (call === null || (event.type !== 'assistant/message' && event.type !== 'assistant/attempt')) return false
    if (event.data.turn !== call.turn || event.data.step !== call.step) return false
    if (event.type === 'assistant/message' && event.data.message.id !== call.messageId) return false
    this.journal.end()
    return true
  }

  #makeKeyframe(isWanted = false): void {
    const { session } = this
    const { pace, onError } = this.#parts
    if (!this.#makesKeyframes) return
    // In a flood it is made once what came is stored: until then the next one would take its place.
    const isDue = () => pace.isDue(session.fold(turnsFold).openTurn !== null) && this.#writer.status.unsaved <= FLOOD
    if (!isWanted && !isDue()) return
    try {
      this.#writer.keyframe(pace.next(session.keyframe()))
    } catch (error) {
      // Such as a fold of somebody else's that has no JSON. It will not have one the next time either.
      this.#makesKeyframes = false
      onError?.(error)
    }
  }

  /** All events before `seq` are stored, and so is what they come to. */
  #evict(seq: SessionSeq): void {
    this.session.evict(seq)
    this.#residentFrom = seq
  }
}

/** Events that wait to be stored, from which on there is a flood of them. */
const FLOOD = 200

export type EventRange = { readonly from?: number; readonly to?: number }
