/** The Session: an append-only log in memory, and everything derived from it (SPEC L1–L12, S9–S11). */
import { refusal, SessionError } from './errors.ts'
import type {
  CoreEventType,
  EventData,
  EventOf,
  Message,
  SessionEvent,
  SessionHeader,
  SurfaceEventType,
} from './events.ts'
import { SESSION_FORMAT_VERSION } from './events.ts'
import { type Committed, type Fold, FoldSet } from './fold.ts'
import { isSafeNonNegativeInteger, SessionId, SessionSeq } from './ids.ts'
import { snapshotJson } from './json.ts'
import { admitIntent, checkEnvelope, type Placement, planAdmission, snapshotOf, type SurfaceIntent } from './log.ts'
import { type MessageSequence, messagesFold } from './messages.ts'
import { requestFold } from './request-header.ts'
import { checkHeader } from './shapes.ts'
import { type SurfaceState, surfaceFold } from './surface.ts'
import { turnsFold } from './turns.ts'

/** Intent of `append` for one type; a union of types gets the union of their intents and is checked at run time. */
export type IntentArguments<Type extends CoreEventType> = Type extends 'assistant/message'
  ? [intent: { readonly surfaceOp: SurfaceIntent['surfaceOp']; readonly sourceEventSeqs?: never }]
  : Type extends SurfaceEventType
    ? [intent: SurfaceIntent]
    : [intent?: { readonly surfaceOp?: never; readonly sourceEventSeqs?: never }]

/** Types a caller may append; `session/end-seed` is the constructor's own. */
export type AppendableEventType = Exclude<CoreEventType, 'session/end-seed'>

export type SessionListener = (committed: Committed) => unknown

export type SessionOptions = {
  /** The clock, epoch ms. Called once for each append. */
  readonly now: () => number
  /** Told when a listener throws or rejects; the append it was told about stands. */
  readonly onListenerError?: (error: unknown) => void
  /** Folds this session has besides its own, from its first event on; read with `fold`. Their keys must differ. */
  readonly folds?: readonly Fold<unknown>[]
}

export type CreateOptions = SessionOptions & {
  readonly id: string
  readonly header?: Partial<Omit<SessionHeader, 'id' | 'version'>>
  /** Events to start from; copied and frozen. Even an empty list counts as a seed. */
  readonly seed?: readonly SessionEvent[]
  /** For a seeded header: how many of the seed's events are inherited. Must equal the seed's length. */
  readonly inheritedEventCount?: number
}

export type RestoreOptions = SessionOptions & {
  readonly header: SessionHeader
  /** The whole log. Ownership passes to the session: events are neither copied nor frozen. */
  readonly events: readonly SessionEvent[]
  readonly inheritedEventCount?: number
}

/** The surface as others see it: what the model reads now. */
export class SessionSurface {
  readonly #state: SurfaceState
  #copy: readonly SessionSeq[] = []
  #copyGeneration = 0

  constructor(state: SurfaceState) {
    this.#state = state
  }

  /** Number of nodes. */
  get length(): number {
    return this.#state.nodes.length
  }

  /** Seqs of the nodes in reading order: a copy, made when asked for after a change. `at` and `length` cost nothing. */
  get nodes(): readonly SessionSeq[] {
    if (this.#copy.length !== this.#state.nodes.length || this.#copyGeneration !== this.#state.replaceGeneration) {
      this.#copy = Object.freeze([...this.#state.nodes])
      this.#copyGeneration = this.#state.replaceGeneration
    }
    return this.#copy
  }

  /** The seq at `position`; negative counts from the end. */
  at(position: number): SessionSeq | undefined {
    return this.#state.nodes.at(position)
  }

  /** +1 for each replacement. */
  get replaceGeneration(): number {
    return this.#state.replaceGeneration
  }

  /** +1 for each replacement and each message projection. */
  get contentGeneration(): number {
    return this.#state.contentGeneration
  }
}

/** The folds every session has, in the order they are advanced. */
const coreFolds: readonly Fold<unknown>[] = [surfaceFold, messagesFold, turnsFold, requestFold]

/**
 * A conversation: the log in memory, the surface and the messages it derives to. Needs no worker and no storage.
 * `append` is synchronous: when it returns, the event is part of the log; when it throws, nothing changed.
 */
export class Session {
  readonly header: SessionHeader
  /** Number of events the constructor was given; live events start here. */
  readonly firstLiveSeq: SessionSeq
  /** Events that are another session's, at the start of the log; 0 unless a fork. */
  readonly inheritedEventCount: number
  readonly surface: SessionSurface

