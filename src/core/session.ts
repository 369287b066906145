/** The Session: an append-only log in memory, and everything derived from it (SPEC L1–L12, S9–S11, K1–K4). */
import { refusal, SessionError } from './errors.ts'
import type { EventDefinition } from './event-definition.ts'
import type {
  EventData,
  EventOf,
  KnownEventType,
  LogOnlyEvent,
  Message,
  SessionEvent,
  SessionHeader,
  SurfaceEventType,
} from './events.ts'
import { SESSION_FORMAT_VERSION } from './events.ts'
import { type ExtensionOptions, Extensions } from './extensions.ts'
import { type Committed, type Fold, FoldSet } from './fold.ts'
import { childHeader } from './fork.ts'
import { isSafeNonNegativeInteger, SessionId, SessionSeq } from './ids.ts'
import { inboxFold, planCancellation } from './inbox.ts'
import type { Invariant, LogView } from './invariant.ts'
import { type JsonDifference, jsonDifference, snapshotJson } from './json.ts'
import { type Keyframe, type KeyframeSource, type LastEvent, lastEventOf, readKeyframe } from './keyframe.ts'
import { admitIntent, checkEnvelope, type Placement, planAdmission, snapshotOf, type SurfaceIntent } from './log.ts'
import type { MessageProjection } from './message-projection.ts'
import { type MessageSequence, messagesFold } from './messages.ts'
import { repair } from './repair.ts'
import { type LoggedRequest, requestOf } from './request.ts'
import { requestFold } from './request-header.ts'
import { ResidentLog } from './resident-log.ts'
import { seedFold } from './seed.ts'
import { checkHeader } from './shapes.ts'
import { type SurfaceState, surfaceFold } from './surface.ts'
import { foldTurns, turnsFold } from './turns.ts'

/** Intent of `append` for one type; a union of types gets the union of their intents and is checked at run time. */
export type IntentArguments<Type extends KnownEventType> = Type extends 'assistant/message'
  ? [intent: { readonly surfaceOp: SurfaceIntent['surfaceOp']; readonly sourceEventSeqs?: never }]
  : Type extends SurfaceEventType
    ? [intent: SurfaceIntent]
    : [intent?: { readonly surfaceOp?: never; readonly sourceEventSeqs?: never }]

/** Types a caller may append; `session/end-seed` is the constructor's own. */
export type AppendableEventType = Exclude<KnownEventType, 'session/end-seed'>

export type SessionListener = (committed: Committed) => unknown

export type SessionOptions = ExtensionOptions & {
  /** The clock, epoch ms. Called once for each append. */
  readonly now: () => number
  /** Told when a listener throws or rejects; the append it was told about stands. */
  readonly onListenerError?: (error: unknown) => void
  /** Folds this session has besides its own, from its first event on; read with `fold`. Their keys must differ. */
  readonly folds?: readonly Fold<unknown>[]
  /** Rules every event must keep, stored ones too; asked in order, after admission. */
  readonly invariants?: readonly Invariant[]
  /** Rules events appended from now on must keep; what is stored opens as it is, and `verify` tells. */
  readonly liveInvariants?: readonly Invariant[]
}

export type CreateOptions = SessionOptions & {
  readonly id: string
  readonly header?: Partial<Omit<SessionHeader, 'id' | 'version'>>
  /** Events to start from; copied and frozen. Even an empty list counts as a seed. */
  readonly seed?: readonly SessionEvent[]
  /** For a seeded header: how many of the seed's events are inherited. Must equal the seed's length. */
  readonly inheritedEventCount?: number
}

type OpenOptions = SessionOptions & {
  readonly header: SessionHeader
  /** The inherited cut, when the caller knows it: then the log must say the same. */
  readonly inheritedEventCount?: number
  /** Closes a turn that was cut off before the end of the seed is marked (SPEC R1–R6). */
  readonly repair?: boolean
  /** Follows a log somebody else writes: nothing is marked or repaired, and `append` refuses (SPEC O4). */
  readonly readOnly?: boolean
}

