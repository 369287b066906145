/** A session as the page sees it: applies what the worker decided, and asks the worker for everything else. */
import type { AssistantStreamFrame } from '../core/live.ts'
import type { Message, SessionEvent, TurnEndReason } from '../core/events.ts'
import type { PalimpsestError } from '../core/errors.ts'
import type { Committed } from '../core/fold.ts'
import type { SessionSeq } from '../core/ids.ts'
import { jsonText, snapshotJson } from '../core/json.ts'
import type { AppendableEventType, IntentArguments } from '../core/session.ts'
import type { EventData, EventOf } from '../core/events.ts'
import { applySurfaceChange, type SurfaceState } from '../core/surface.ts'
import { WorkerError } from './errors.ts'
import type { Link } from './link.ts'
import type { SessionStatus, SessionUpdate, SurfaceNode } from '../views/source.ts'
import type { Attachment, FeedItem } from './protocol.ts'

export type SessionUpdateListener = (update: SessionUpdate) => void

/** A turn started by `send`. */
export class ClientTurn {
  readonly #accepted: Promise<number>
  /**
   * How the turn ended. Rejects when the prompt was refused (then nothing was logged: `busy`, `empty-prompt` …) or the
   * worker is gone.
   */
  readonly done: Promise<TurnEndReason>
  /** Stops the turn; what was visible of its answer is kept. */
  readonly cancel: () => Promise<void>

  /** Made by `send`. @internal */
  constructor(accepted: Promise<number>, done: Promise<TurnEndReason>, cancel: () => Promise<void>) {
    this.#accepted = accepted
    this.done = done
    this.cancel = cancel
    // A refusal reaches the caller through `done` as well.
    accepted.catch(() => undefined)
  }

  /** The turn's number, once the prompt is committed. Rejects when the prompt was refused. */
  get accepted(): Promise<number> {
    // Who asks here learns of a refusal here; `done` need not be looked at too.
    this.done.catch(() => undefined)
    return this.#accepted
  }
}

type Waiter<Value> = { readonly resolve: (value: Value) => void; readonly reject: (error: PalimpsestError) => void }

/** How many ends of turns are kept for a caller whose `send` is answered after them. */
const KEPT_TURN_ENDS = 16

/** Most events of one page of `readEvents`. */
const PAGE = 512

export class ClientSession {
  readonly id: string
  readonly #link: Link
  readonly #leave: (session: ClientSession) => Promise<void>
  readonly #surface: SurfaceState
  readonly #listeners = new Set<SessionUpdateListener>()
  readonly #turns = new Map<number, Waiter<TurnEndReason>>()
  /** Ends of turns that came before somebody asked for them. */
  readonly #endedTurns = new Map<number, TurnEndReason>()
  readonly #seqs: { readonly seq: number; readonly waiter: Waiter<void> }[] = []
  #nextSeq: number
  #status: SessionStatus
  #frames: AssistantStreamFrame[]