  readonly #options: SessionOptions
  readonly #events: SessionEvent[] = []
  readonly #folds: FoldSet
  readonly #surface: SurfaceState
  readonly #listeners: SessionListener[] = []
  readonly #eventAt = (seq: SessionSeq): SessionEvent | undefined => this.#events[seq]
  #publishing = false
  #snapshot: readonly SessionEvent[] | null = null

  private constructor(
    header: SessionHeader,
    options: SessionOptions,
    seed: readonly unknown[] | null,
    inherited: number,
  ) {
    this.header = header
    this.#options = options
    this.#folds = new FoldSet([...coreFolds, ...(options.folds ?? [])])
    this.#surface = this.#folds.state(surfaceFold)
    this.surface = new SessionSurface(this.#surface)
    this.inheritedEventCount = inherited
    this.#admitAll(seed ?? [])
    this.firstLiveSeq = SessionSeq(this.#events.length)
    this.#markEndOfSeed(seed !== null)
  }

  /**
   * A new session, optionally from a seed that is copied and frozen.
   *
   * @throws {SessionError} `header`, `payload` for two folds of one key, or the error of the first event that is refused, with its `index`.
   */
  static create(options: CreateOptions): Session {
    const header = snapshotJson<SessionHeader>({
      createdAt: options.header?.createdAt ?? options.now(),
      isSeeded: false,
      ...options.header,
      version: SESSION_FORMAT_VERSION,
      id: options.id,
    })
    checkHeader(header)
    const seed = options.seed === undefined ? null : [...options.seed]
    const inherited = inheritedCount(header, seed?.length ?? null, options.inheritedEventCount)
    if (header.isSeeded && inherited !== seed?.length) {
      throw new SessionError('header', `A new seeded session inherits its whole seed, not ${inherited} events of it`)
    }
    const copies = seed?.map((event, index) => atIndex(index, () => snapshotJson(event))) ?? null
    return new Session(header, options, copies, inherited)
  }

  /**
   * A session from a stored log. The session takes the events over: they are neither copied nor frozen.
   *
   * @throws {SessionError} `header`, `payload` for two folds of one key, or the error of the first event that is refused, with its `index`.
   */
  static fromRestore(options: RestoreOptions): Session {
    const { header, events } = options
    checkHeader(header)
    const inherited = inheritedCount(header, events.length, options.inheritedEventCount)
    return new Session(Object.freeze(header), options, events, inherited)
  }

  get id(): SessionId {
    return SessionId(this.header.id)
  }

  /** Number of events; the seq the next one gets. */
  get length(): number {
    return this.#events.length
  }

  /** The messages the model would read now: an immutable sequence, O(1) to get. */
  get messages(): MessageSequence {
    return this.#folds.state(messagesFold)
  }

  /** The messages the model would read now, as a new array of shared frozen messages. */
  deriveMessages(): Message[] {
    return this.messages.toArray()
  }

  /** The state of a fold of this session. @throws {SessionError} `payload` when it is not registered. */
  fold<State>(fold: Fold<State>): State {
    return this.#folds.state(fold)
  }

  /** The event at `seq` when it is resident: surface events and the tail always are. */
  eventAt(seq: number): SessionEvent | undefined {
    return this.#events[seq]
  }

  /**
   * All events as a frozen array that never grows.
   *
   * @deprecated Copies the log; read ranges with `readEvents` of an open session, or ask `eventAt`.
   */
  snapshotEvents(from = 0, to: number = this.#events.length): readonly SessionEvent[] {
    if (from === 0 && to === this.#events.length) {
      this.#snapshot ??= Object.freeze([...this.#events])
      return this.#snapshot
    }
    return Object.freeze(this.#events.slice(from, to))
  }

  /** Calls `listener` after each committed event; returns its remover. */
  subscribe(listener: SessionListener): () => void {
    // A call of its own: a listener may be subscribed twice, and each remover removes its own.
    const own: SessionListener = committed => listener(committed)
    this.#listeners.push(own)
    return () => {
      const index = this.#listeners.indexOf(own)
      if (index !== -1) this.#listeners.splice(index, 1)
    }
  }

  /**
   * Adds one event and returns it, deep-frozen. `data` is snapshotted: later changes to it are not seen.
   *
   * @throws {SessionError} with the code of the first rule that is broken; then nothing has changed.
   */
  append<Type extends AppendableEventType>(
    type: Type,
    data: EventData[Type],
    ...rest: IntentArguments<Type>
  ): EventOf<Type> {
    const seq = SessionSeq(this.#events.length)
    const placement = admitIntent(type, rest[0], seq)
    const snapshot = snapshotOf(data, type, seq, 'data')
    if (this.#publishing) {
      throw refusal('reentrant', { type, seq }, 'was appended from inside a listener of the same session')
    }
    const time = this.#now(type)
    // Getters and the clock may have appended meanwhile: the seq is taken last.
    const event = candidate(type, SessionSeq(this.#events.length), time, snapshot, placement)
    const surfaceChange = planAdmission(event, this.#surface, this.#eventAt)
    this.#commit({ event, surfaceChange })
    return event as unknown as EventOf<Type>
  }

  /** The time for a new event: what a restore would refuse is refused here. */
  #now(type: string): number {
    const time = this.#options.now()
    if (!Number.isSafeInteger(time)) {
      throw refusal(
        'envelope',
        { type, seq: this.#events.length },
        `got ${String(time)} from the clock, not a safe integer`,
      )
    }
    return time
  }

  #commit(committed: Committed): void {
    this.#events.push(committed.event)
    this.#snapshot = null
    this.#folds.evolve(committed)
    if (this.#listeners.length === 0) return
    this.#publishing = true
    for (const listener of [...this.#listeners]) this.#notify(listener, committed)
    this.#publishing = false
  }

  /** A listener's failure is its own: it is reported and changes nothing. */
  #notify(listener: SessionListener, committed: Committed): void {
    const report = (error: unknown) => {
      try {
        this.#options.onListenerError?.(error)
      } catch {
        // The reporter failed too; there is nobody left to tell, and the commit must not be undone by it.
      }
    }
    try {
      const result = listener(committed)
      if (isThenable(result)) result.then(undefined, report)
    } catch (error) {
      report(error)
    }
  }

  #admitAll(events: readonly unknown[]): void {
    // Not `forEach`, which would step over a hole.
    for (let index = 0; index < events.length; index += 1) {
      atIndex(index, () => {
        const event = events[index]
        checkEnvelope(event, index)
        const surfaceChange = planAdmission(event, this.#surface, this.#eventAt)
        this.#commit({ event, surfaceChange })
      })
    }
  }

  /** Marks where the constructor's events end and live ones begin (SPEC R6). */
  #markEndOfSeed(seeded: boolean): void {
    const cut = this.#events[this.inheritedEventCount]
    const inherits = this.header.isSeeded && !(cut?.type === 'session/end-seed' && cut.data.inherited === true)
    if (inherits) this.#mark({ inherited: true })
    else if (seeded && this.#events.at(-1)?.type !== 'session/end-seed') this.#mark({})
  }

  #mark(data: EventData['session/end-seed']): void {
    const seq = SessionSeq(this.#events.length)
    const event = candidate('session/end-seed', seq, this.#now('session/end-seed'), Object.freeze(data), {})
    this.#commit({ event, surfaceChange: { kind: 'none' } })
  }
}

type Thenable = { then(resolved: undefined, rejected: (error: unknown) => void): unknown }

const isThenable = (value: unknown): value is Thenable =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

function candidate(type: string, seq: SessionSeq, time: number, data: unknown, placement: Placement): SessionEvent {
  const { surfaceOp, sourceEventSeqs } = placement
  const event =
    surfaceOp === undefined
      ? sourceEventSeqs === undefined
        ? { type, seq, time, data }
        : { type, seq, time, data, sourceEventSeqs }
      : sourceEventSeqs === undefined
        ? { type, seq, time, data, surfaceOp }
        : { type, seq, time, data, surfaceOp, sourceEventSeqs }
  return Object.freeze(event) as unknown as SessionEvent
}

/** Runs `admit` for the event at `index`; a refusal says which one it was. */
function atIndex<Result>(index: number, admit: () => Result): Result {
  try {
    return admit()
  } catch (error) {
    if (!(error instanceof SessionError)) throw error
    const { code, seq = index, eventType, path, expected, actual } = error
    const facts = { index, seq, eventType, path, expected, actual }
    throw new SessionError(code, `Invalid event at index ${index}: ${error.message}`, facts, { cause: error })
  }
}

function inheritedCount(header: SessionHeader, events: number | null, count: number | undefined): number {
  if (!header.isSeeded && (count === undefined || count === 0)) return 0
  if (header.isSeeded && isSafeNonNegativeInteger(count) && events !== null && count <= events) return count
  const expected = header.isSeeded ? `at most the ${events ?? 'missing'} seeded` : 'no'
  throw new SessionError('header', `Session ${header.id} inherits ${expected} events; found ${count}`, {
    sessionId: header.id,
  })
}
