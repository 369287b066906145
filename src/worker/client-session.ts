/** A session as the page sees it: applies what the worker decided, and asks the worker for everything else. */
import type { ApprovalAnswer } from '../agent/approval.ts'
import { AgentError } from '../agent/errors.ts'
import type { Prompt } from '../agent/messages.ts'
import { evolveInbox, goneMessages, type Inbox, type InboxTarget } from '../core/inbox.ts'
import type { AssistantStreamFrame } from '../core/live.ts'
import type { Message, SessionEvent, TurnEndReason } from '../core/events.ts'
import type { PalimpsestError } from '../core/errors.ts'
import type { Committed } from '../core/fold.ts'
import type { SessionSeq } from '../core/ids.ts'
import { jsonText, snapshotJson } from '../core/json.ts'
import type { AppendableEventType, IntentArguments } from '../core/session-options.ts'
import type { EventData, EventOf } from '../core/events.ts'
import { applySurfaceChange, type SurfaceState } from '../core/surface.ts'
import { Listeners } from '../views/listeners.ts'
import type { SessionSource, SessionStatus, SessionUpdate, SurfaceNode } from '../views/source.ts'
import { evolveUsage, type UsageState } from '../views/usage.ts'
import { Appends } from './appends.ts'
import { ClientTurn, type TakenMessage } from './client-turn.ts'
import { WorkerError } from './errors.ts'
import { readFrames } from './frame-text.ts'
import type { Link } from './link.ts'
import { Outcomes } from './outcomes.ts'
import type { Attachment, BranchHow, FeedItem } from './protocol.ts'

/** Somebody gave the title, not some software. */
const isPersons = (source: unknown): boolean => (source as { readonly kind?: unknown } | null)?.kind === 'user'

export type SessionUpdateListener = (update: SessionUpdate) => void

/** Where a session of a page is kept. */
export type ClientHouse = {
  readonly leave: (session: ClientSession) => Promise<void>
  /** Opens a child of it; `id` names the child. */
  readonly branch: (session: ClientSession, how: BranchHow, id?: string) => Promise<ClientSession>
}

type Waiter = {
  readonly seq: number
  readonly resolve: () => void
  readonly reject: (error: PalimpsestError) => void
}

/** How many ends of turns are kept for a caller whose `send` is answered after them. */
const KEPT_TURN_ENDS = 16

/** Most events of one page of `readEvents`. */
const PAGE = 512

export class ClientSession implements SessionSource {
  readonly id: string
  readonly #link: Link
  readonly #appends: Appends
  readonly #house: ClientHouse
  readonly #surface: SurfaceState
  readonly #listeners = new Listeners<SessionUpdate>()
  /** How turns ended. */
  readonly #turnEnds = new Outcomes<number, TurnEndReason>()
  /** The turn each message of the inbox became part of. */
  readonly #claims = new Outcomes<string, number>()
  readonly #waiters: Waiter[] = []
  #nextSeq: number
  #status: SessionStatus
  #frames: AssistantStreamFrame[]
  #usage: UsageState
  #inbox: Inbox
  #asked: Promise<unknown> | null = null
  #ended: PalimpsestError | null = null
  /** Number of the last turn. */
  #turn = 0
  /** Counts what a list of sessions may show: ends of turns, titles. */
  #listed = 0

