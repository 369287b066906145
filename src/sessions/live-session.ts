/** A session that is open for writing: the log in memory, its storage following behind, and the lease it is held by. */
import { SessionError } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import type { Committed } from '../core/fold.ts'
import { SessionSeq } from '../core/ids.ts'
import { jsonText } from '../core/json.ts'
import { type LoggedRequest, requestOf } from '../core/request.ts'
import type { Session } from '../core/session.ts'
import type { SessionDifference } from '../core/keyframe.ts'
import { type SessionStorage, StorageError } from '../storage/storage.ts'
import type { WriteBehind, WriteBehindStatus } from '../storage/write-behind.ts'
import type { Release } from './lease.ts'
import { readStoredEvents } from './stored-events.ts'

/** A committed event with its JSON text, made once for disk, page and other tabs. */
export type StoredCommit = Committed & { readonly text: string }

export type CommitListener = (commit: StoredCommit) => void

type Parts = {
  readonly session: Session
  readonly storage: SessionStorage
  readonly writer: WriteBehind
  readonly release: Release
}

export class LiveSession {
  readonly session: Session
  readonly #parts: Parts
  readonly #listeners = new Set<CommitListener>()
  readonly #unsubscribe: () => void
  #closed = false

  /** Storage has the events of `session` up to `storedLength`. */
  constructor(parts: Parts, storedLength: number) {
    this.session = parts.session
    this.#parts = parts
    for (let seq = storedLength; seq < parts.session.length; seq += 1) {
      parts.writer.enqueue(SessionSeq(seq), jsonText(parts.session.eventAt(seq)))
    }
    this.#unsubscribe = parts.session.subscribe(committed => this.#publish(committed))
  }

  /** How much is not stored yet, and why. */
  get storageStatus(): WriteBehindStatus {
    return this.#parts.writer.status
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
    if (!this.#closed) return this.#parts.writer.flush()
    const { id } = this.session
    return Promise.reject(
      new StorageError('closed', `Session ${id} is closed; nothing more is stored`, { sessionId: id }),
    )
  }

  /**
   * Events `from` (inclusive) to `to` (exclusive), in order, from memory or storage.
   *
   * @throws {SessionError} `not-resident` when the range is not one of the log.
   */
  async *readEvents({ from = 0, to = this.session.length }: EventRange = {}): AsyncGenerator<SessionEvent, void, void> {
    const isRange = Number.isInteger(from) && Number.isInteger(to) && from >= 0 && from <= to
    if (!isRange || to > this.session.length) {
      throw new SessionError('not-resident', `Expected a range within 0…${this.session.length}; found ${from}…${to}`, {
        sessionId: this.session.id,
      })
    }
    for (let seq = from; seq < to; seq += 1) {
      const event = this.session.eventAt(seq)
      if (event !== undefined) {
        yield event
        continue
      }
      const stored = await this.#readStored(seq, Math.min(to, seq + READ_PAGE))
      yield* stored
      seq += stored.length - 1
    }
  }

  /**
   * The request that was, or would have been, sent when the next event had the seq `seq`; null when no header was logged
   * by then. For an event that settles a model call that is the request it answers.
   *
   * @throws {SessionError} `not-resident` when `seq` is beyond the log.
   */
  async requestAt(seq: number): Promise<LoggedRequest | null> {
    const events: SessionEvent[] = []
    for await (const event of this.readEvents({ to: seq })) events.push(event)
    return requestOf(this.session.replay(events))
  }

  /**
   * Reads the whole log from storage, folds it anew and names the first difference to what is in memory; null when there
   * is none.
   *
   * @throws {StorageError} `corrupt` when what is stored cannot be read; others as `flush` does.
   * @throws {SessionError} of the first event that breaks a rule.
   */
  async verify(): Promise<SessionDifference | null> {
    const { session, storage } = this.#parts
    let events: readonly SessionEvent[] = []
    // What is appended while the answer is on its way belongs to it as well.
    do {
      await this.flush()
      if (session.length > 0) events = await readStoredEvents(storage, session)
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
    const { session, writer } = this.#parts
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
  }

  /** The lease was given up; nothing is stored any more. */
  get isClosed(): boolean {
    return this.#closed
  }

  #letGo(): void {
    this.#closed = true
    this.#unsubscribe()
    this.#parts.release()
  }

  async #readStored(from: number, to: number): Promise<SessionEvent[]> {
    const segments = await this.#parts.storage.read(this.session.id, SessionSeq(from), SessionSeq(to))
    return segments
      .flatMap(segment => JSON.parse(segment.text) as SessionEvent[])
      .filter(event => event.seq >= from && event.seq < to)
  }

  #publish(committed: Committed): void {
    const { writer } = this.#parts
    const { event } = committed
    let text: string
    try {
      text = jsonText(event)
      writer.enqueue(event.seq, text)
    } catch (error) {
      // It is committed and cannot be stored, so nothing after it may be: flush and close say so from now on.
      const message = `Event ${event.seq} of session ${this.session.id} cannot be stored`
      writer.stop(
        new StorageError('invalid-batch', message, { sessionId: this.session.id, seq: event.seq }, { cause: error }),
      )
      throw error
    }
    for (const listener of [...this.#listeners]) listener({ ...committed, text })
  }
}

export type EventRange = { readonly from?: number; readonly to?: number }

/** Most events of one read from storage. */
const READ_PAGE = 256
