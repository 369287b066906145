/**
 * The Session: an append-only log in memory, and everything derived from it (SPEC L1–L12, S9–S11, K1–K4). One class, and
 * long for what its methods promise: what they work out is in the files it imports.
 */
import { refusal, SessionError } from './errors.ts'
import type { EventDefinition } from './event-definition.ts'
import type { EventData, Message, SessionEvent, SessionHeader } from './events.ts'
import { Extensions } from './extensions.ts'
import { type Committed, type Fold, FoldSet } from './fold.ts'
import { checkBoundary, checkChildId, checkOutsideTurn, childHeader } from './fork.ts'
import { isSafeNonNegativeInteger, SessionId, SessionSeq } from './ids.ts'
import { inboxFold, planCancellation } from './inbox.ts'
import { foldsOf, type Invariant, type LogView, problemOf } from './invariant.ts'
import { snapshotJson } from './json.ts'
import {
  type Keyframe,
  keyframeDifference,
  type KeyframeSource,
  type LastEvent,
  lastEventOf,
  readKeyframe,
  type SessionDifference,
} from './keyframe.ts'
import { admitIntent, atIndex, checkEnvelope, newEvent, planAdmission, snapshotOf } from './log.ts'
import type { MessageProjection } from './message-projection.ts'
import { type MessageSequence, messagesFold } from './messages.ts'
import { repair } from './repair.ts'
import { type LoggedRequest, requestOf } from './request.ts'
import { requestFold } from './request-header.ts'
import { ResidentLog } from './resident-log.ts'
import { checkedCut, newHeader, seedFold } from './seed.ts'
import { SessionListeners } from './session-listeners.ts'
import type {
  Appendable,
  CommittedOf,
  CreateOptions,
  DataOf,
  IntentOf,
  KeyframeOptions,
  RestoreOptions,
  SessionListener,
  SessionOptions,
} from './session-options.ts'
import { SessionSurface } from './session-surface.ts'
import { checkHeader } from './shapes.ts'
import { type SurfaceState, surfaceFold } from './surface.ts'
import { turnsFold } from './turns.ts'

/** The folds every session has, in the order they are advanced. */
const coreFolds: readonly Fold<unknown>[] = [surfaceFold, messagesFold, turnsFold, requestFold, seedFold, inboxFold]

type Opening = Pick<KeyframeOptions, 'header' | 'repair' | 'settle' | 'readOnly' | 'isPrefix'> & {
  /** Null when there was no seed at all. */
  readonly events: readonly unknown[] | null
  readonly from?: KeyframeSource
  /** Mark the end of the events as that of what is inherited. */
  readonly isFork?: boolean
  readonly inheritedEventCount?: number | undefined
}

/**
 * A conversation: the log in memory, the surface and the messages it derives to. Needs no worker and no storage.
 * `append` is synchronous: when it returns, the event is part of the log; when it throws, nothing changed.
 */
export class Session {
  readonly header: SessionHeader
  /**
   * Number of events the constructor was given, closers included; what comes from here on is to be stored. Opening for
   * writing adds a `session/end-seed` here unless the log ends in one, and no listener is told of it.
   */
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
  readonly #listeners: SessionListeners
  #last: LastEvent | null = null
  #busy = false
  #snapshot: readonly SessionEvent[] | null = null