  constructor(attachment: Attachment, link: Link, house: ClientHouse) {
    this.id = attachment.id
    this.#link = link
    this.#appends = new Appends(this.id, link, seq => this.#applied(seq))
    this.#house = house
    this.#surface = {
      ...attachment.surface,
      nodes: [...attachment.surface.nodes] as SessionSeq[],
      projected: new Map(),
    }
    this.#nextSeq = attachment.nextSeq
    this.#status = attachment.status
    this.#frames = readFrames(attachment.frames)
    this.#usage = JSON.parse(attachment.usage) as UsageState
    this.#inbox = JSON.parse(attachment.inbox) as Inbox
  }

  /** Number of events this page knows to be committed. */
  get length(): number {
    return this.#nextSeq
  }

  /** The surface as of `length`: what the model reads. */
  get surface(): Readonly<{ nodes: readonly SessionSeq[]; replaceGeneration: number; contentGeneration: number }> {
    return this.#surface
  }

  get status(): SessionStatus {
    return this.#status
  }

  /** Frames so far of the model call that is running; empty when none is. */
  get frames(): readonly AssistantStreamFrame[] {
    return this.#frames
  }

  /** Token counts as of `length`. */
  get usage(): UsageState {
    return this.#usage
  }

  /** Messages that wait for a turn or a step, as of `length`; the same object as long as nothing changes. */
  get inbox(): Inbox {
    return this.#inbox
  }

  /** Calls `listener` with each change from now on; returns its remover. */
  subscribe(listener: SessionUpdateListener): () => void {
    return this.#listeners.add(listener)
  }

  /**
   * Adds one event; resolves with it once it is committed and this page has applied it.
   *
   * @throws {SessionError} with the code of the first rule that is broken; then nothing has changed.
   */
  async append<Type extends AppendableEventType>(
    type: Type,
    data: EventData[Type],
    ...[intent]: IntentArguments<Type>
  ): Promise<EventOf<Type>> {
    // Checked here too: the way to the worker would turn class instances into plain objects unseen.
    const text = jsonText(snapshotJson(data))
    const intentText = intent === undefined ? null : jsonText(snapshotJson<unknown>(intent))
    return (await this.#appends.add({ type, data: text, intent: intentText })) as EventOf<Type>
  }

  /** The event at `seq`, or undefined beyond the end. */
  async eventAt(seq: number): Promise<SessionEvent | undefined> {
    if (!(seq >= 0 && seq < this.#nextSeq)) return undefined
    const [event] = await this.#readPage(seq, seq + 1)
    return event
  }

  /** Events `from` (inclusive) to `to` (exclusive; default: the end as it is now), in order, fetched page by page. */
  async *readEvents({
    from = 0,
    to = this.#nextSeq,
  }: {
    from?: number
    to?: number
  } = {}): AsyncGenerator<SessionEvent> {
    let start = from
    while (start < to) {
      const page = await this.#readPage(start, Math.min(to, start + PAGE))
      if (page.length === 0) return
      yield* page
      start += page.length
    }
  }

  /** The messages the next request would be built from. */
  async deriveMessages(): Promise<Message[]> {
    return JSON.parse(await this.#link.call(commands => commands.deriveMessages(this.id))) as Message[]
  }

  /** The surface with its messages, in reading order, as of `length` events. */
  async readSurface(): Promise<{ readonly length: number; readonly nodes: readonly SurfaceNode[] }> {
    const text = await this.#link.call(commands => commands.readSurface(this.id))
    return JSON.parse(text) as Awaited<ReturnType<SessionSource['readSurface']>>
  }

  /** Resolves when every event so far is stored for good. @throws {StorageError} and the events are kept. */
  async flush(): Promise<void> {
    await this.#link.call(commands => commands.flush(this.id))
  }

  /**
   * Takes what a person says, with attachments as `sessions.attach` answers them: a turn starts with it, or, while one runs or others wait, it waits its turn (SPEC A11).
   *
   * @throws (through the turn's promises) {AgentError} `empty-prompt`, `malformed-prompt`; `canceled` when it is removed.
   */
  send(prompt: Prompt): ClientTurn {
    return this.#send('next-turn', prompt)
  }

  /** Takes what a person says into the running turn, before its next request (SPEC A13). Without one: as `send`. */
  steer(prompt: Prompt): ClientTurn {
    return this.#send('next-step', prompt)
  }

  /**
   * Lays text of software before the next step, of the running turn or of whichever comes; it starts nothing (SPEC A18).
   * People are shown its `summary`, at most 120 code points. Resolves with the id of the message.
   *
   * @throws {AgentError} `empty-prompt`, `malformed-prompt`.
   */
  inject(note: { readonly text: string; readonly summary?: string }): Promise<string> {
    return this.#link.call(commands => commands.inject(this.id, note))
  }

  /**
   * Answers a call that waits for an approval, by its id; false when it does not wait (any more). The transcript has the
   * answer when it resolves (SPEC A23).
   */
  async approve(callId: string, answer: ApprovalAnswer): Promise<boolean> {
    const seq = await this.#link.call(commands => commands.approve(this.id, callId, answer))
    if (seq !== null) await this.#applied(seq)
    return seq !== null
  }

  /**
   * Starts a turn with what waits; with nothing waiting, one that goes on where the last turn was cut off (SPEC A25).
   * Resolves with its number, or null when there is nothing to do or a turn runs already.
   */
  resume(): Promise<number | null> {
    return (this.#asked = this.#link.call(commands => commands.resume(this.id)))
  }

  /** Removes a message that waits; false when it does not wait (any more). `inbox` is current when it resolves. */
  removeQueued(messageId: string): Promise<boolean> {
    return this.#replaceQueued(messageId, null)
  }

  /** Removes all messages that wait; resolves with how many there were. `inbox` is current when it does. */
  async clearQueued(): Promise<number> {
    const { seq, count } = await this.#link.call(commands => commands.clearQueued(this.id))
    await this.#applied(seq)
    return count
  }

  /**
   * Rewrites a message that waits, in its place; what is attached to it stays unless other attachments are given. False when it does not wait (any more).
   *
   * @throws {AgentError} `empty-prompt`, `malformed-prompt`; then it stays as it was.
   */
  editQueued(messageId: string, prompt: Prompt): Promise<boolean> {
    return this.#replaceQueued(messageId, prompt)
  }

  /** Stops the running turn, if any. What waits goes on waiting, until the next `send` or `resume`. */
  async cancel(): Promise<void> {
    await this.#link.call(commands => commands.cancel(this.id, null))
  }

  /** The answer to the last `send`, `steer` or `resume`: `status` knows of what was asked once it is there. @internal */
  get asked(): Promise<unknown> | null {
    return this.#asked
  }

  /** Leaves the session; when no other page watches it, the worker stores what is left and closes it. */
  close(): Promise<void> {
    return this.#house.leave(this)
  }

  /**
   * A new session that begins as this one did, up to the end of the turn that `after` lies in; all of it unless said
   * otherwise. It is open, and inherits the events instead of copying them; what waited in the inbox does not come along.
   *
   * @throws {SessionError} `open-turn`, `invalid-boundary`, `session-already-exists`.
   */
  fork({ after = null, id }: { readonly after?: number | null; readonly id?: string } = {}): Promise<ClientSession> {
    return this.#house.branch(this, { kind: 'after', seq: after }, id)
  }

  /**
   * Says a message otherwise, in a new session that begins as this one did before its turn; resolves with that, its turn
   * running. `seq` is that of the `user/message`, which a turn must have begun with. What is attached to the message stays
   * unless other attachments are given. This session stays as it is (SPEC A28).
   *
   * @throws {SessionError} `invalid-boundary`. @throws {AgentError} `empty-prompt`, `malformed-prompt`; then there is no
   * new session.
   */
  edit(seq: number, prompt: Prompt): Promise<ClientSession> {
    return this.#house.branch(this, { kind: 'edit', seq, prompt })
  }

  /**
   * Has a turn again, the last one unless `seq` names a message another one began with: in a new session, as `edit`, with
   * the messages as they are.
   */
  regenerate(seq: number | null = null): Promise<ClientSession> {
    return this.#house.branch(this, { kind: 'again', seq })
  }

  /** Applies what the worker sent. True when a list of sessions may show it. @internal */
  apply(items: readonly FeedItem[]): boolean {
    const { length } = this
    const changes = this.#listed
    for (const item of items) {
      switch (item.kind) {
        case 'batch':
          this.#applyBatch(item.firstSeq, JSON.parse(item.events) as SessionEvent[], item.changes)
          break
        case 'frames':
          this.#applyFrames(readFrames(item.frames))
          break
        case 'status':
          this.#status = item.status
          this.#listeners.tell({ kind: 'status', status: item.status })
      }
    }
    return this.#listed > changes || (length === 0 && this.length > 0)
  }

  /** It is closed, deleted, or the connection is gone. @internal */
  end(error: PalimpsestError): void {
    this.#ended = error
    for (const { reject } of this.#waiters.splice(0)) reject(error)
    this.#turnEnds.end(error)
    this.#claims.end(error)
    this.#status = { ...this.#status, agent: { kind: 'idle' } }
    this.#listeners.tell({ kind: 'ended', error })
  }

  #applyBatch(firstSeq: number, events: readonly SessionEvent[], changes: readonly Committed['surfaceChange'][]): void {
    // What was on its way when this page attached is part of the attachment already.
    const known = this.#nextSeq - firstSeq
    if (known < 0) {
      const message = `Session ${this.id}: expected events from seq ${this.#nextSeq}; found ${firstSeq}. Open it again.`
      throw new WorkerError('internal', message, { sessionId: this.id, expected: this.#nextSeq, actual: firstSeq })
    }
    const entries = changes
      .map((surfaceChange, index) => ({ event: events[index] as SessionEvent, surfaceChange }))
      .slice(known)
    if (entries.length === 0) return
    for (const { event, surfaceChange } of entries) {
      applySurfaceChange(this.#surface, surfaceChange)
      this.#nextSeq = event.seq + 1
      this.#usage = evolveUsage(this.#usage, event)
      this.#appends.applied(event)
      this.#follow(event)
    }
    while ((this.#waiters[0]?.seq ?? Infinity) < this.#nextSeq) this.#waiters.shift()?.resolve()
    this.#listeners.tell({ kind: 'committed', entries })
  }

  #applyFrames(frames: readonly AssistantStreamFrame[]): void {
    for (const frame of frames) {
      if (frame.kind === 'chunk') this.#frames.push(frame)
      else this.#frames = frame.kind === 'start' ? [frame] : []
    }
    this.#listeners.tell({ kind: 'frames', frames })
  }

  /** Whether a message waits, which turn has it, and how that ended. */
  #follow(event: SessionEvent): void {
    // Who renames a session knows; a name it gave itself comes unasked.
    if (event.type === 'session/title' && !isPersons(event.data.source)) this.#listed += 1
    if (event.type === 'turn/start') this.#turn = event.data.turn
    if (event.type === 'turn/end') {
      this.#listed += 1
      this.#turnEnds.resolve(event.data.turn, event.data.reason)
      this.#turnEnds.forget(event.data.turn - KEPT_TURN_ENDS)
    }
    const before = this.#inbox
    this.#inbox = evolveInbox(before, event)
    if (this.#inbox === before) return
    for (const id of goneMessages(before, this.#inbox)) {
      // A turn had it, also when a hook of that left it out.
      if (event.type !== 'agent/inbox/spliced') this.#claims.resolve(id, this.#turn)
      else this.#claims.reject(id, new AgentError('canceled', 'The message was taken back before a turn had it'))
    }
  }

  async #readPage(from: number, to: number): Promise<SessionEvent[]> {
    return JSON.parse(await this.#link.call(commands => commands.readEvents(this.id, from, to))) as SessionEvent[]
  }

  #send(target: InboxTarget, { text, attachments = [] }: Prompt): ClientTurn {
    const answer = this.#link.call(commands => commands.send(this.id, target, { text, attachments }))
    const accepted = answer.then(({ turn, messageId }) => turn ?? this.#link.track(() => this.#claims.of(messageId)))
    const taken = answer.then(async ({ messageId, turn, seq }): Promise<TakenMessage> => {
      await this.#applied(seq)
      return { kind: turn === null ? 'queued' : 'started', messageId }
    })
    return new ClientTurn({
      taken: (this.#asked = taken),
      accepted,
      done: accepted.then(turn => this.#link.track(() => this.#turnEnds.of(turn))),
      cancel: async () => {
        const sent = await answer.catch(() => null)
        if (sent !== null) await this.#link.call(commands => commands.cancel(this.id, sent.messageId))
      },
    })
  }

  async #replaceQueued(messageId: string, prompt: Prompt | null): Promise<boolean> {
    const seq = await this.#link.call(commands => commands.replaceQueued(this.id, messageId, prompt))
    if (seq !== null) await this.#applied(seq)
    return seq !== null
  }

  #applied(seq: number): Promise<void> {
    if (seq < this.#nextSeq) return Promise.resolve()
    if (this.#ended) return Promise.reject(this.#ended)
    // Through the link, which watches over the worker while somebody waits for it.
    return this.#link.track(() => new Promise((resolve, reject) => this.#waiters.push({ seq, resolve, reject })))
  }
}