  constructor(attachment: Attachment, link: Link, leave: (session: ClientSession) => Promise<void>) {
    this.id = attachment.id
    this.#link = link
    this.#leave = leave
    this.#surface = { ...attachment.surface, nodes: [...attachment.surface.nodes] as SessionSeq[] }
    this.#nextSeq = attachment.nextSeq
    this.#status = attachment.status
    this.#frames = JSON.parse(attachment.frames) as AssistantStreamFrame[]
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

  /** Calls `listener` with each change from now on; returns its remover. */
  subscribe(listener: SessionUpdateListener): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
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
    const seq = await this.#link.call(commands => commands.append(this.id, type, text, intentText))
    await this.#applied(seq)
    return (await this.eventAt(seq)) as EventOf<Type>
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

  /** The surface with its messages, in reading order. */
  async readSurface(): Promise<SurfaceNode[]> {
    return JSON.parse(await this.#link.call(commands => commands.readSurface(this.id))) as SurfaceNode[]
  }

  /** Resolves when every event so far is stored for good. @throws {StorageError} and the events are kept. */
  async flush(): Promise<void> {
    await this.#link.call(commands => commands.flush(this.id))
  }

  /** Starts a turn with a person's text. @throws (through the turn's promises) {AgentError} `busy`, `empty-prompt` … */
  send({ text }: { readonly text: string }): ClientTurn {
    const accepted = this.#link.call(commands => commands.send(this.id, text))
    return new ClientTurn(
      accepted,
      accepted.then(turn => this.#turnEnd(turn)),
      () => this.cancel(),
    )
  }

  /** Stops the running turn, if any. */
  async cancel(): Promise<void> {
    await this.#link.call(commands => commands.cancel(this.id))
  }

  /** Leaves the session; when no other page watches it, the worker stores what is left and closes it. */
  close(): Promise<void> {
    return this.#leave(this)
  }

  /** Applies what the worker sent. @internal */
  apply(items: readonly FeedItem[]): void {
    for (const item of items) {
      switch (item.kind) {
        case 'batch':
          this.#applyBatch(item.firstSeq, JSON.parse(item.events) as SessionEvent[], item.changes)
          break
        case 'frames':
          this.#applyFrames(JSON.parse(item.frames) as AssistantStreamFrame[])
          break
        case 'status':
          this.#status = item.status
          this.#tell({ kind: 'status', status: item.status })
      }
    }
  }

  /** The connection is gone. @internal */
  end(error: PalimpsestError): void {
    for (const waiter of [...this.#turns.values(), ...this.#seqs.map(each => each.waiter)]) waiter.reject(error)
    this.#turns.clear()
    this.#seqs.length = 0
    this.#tell({ kind: 'ended', error })
    this.#listeners.clear()
  }

  #applyBatch(firstSeq: number, events: readonly SessionEvent[], changes: readonly Committed['surfaceChange'][]): void {
    // What was on its way when this page attached is part of the attachment already.
    const known = this.#nextSeq - firstSeq
    if (known < 0) {
      const message = `Session ${this.id}: expected events from seq ${this.#nextSeq}; found ${firstSeq}. Open it again.`
      throw new WorkerError('internal', message, { sessionId: this.id, expected: this.#nextSeq, actual: firstSeq })
    }
    const entries: Committed[] = events
      .map((event, index) => ({ event, surfaceChange: changes[index] ?? ({ kind: 'none' } as const) }))
      .slice(known)
    if (entries.length === 0) return
    for (const { event, surfaceChange } of entries) {
      applySurfaceChange(this.#surface, surfaceChange)
      this.#nextSeq = event.seq + 1
      if (event.type === 'turn/end') this.#endTurn(event.data.turn, event.data.reason)
    }
    while (this.#seqs[0] !== undefined && this.#seqs[0].seq < this.#nextSeq) this.#seqs.shift()?.waiter.resolve()
    this.#tell({ kind: 'committed', entries })
  }

  #applyFrames(frames: readonly AssistantStreamFrame[]): void {
    for (const frame of frames) {
      if (frame.kind === 'chunk') this.#frames.push(frame)
      else this.#frames = frame.kind === 'start' ? [frame] : []
    }
    this.#tell({ kind: 'frames', frames })
  }

  /** A listener's failure is its own: it surfaces as an uncaught error and stops nothing. */
  #tell(update: SessionUpdate): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(update)
      } catch (error) {
        setTimeout(() => {
          throw error
        })
      }
    }
  }

  async #readPage(from: number, to: number): Promise<SessionEvent[]> {
    return JSON.parse(await this.#link.call(commands => commands.readEvents(this.id, from, to))) as SessionEvent[]
  }

  #turnEnd(turn: number): Promise<TurnEndReason> {
    const ended = this.#endedTurns.get(turn)
    if (ended !== undefined) return Promise.resolve(ended)
    return this.#waiting(waiter => this.#turns.set(turn, waiter))
  }

  #endTurn(turn: number, reason: TurnEndReason): void {
    this.#turns.get(turn)?.resolve(reason)
    this.#turns.delete(turn)
    this.#endedTurns.set(turn, reason)
    this.#endedTurns.delete(turn - KEPT_TURN_ENDS)
  }

  #applied(seq: number): Promise<void> {
    if (seq < this.#nextSeq) return Promise.resolve()
    return this.#waiting(waiter => this.#seqs.push({ seq, waiter }))
  }

  #waiting<Value>(add: (waiter: Waiter<Value>) => void): Promise<Value> {
    // Through the link, which watches over the worker while somebody waits for it.
    return this.#link.track(() => new Promise((resolve, reject) => add({ resolve, reject })))
  }
}