export type RestoreOptions = OpenOptions & {
  /** The whole log. Ownership passes to the session: events are neither copied nor frozen. */
  readonly events: readonly SessionEvent[]
}

export type KeyframeOptions = OpenOptions & {
  readonly keyframe: Keyframe
  /** The events on the surface of the keyframe, in any order. */
  readonly surfaceEvents: readonly SessionEvent[]
  /** The events after the keyframe. Ownership of all of them passes to the session. */
  readonly events: readonly SessionEvent[]
}

/**
 * Where a session first differs from the replay of its log: in which fold, and where in its JSON. The fold `log` stands
 * for what is no fold: the events that are resident, the last one, what extensions have seen.
 */
export type SessionDifference = JsonDifference & { readonly fold: string }

/** The surface as others see it: what the model reads now. Every read throws once an interpreter is withdrawn (SPEC M3). */
export class SessionSurface {
  readonly #read: () => SurfaceState
  #copy: readonly SessionSeq[] = []
  #copyGeneration = 0

  /** `read` gives the state, or throws when it may not be read any more. */
  constructor(read: () => SurfaceState) {
    this.#read = read
  }

  /** Number of nodes. */
  get length(): number {
    return this.#read().nodes.length
  }

  /** Seqs of the nodes in reading order: a copy, made when asked for after a change. `at` and `length` cost nothing. */
  get nodes(): readonly SessionSeq[] {
    const { nodes, replaceGeneration } = this.#read()
    if (this.#copy.length !== nodes.length || this.#copyGeneration !== replaceGeneration) {
      this.#copy = Object.freeze([...nodes])
      this.#copyGeneration = replaceGeneration
    }
    return this.#copy
  }

  /** The seq at `position`; negative counts from the end. */
  at(position: number): SessionSeq | undefined {
    return this.#read().nodes.at(position)
  }

  /** +1 for each replacement. */
  get replaceGeneration(): number {
    return this.#read().replaceGeneration
  }

  /** +1 for each replacement and each message projection. */
  get contentGeneration(): number {
    return this.#read().contentGeneration
  }
}

/** The folds every session has, in the order they are advanced. */
const coreFolds: readonly Fold<unknown>[] = [surfaceFold, messagesFold, turnsFold, requestFold, seedFold, inboxFold]