  private constructor(options: SessionOptions, opening: Opening) {
    const { header, from, events, readOnly = false } = opening
    checkHeader(header)
    if (events !== null && !Array.isArray(events)) {
      throw new SessionError('envelope', `Expected an array of events; found ${typeof events}`, {
        sessionId: header.id,
      })
    }
    this.header = Object.freeze(header)
    // Not all of them: what they say of events is not to be kept.
    const { now, onListenerError, folds: own = [] } = options
    this.#options = { now, folds: own, ...(onListenerError && { onListenerError }) }
    this.#listeners = new SessionListeners(onListenerError)
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
    const { surface } = this
    const log = this.#log
    this.#view = {
      get length() {
        return log.length
      },
      get nodes() {
        return surface.nodes
      },
      eventAt: log.at,
      fold: fold => this.#folds.state(fold),
    }
    // Not `forEach`, which would step over a hole.
    for (let index = 0; index < (events?.length ?? 0); index += 1) atIndex(index, () => this.#admit(events?.[index]))
    if (opening.repair === true && !readOnly) {
      for (const candidate of opening.settle?.(this.#folds.state(turnsFold), this.#last) ?? []) {
        try {
          this.#admit(candidate, invariants)
          break
        } catch {
          // A refusal has changed nothing: then the next one.
        }
      }
      for (const closer of repair(this.#folds.state(turnsFold), this.#last)) this.#admit(closer)
    }
    this.firstLiveSeq = SessionSeq(log.length)
    if (opening.isFork === true) this.#mark({ inherited: true })
    else if (events !== null && !readOnly && this.#folds.state(seedFold).endSeed !== log.length - 1) this.#mark({})
    const { isPrefix = false, inheritedEventCount: told } = opening
    // A prefix may end before what it inherits does.
    this.inheritedEventCount =
      isPrefix && readOnly
        ? Math.min(told ?? 0, log.length)
        : checkedCut(header, this.#folds.state(seedFold), told, from === undefined ? 'header' : 'keyframe')
    this.#invariants = invariants
  }

  /**
   * A new session, optionally from a seed that is copied and frozen.
   *
   * @throws {SessionError} `header`, `registration`, or the error of the first event that is refused, with its `index`.
   */
  static create(options: CreateOptions): Session {
    const { inheritedEventCount } = options
    const header = newHeader(options)
    const seed = options.seed === undefined ? null : [...options.seed]
    if (header.isSeeded && (seed === null || inheritedEventCount !== seed.length)) {
      const message = `Expected a seeded session to inherit its seed, ${seed?.length ?? 0} events; found ${inheritedEventCount}`
      throw new SessionError('header', message, { sessionId: header.id })
    }
    const events = seed?.map((event, index) => atIndex(index, () => snapshotJson(event))) ?? null
    return new Session(options, { header, events, isFork: header.isSeeded, inheritedEventCount })
  }

  /**
   * A session from a stored log. The session takes the events over: they are neither copied nor frozen. What it adds
   * itself stands from `firstLiveSeq` on.
   *
   * @throws {SessionError} `header`, `registration`, or the error of the first event that is refused, with its `index`.
   */
  static fromRestore(options: RestoreOptions): Session {
    return new Session(options, options)
  }

  /**
   * A session from a keyframe and the events after it: in all it tells and refuses the session of the whole log, with
   * fewer events resident.
   *
   * @throws {SessionError} `keyframe` when it cannot be used: then restore the whole log. Otherwise as `fromRestore`.
   */
  static fromKeyframe(options: KeyframeOptions): Session {
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
    const isSurface = (fold as unknown) === surfaceFold || (fold as unknown) === messagesFold
    return (isSurface ? this.#readable() : this).#folds.state(fold)
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
    if (from > 0 || to !== this.length) return Object.freeze(this.#resident(from, to))
    this.#snapshot ??= Object.freeze(this.#resident(from, to))
    return this.#snapshot
  }

  /** Calls `listener` after each committed event; returns its remover. */
  subscribe(listener: SessionListener): () => void {
    return this.#listeners.add(listener)
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
    const replay = this.replay(this.#resident(0, this.length), { invariants: [invariant] })
    for (const fold of foldsOf([invariant])) {
      if (!this.#folds.has(fold)) this.#folds.register(fold, replay.fold(fold))
    }
    // An entry of its own: registered twice, each remover removes its own.
    const { key, folds = [] } = invariant
    const own: Invariant = { key, folds, problem: (committed, log) => invariant.problem(committed, log) }
    this.#invariants = [...this.#invariants, own]
    return () => {
      this.#invariants = this.#invariants.filter(each => each !== own)
    }
  }

  /**
   * Adds one event and returns it, deep-frozen. `data` is snapshotted: later changes to it are not seen.
   *
   * @throws {SessionError} with the code of the first rule that is broken; then nothing has changed.
   */
  append<const Type extends Appendable>(type: Type, data: DataOf<Type>, ...intent: IntentOf<Type>): CommittedOf<Type>
  append(named: string | EventDefinition, data: unknown, intent?: unknown): unknown {
    const type = typeof named === 'string' ? named : this.#typeOf(named)
    const seq = SessionSeq(this.length)
    if (this.#readOnly) throw refusal('read-only', { type, seq }, 'was appended to a session that only follows its log')
    const placement = admitIntent(type, intent, seq, this.#extensions)
    const snapshot = snapshotOf(data, type, seq, 'data')
    const time = this.#now(type)
    // Getters and the clock may have appended meanwhile: the seq is taken last.
    const event = newEvent(type, SessionSeq(this.length), time, snapshot, placement)
    this.#admit(event, this.#invariants, true)
    return event
  }

  /**
   * Takes over an event that the log's writer committed; for read-only sessions.
   *
   * @throws {SessionError} `read-only` when this session is the writer; otherwise as restoring it would.
   */
  follow(event: SessionEvent): void {
    if (!this.#readOnly) throw refusal('read-only', event, 'was given to a session that writes its own log')
    this.#admit(event)
  }

  /**
   * Lets go of the events before `seq` that are not on the surface: `eventAt` answers for them no more. From then on this
   * is the session that a keyframe taken there would open (SPEC K5). Where events were let go of already, nothing happens.
   *
   * @throws {SessionError} `invalid-boundary` when `seq` is no place in the log.
   */
  evict(seq: number): void {
    checkBoundary(this.id, seq, this.length + 1)
    this.#log.evict(seq)
    this.#snapshot = null
  }

  /**
   * A child session `id` that inherits the events up to `boundary` (inclusive; all of them unless said otherwise). It
   * reads as this one did then, message ids included; what was pending in its inbox is cancelled (SPEC R7, R8). Of what
   * it inherits it has the events of the surface (SPEC R10).
   *
   * @throws {SessionError} `session-already-exists` for its own id, `invalid-boundary`, `open-turn`; `not-resident` when
   * it is to end earlier and the events up to there are not in memory.
   */
  fork({ id, boundary }: { readonly id: string; readonly boundary?: number }): Session {
    const { length } = this
    checkChildId(this.id, id)
    if (boundary !== undefined) checkBoundary(this.id, boundary, length)
    const count = boundary === undefined ? length : boundary + 1
    // What is inherited kept those that this session asks of stored events.
    const live = { liveInvariants: this.#invariants }
    if (count < length) return this.replay(this.#resident(0, count), live).fork({ id })
    checkOutsideTurn(this.id, count, this.#folds.state(turnsFold))
    const surfaceEvents = this.surface.nodes.map(seq => this.eventAt(seq) as SessionEvent)
    const from = snapshotJson({ keyframe: { ...this.keyframe(), sessionId: id }, surfaceEvents })
    const options = this.#with(live)
    const header = newHeader({ ...options, id, header: childHeader(this.header) })
    const child = new Session(options, { header, from, events: [], isFork: true })
    for (const splice of planCancellation(child.fold(inboxFold))) child.append('agent/inbox/spliced', splice)
    return child
  }

  /**
   * A read-only session of the first events of this log, with the same extensions and folds: what was, as it was.
   *
   * @throws {SessionError} of the first event that is refused.
   */
  replay(events: readonly SessionEvent[], more: Pick<SessionOptions, 'invariants' | 'liveInvariants'> = {}): Session {
    const { header, inheritedEventCount } = this.#readable()
    return new Session(this.#with(more), { header, events, readOnly: true, isPrefix: true, inheritedEventCount })
  }

  /**
   * The request that was, or would have been, sent when the next event had the seq `seq`; null when no header was logged
   * by then. For an event that settles a model call that is the request it answers.
   *
   * @throws {SessionError} `not-resident` when it is not the next one, and the events before it are not in memory, or not
   * of this log: then `replay` those that are stored.
   */
  requestAt(seq: number): LoggedRequest | null {
    return requestOf(seq === this.length ? this.#readable() : this.replay(this.#resident(0, seq)))
  }

  /** Everything derived, as JSON, to open the session from later (SPEC K1). */
  keyframe(): Keyframe {
    const { id, length } = this.#readable()
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
    const whole = this.replay(events, { invariants: this.#invariants }).keyframe()
    const resident = events.map((_, seq) => this.eventAt(seq))
    const stored = events.map((event, seq) => resident[seq] && event)
    return keyframeDifference({ ...whole, events: stored }, { ...this.keyframe(), events: resident })
  }

  /** Events that must be in memory. @throws {SessionError} `not-resident` when some are not. */
  #resident(from: number, to: number): readonly SessionEvent[] {
    const { base } = this.#log
    if (from >= base && to <= this.length && isSafeNonNegativeInteger(to)) return this.#log.slice(from, to)
    const message = `Expected events from ${base} to ${this.length} of session ${this.id}, which are in memory; found ${from} to ${to}`
    throw new SessionError('not-resident', message, { sessionId: this.id, seq: from, expected: base })
  }

  /** The options of a session that knows what this one does. */
  #with(more: Partial<SessionOptions>): SessionOptions {
    return { ...this.#options, ...this.#extensions.options, ...more }
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
  #plan(event: SessionEvent, invariants: readonly Invariant[]): Committed {
    try {
      this.#readable()
      const surfaceChange = planAdmission(event, this.#surface, this.#log.at, this.#extensions)
      const committed = { event, surfaceChange }
      for (const invariant of invariants) {
        const found = problemOf(invariant, committed, this.#view)
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
    const shadowed = kind === 'replace' ? this.#surface.nodes.slice(surfaceChange.from, surfaceChange.to + 1) : null
    // The only step that can fail comes first: a fold may be somebody else's.
    this.#folds.evolve(committed)
    if (shadowed !== null) this.#log.shadow(shadowed)
    this.#log.push(event)
    this.#last = event
    this.#snapshot = null
    if (kind === 'none' || kind === 'project') this.#extensions.committed(event, kind === 'project')
    this.#listeners.tell(committed)
  }

  /** Takes in an event that comes from outside or that this session makes for itself. */
  #admit(event: unknown, invariants: readonly Invariant[] = this.#invariants, isOwn = false): void {
    if (this.#busy) {
      throw refusal('reentrant', event as SessionEvent, 'came while the same session was committing another event')
    }
    this.#busy = true
    try {
      if (!isOwn) checkEnvelope(event, this.length, this.#extensions.knows)
      this.#commit(this.#plan(event as SessionEvent, invariants))
    } finally {
      this.#busy = false
    }
  }

  #mark(data: EventData['session/end-seed']): void {
    const time = this.#now('session/end-seed')
    this.#admit(newEvent('session/end-seed', SessionSeq(this.length), time, Object.freeze(data), {}))
  }
}