type Opening = {
  readonly header: SessionHeader
  /** Null when there was no seed at all. */
  readonly events: readonly unknown[] | null
  readonly from?: KeyframeSource
  readonly repair?: boolean
  readonly readOnly?: boolean
  /** Mark the end of the events as that of what is inherited. */
  readonly isFork?: boolean
  /** The events may end before the log does, even before what it inherits. */
  readonly isPrefix?: boolean
  readonly inheritedEventCount?: number | undefined
}

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

  readonly #options: Pick<SessionOptions, 'now' | 'onListenerError' | 'folds'>
  readonly #readOnly: boolean
  readonly #extensions: Extensions
  readonly #log: ResidentLog
  readonly #folds: FoldSet
  readonly #surface: SurfaceState
  #invariants: readonly Invariant[]
  readonly #view: LogView
  readonly #listeners: SessionListener[] = []
  #last: LastEvent | null = null
  #busy = false
  #snapshot: readonly SessionEvent[] | null = null

  private constructor(options: SessionOptions, opening: Opening) {
    const { header, from, events, readOnly = false } = opening
    this.header = header
    // Not all of them: what they say of events is not to be kept.
    const { now, onListenerError, folds: own = [] } = options
    this.#options = { now, folds: own, ...(onListenerError && { onListenerError }) }
    this.#readOnly = readOnly
    this.#extensions = new Extensions(options)
    this.#invariants = options.invariants ?? []
    const folds = [...coreFolds, ...own]
    const invariants = [...this.#invariants, ...(options.liveInvariants ?? [])]
    for (const fold of foldsOf(invariants)) if (!folds.includes(fold)) folds.push(fold)
    if (from === undefined) {
      this.#log = new ResidentLog()
      this.#folds = new FoldSet(folds)
    } else {
      const parts = readKeyframe(from, header.id, folds, this.#extensions)
      this.#log = parts.log
      this.#folds = parts.folds
      this.#last = parts.last
    }
    this.#surface = this.#folds.state(surfaceFold)
    this.surface = new SessionSurface(() => this.#readable().#surface)
    const log = this.#log
    this.#view = {
      get length() {
        return log.length
      },
      nodes: this.#surface.nodes,
      eventAt: log.at,
      fold: fold => this.#folds.state(fold),
    }
    // Not `forEach`, which would step over a hole.
    for (let index = 0; index < (events?.length ?? 0); index += 1) atIndex(index, () => this.#admit(events?.[index]))
    if (opening.repair === true && !readOnly) {
      for (const closer of repair(this.#folds.state(turnsFold), this.#last)) this.#admit(closer)
    }
    this.firstLiveSeq = SessionSeq(log.length)
    if (opening.isFork === true) this.#mark({ inherited: true })
    else if (events !== null && !readOnly && this.#folds.state(seedFold).endSeed !== log.length - 1) this.#mark({})
    this.inheritedEventCount = this.#checkedCut(opening)
    this.#invariants = invariants
  }

  /**
   * A new session, optionally from a seed that is copied and frozen.
   *
   * @throws {SessionError} `header`, `registration`, or the error of the first event that is refused, with its `index`.
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
    const { inheritedEventCount } = options
    const seed = options.seed === undefined ? null : [...options.seed]
    if (header.isSeeded && (seed === null || inheritedEventCount !== seed.length)) {
      const inherits = `its whole seed, not ${inheritedEventCount ?? 'an unknown number of'} events of ${seed?.length ?? 'none'}`
      throw new SessionError('header', `A new seeded session inherits ${inherits}`, { sessionId: header.id })
    }
    const events = seed?.map((event, index) => atIndex(index, () => snapshotJson(event))) ?? null
    return new Session(options, { header, events, isFork: header.isSeeded, inheritedEventCount })
  }

  /**
   * A session from a stored log. The session takes the events over: they are neither copied nor frozen.
   *
   * @throws {SessionError} `header`, `registration`, or the error of the first event that is refused, with its `index`.
   */
  static fromRestore(options: RestoreOptions): Session {
    checkHeader(options.header)
    Object.freeze(options.header)
    return new Session(options, options)
  }

  /**
   * A session from a keyframe and the events after it: in all it tells and refuses the session of the whole log, with
   * fewer events resident.
   *
   * @throws {SessionError} `keyframe` when it cannot be used: then restore the whole log. Otherwise as `fromRestore`.
   */
  static fromKeyframe(options: KeyframeOptions): Session {
    checkHeader(options.header)
    Object.freeze(options.header)
    return new Session(options, { ...options, from: options })
  }

  get id(): SessionId {
    return SessionId(this.header.id)
  }

  /** Number of events; the seq the next one gets. */
  get length(): number {
    return this.#log.length
  }

  /** Seq, type and time of the last event, resident or not; null in an empty log. */
  get last(): LastEvent | null {
    return this.#last
  }

  /** The messages the model would read now: an immutable sequence, O(1) to get. */
  get messages(): MessageSequence {
    return this.#readable().#folds.state(messagesFold)
  }

  /** The messages the model would read now, as a new array of shared frozen messages. */
  deriveMessages(): Message[] {
    return this.messages.toArray()
  }

  /** The state of a fold of this session. @throws {SessionError} `registration` when it is not registered. */
  fold<State>(fold: Fold<State>): State {
    return this.#folds.state(fold)
  }

  /** The event at `seq` when it is resident: surface events and the tail always are. */
  eventAt(seq: number): SessionEvent | undefined {
    return this.#log.at(seq)
  }

  /**
   * Events as a frozen array that never grows.
   *
   * @deprecated Copies the log; read ranges with `readEvents` of an open session, or ask `eventAt`.
   * @throws {SessionError} `not-resident` when some of them are not in memory.
   */
  snapshotEvents(from = 0, to: number = this.length): readonly SessionEvent[] {
    if (from < this.#log.base) {
      const message = `Events before ${this.#log.base} of session ${this.id} are not resident; read them with readEvents`
      throw new SessionError('not-resident', message, { sessionId: this.id, seq: from, expected: this.#log.base })
    }
    if (from > 0 || to < this.length) return Object.freeze(this.#log.slice(from, to))
    this.#snapshot ??= Object.freeze(this.#log.slice(from, to))
    return this.#snapshot
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

  /** Makes an event type known from now on. @throws {SessionError} `registration` when the type is taken. */
  registerEventType(definition: EventDefinition): void {
    this.#extensions.define(definition)
  }

  /**
   * Interprets the events of a projecting type from now on; returns its remover. Once an interpreter that was used is
   * removed, the session can neither be read through its surface nor appended to (SPEC M3).
   *
   * @throws {SessionError} `registration` for a second interpreter of a type, or one of a type that does not project.
   */
  registerMessageProjection(projection: MessageProjection): () => void {
    return this.#extensions.register(projection)
  }

  /**
   * Keeps a rule from now on; returns its remover. The events so far must keep it as well.
   *
   * @throws {SessionError} `invariant` with the event that breaks it; `not-resident` when that cannot be told.
   */
  registerInvariant(invariant: Invariant): () => void {
    const replay = this.replay(this.snapshotEvents(), { invariants: [invariant] })
    for (const fold of foldsOf([invariant])) {
      if (!this.#folds.has(fold)) this.#folds.register(fold, replay.fold(fold))
    }
    this.#invariants = [...this.#invariants, invariant]
    return () => {
      this.#invariants = this.#invariants.filter(each => each !== invariant)
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
  ): EventOf<Type>
  append<Data>(
    type: EventDefinition<Data>,
    data: Data,
    intent?: { readonly ignorable?: true | undefined },
  ): LogOnlyEvent<string, Data>
  append(named: string | EventDefinition, data: unknown, intent?: unknown): unknown {
    const type = typeof named === 'string' ? named : this.#typeOf(named)
    const seq = SessionSeq(this.length)
    if (this.#readOnly) throw refusal('read-only', { type, seq }, 'was appended to a session that only follows its log')
    const placement = admitIntent(type, intent, seq, this.#extensions)
    const snapshot = snapshotOf(data, type, seq, 'data')
    if (this.#busy) {
      throw refusal('reentrant', { type, seq }, 'was appended while the same session was committing another event')
    }
    const time = this.#now(type)
    // Getters and the clock may have appended meanwhile: the seq is taken last.
    const event = candidate(type, SessionSeq(this.length), time, snapshot, placement)
    this.#busy = true
    try {
      this.#commit(this.#plan(event))
    } finally {
      this.#busy = false
    }
    return event
  }

  /**
   * Takes over an event that the log's writer committed; for read-only sessions.
   *
   * @throws {SessionError} `read-only` when this session is the writer; otherwise as restoring it would.
   */
  follow(event: SessionEvent): void {
    if (!this.#readOnly) throw refusal('read-only', event, 'was given to a session that writes its own log')
    if (this.#busy)
      throw refusal('reentrant', event, 'was followed while the same session was committing another event')
    this.#admit(event)
  }

  /**
   * A child session `id` that inherits the events up to `boundary` (inclusive; all of them unless said otherwise). It
   * reads as this one did then, message ids included; what was pending in its inbox is cancelled (SPEC R7, R8).
   *
   * @throws {SessionError} `invalid-boundary`, `open-turn`; `not-resident` when the prefix is not in memory.
   */
  fork({ id, boundary }: { readonly id: string; readonly boundary?: number }): Session {
    const { length } = this
    if (boundary !== undefined && !(isSafeNonNegativeInteger(boundary) && boundary < length)) {
      const message = `Expected a seq below ${length} to fork session ${this.id} at; found ${String(boundary)}`
      throw new SessionError('invalid-boundary', message, { sessionId: this.id })
    }
    const count = boundary === undefined ? length : boundary + 1
    const seed = this.snapshotEvents(0, count)
    const { openTurn } = count === length ? this.#folds.state(turnsFold) : foldTurns(seed)
    if (openTurn !== null) {
      const message = `Seq ${count - 1} of session ${this.id} is inside turn ${openTurn}; fork after its end`
      throw new SessionError('open-turn', message, { sessionId: this.id, seq: count - 1 })
    }
    const header = childHeader(this.header)
    const child = Session.create({
      ...this.#options,
      ...this.#extensions.options,
      // Its seed kept those that this session asks of stored events.
      liveInvariants: this.#invariants,
      id,
      header,
      seed,
      inheritedEventCount: count,
    })
    for (const splice of planCancellation(child.fold(inboxFold))) child.append('agent/inbox/spliced', splice)
    return child
  }

  /**
   * A read-only session of the first events of this log, with the same extensions and folds: what was, as it was.
   *
   * @throws {SessionError} of the first event that is refused.
   */
  replay(events: readonly SessionEvent[], more: Pick<SessionOptions, 'invariants'> = {}): Session {
    const { header, inheritedEventCount } = this.#readable()
    const options = { ...this.#options, ...this.#extensions.options, ...more }
    return new Session(options, { header, events, readOnly: true, isPrefix: true, inheritedEventCount })
  }

  /**
   * The request that was, or would have been, sent when the next event had the seq `seq`; null when no header was logged
   * by then. For an event that settles a model call that is the request it answers.
   *
   * @throws {SessionError} `not-resident` when the events before it are not in memory: then `replay` them.
   */
  requestAt(seq: number): LoggedRequest | null {
    return requestOf(this.replay(this.snapshotEvents(0, seq)))
  }

  /** Everything derived, as JSON, to open the session from later (SPEC K1). */
  keyframe(): Keyframe {
    this.#extensions.checkInterpreters()
    const { id, length } = this
    return {
      version: 1,
      sessionId: id,
      seq: length,
      last: this.#last && lastEventOf(this.#last),
      extensions: this.#extensions.toJSON(),
      folds: this.#folds.toJSON(),
    }
  }

  /**
   * Folds the whole log again, keeping the invariants of this session over all of it, and names the first difference;
   * null when there is none.
   *
   * @throws {SessionError} of the first event that breaks a rule.
   */
  verify(events: readonly SessionEvent[]): SessionDifference | null {
    const { folds: expected, ...whole } = this.replay(events, { invariants: this.#invariants }).keyframe()
    const { folds: actual, ...own } = this.keyframe()
    for (const [fold, { state }] of Object.entries(expected)) {
      const difference = jsonDifference(state, actual[fold]?.state)
      if (difference !== null) return { fold, ...difference }
    }
    const resident = events.map((_, seq) => this.eventAt(seq))
    const stored = events.map((event, seq) => resident[seq] && event)
    const difference = jsonDifference({ ...whole, events: stored }, { ...own, events: resident })
    return difference && { fold: 'log', ...difference }
  }

  /** Itself, when its surface may be read. */
  #readable(): this {
    this.#extensions.checkInterpreters()
    return this
  }

  /** The type of a token, which must be the registered one. */
  #typeOf(definition: EventDefinition): string {
    const { type } = definition
    if (this.#extensions.definition(type) === definition) return type
    throw refusal('unknown-type', { type, seq: this.length }, 'is not registered on this session')
  }

  /** The time for a new event: what a restore would refuse is refused here. */
  #now(type: string): number {
    const time = this.#options.now()
    if (!Number.isSafeInteger(time)) {
      throw refusal('envelope', { type, seq: this.length }, `got ${String(time)} from the clock, not a safe integer`)
    }
    return time
  }

  /** Decides about an event; throws when it may not be the next one. Changes nothing. */
  #plan(event: SessionEvent): Committed {
    try {
      this.#extensions.checkInterpreters()
      const surfaceChange = planAdmission(event, this.#surface, this.#log.at, this.#extensions)
      const committed = { event, surfaceChange }
      for (const invariant of this.#invariants) {
        const found = invariant.problem(committed, this.#view)
        if (found !== null) throw refusal('invariant', event, `breaks the invariant ${invariant.key}: ${found}`)
      }
      return committed
    } catch (error) {
      // A range that is right in one session may be stale in its fork: say which one refused it.
      if (error instanceof SessionError && error.sessionId === undefined) {
        Object.defineProperty(error, 'sessionId', { value: this.id, enumerable: true })
      }
      throw error
    }
  }

  #commit(committed: Committed): void {
    const { event, surfaceChange } = committed
    const { kind } = surfaceChange
    if (kind === 'replace' && this.#log.base > 0) {
      this.#log.release(this.#surface.nodes.slice(surfaceChange.from, surfaceChange.to + 1))
    }
    this.#log.push(event)
    this.#last = event
    this.#snapshot = null
    if (kind === 'none' || kind === 'project') this.#extensions.committed(event, kind === 'project')
    this.#folds.evolve(committed)
    if (this.#listeners.length === 0) return
    for (const listener of [...this.#listeners]) this.#notify(listener, committed)
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

  /** Takes in an event that comes from outside or that this session makes for itself. */
  #admit(event: unknown): void {
    this.#busy = true
    try {
      checkEnvelope(event, this.length, this.#extensions.knows)
      this.#commit(this.#plan(event))
    } finally {
      this.#busy = false
    }
  }

  #mark(data: EventData['session/end-seed']): void {
    const time = this.#now('session/end-seed')
    this.#admit(candidate('session/end-seed', SessionSeq(this.length), time, Object.freeze(data), {}))
  }

  /** The inherited cut, which header, log and caller must agree about (SPEC L11). */
  #checkedCut({ inheritedEventCount: told, isPrefix = false, from }: Opening): number {
    const { isSeeded, id } = this.header
    if (isPrefix) return Math.min(told ?? 0, this.length)
    const { inherited } = this.#folds.state(seedFold)
    const fail = (what: string): never => {
      // Which of the two is wrong only the whole log can tell.
      throw new SessionError(from ? 'keyframe' : 'header', `Session ${id} ${what}`, { sessionId: id })
    }
    if (isSeeded && inherited === null) {
      return fail('is seeded, but no session/end-seed of its log says where that ends')
    }
    if (!isSeeded && inherited !== null) fail(`is not seeded, but seq ${inherited} says it inherits events`)
    const cut = inherited ?? 0
    if (told !== undefined && told !== cut) fail(`inherits ${cut} events, not ${told}`)
    return cut
  }
}

const foldsOf = (invariants: readonly Invariant[]): readonly Fold<unknown>[] =>
  invariants.flatMap(({ folds = [] }) => folds)

type Thenable = { then(resolved: undefined, rejected: (error: unknown) => void): unknown }

const isThenable = (value: unknown): value is Thenable =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

function candidate(type: string, seq: SessionSeq, time: number, data: unknown, placement: Placement): SessionEvent {
  const { surfaceOp, sourceEventSeqs, ignorable } = placement
  const event =
    surfaceOp === undefined
      ? sourceEventSeqs === undefined
        ? ignorable === undefined
          ? { type, seq, time, data }
          : { type, seq, time, data, ignorable }
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
    const { code, seq = index, eventType, path, expected, actual, sessionId } = error
    const facts = { index, seq, eventType, path, expected, actual, sessionId }
    throw new SessionError(code, `Invalid event at index ${index}: ${error.message}`, facts, { cause: error })
  }
}
