/** The agent of one live session: takes prompts, runs turns, can be stopped. */
import type { CancelCause, TurnEndReason, UserMessage } from '../core/events.ts'
import { MessageId } from '../core/ids.ts'
import { hasLoneSurrogate } from '../core/well-formed.ts'
import { SystemPromptProjection } from '../core/system-prompt.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { AgentError } from './errors.ts'
import { commitSplices } from './inbox-events.ts'
import {
  type Inbox,
  inboxFold,
  type InboxTarget,
  isEmptyInbox,
  isPending,
  planInsertion,
  planRemoval,
  planReturn,
} from '../core/inbox.ts'
import type { AgentStatus, AssistantStreamFrame } from '../core/live.ts'
import type { InboxSplice } from '../core/plugin-events.ts'
import type { Model, ModelRequest } from './model.ts'
import type { RequestMemory } from './request.ts'
import type { Tool } from './tool.ts'
import { endsWell, failTurn, runTurn, type TurnOptions } from './turn.ts'

/** What an agent works with; asked for anew at each turn, so that a changed configuration takes effect. */
export type AgentSetup = {
  readonly model: Model
  /** The system prompt; empty or absent for none. */
  readonly system?: string
  readonly tools?: readonly Tool[]
  /** Most steps (model calls) of one turn; default 50. */
  readonly maxSteps?: number
}

export type AgentOptions = {
  readonly live: LiveSession
  readonly setup: () => AgentSetup
  readonly now: () => number
  readonly newId: () => string
  /** Bytes of attachments; without it there are none. */
  readonly readBlob?: ModelRequest['readBlob']
  readonly onFrame?: (frame: AssistantStreamFrame) => void
  readonly onStatus?: (status: AgentStatus) => void
}

export type RunningTurn = {
  readonly turn: number
  /** Settles with how the turn ended, after its `turn/end` is committed. Never rejects. */
  readonly done: Promise<TurnEndReason>
}

/** A message that was taken: by a turn, or into the inbox. */
export type SentMessage = {
  readonly messageId: MessageId
  /** The turn that began with it; null when it waits in the inbox. */
  readonly turn: number | null
  /**
   * How the turn ended that had it; pending for as long as it waits. Rejects with {AgentError} `canceled` when it is
   * removed before; that rejection need not be handled.
   */
  readonly done: Promise<TurnEndReason>
}

const DEFAULT_MAX_STEPS = 50

type Waiter = {
  readonly resolve: (reason: TurnEndReason) => void
  readonly reject: (error: AgentError) => void
}

/**
 * A message that a torn log lost between the inbox and its turn is put back when the agent is made.
 */
export class Agent {
  readonly #options: AgentOptions
  readonly #memory: RequestMemory
  #revision = 0
  #running: RunningTurn | null = null
  /** Set before the turn starts, so that it can be stopped from the first status on. */
  #abort: AbortController | null = null
  /** Something was sent after the turn had been stopped: what is pending may follow all the same. */
  #wake = false
  #isDisposing = false
  #status: AgentStatus = { kind: 'idle' }
  /** What was sent here and has not had its turn to the end. */
  readonly #sent = new Map<string, Waiter>()

  constructor(options: AgentOptions) {
    const { session } = options.live
    this.#options = options
    this.#memory = { headerLogged: false, prompt: new SystemPromptProjection(session) }
    commitSplices(session, planReturn(this.inbox))
  }

  get status(): AgentStatus {
    return this.#status
  }

  /** What waits for a turn or a step. Never run by itself after opening: `resume` or the next `send` does. */
  get inbox(): Inbox {
    return this.#options.live.session.fold(inboxFold)
  }

  /**
   * Takes a person's text. Idle with nothing pending, it starts a turn, and the prompt is committed before this returns.
   * Otherwise it waits its turn, in the order of sending: behind the running one, or behind what is pending, which starts.
   * A turn that fails or is stopped leaves what waits alone until the next `send` or `resume`.
   *
   * @throws {AgentError} `empty-prompt`, `malformed-prompt`, `tool`; then nothing was logged.
   */
  send({ text }: { readonly text: string }): SentMessage {
    return this.#take('next-turn', text)
  }

  /**
   * Takes a person's text into the running turn: before its next request, also when it would have ended. Idle, or when the
   * turn is being stopped: as `send`.
   *
   * @throws {AgentError} as `send`.
   */
  steer({ text }: { readonly text: string }): SentMessage {
    return this.#take('next-step', text)
  }

  /** Starts a turn with what is pending. Null when nothing is, or a turn runs; one that is being stopped is followed. */
  resume(): RunningTurn | null {
    if (this.#running !== null) {
      this.#wakeAfterStop()
      return null
    }
    return isEmptyInbox(this.inbox) ? null : this.#start(this.#prepare(), null)
  }

  /** Removes a pending message; false when it is not pending (any more). */
  removeQueued(messageId: string): boolean {
    if (!this.#splice(planRemoval(this.inbox, messageId))) return false
    this.#sent.get(messageId)?.reject(new AgentError('canceled', 'The message was taken back before a turn had it'))
    this.#sent.delete(messageId)
    return true
  }

  /**
   * Rewrites a pending message where it stands; it keeps its id. False when it is not pending (any more).
   *
   * @throws {AgentError} `empty-prompt`, `malformed-prompt`; then it stays as it was.
   */
  editQueued(messageId: string, { text }: { readonly text: string }): boolean {
    checkPrompt(text)
    return this.#splice(planRemoval(this.inbox, messageId, [userMessage(messageId, text)]))
  }

  /** Takes a message that was sent here back: removes it while it waits, stops its turn while that runs. */
  withdraw(messageId: string): void {
    if (!this.removeQueued(messageId) && this.#sent.has(messageId)) this.cancel()
  }

  /**
   * Stops the running turn; what was visible of its answer is kept, and so is what waits. The first cause wins. Idle: does
   * nothing.
   */
  cancel(cause: CancelCause = { kind: 'user' }): void {
    this.#wake = false
    this.#abort?.abort(cause)
  }

  /** The running turn, or null. */
  get running(): RunningTurn | null {
    return this.#running
  }

  /** Stops what runs and waits until its end is committed. What waits stays in the inbox. */
  async dispose(): Promise<void> {
    this.#isDisposing = true
    this.cancel({ kind: 'disposed' })
    await this.#running?.done
    this.#isDisposing = false
  }

  #take(target: InboxTarget, text: string): SentMessage {
    checkPrompt(text)
    const { live, newId } = this.#options
    const { inbox } = this
    const prepared = this.#running === null ? this.#prepare() : null
    const message = userMessage(newId(), text)
    const startsAlone = prepared !== null && isEmptyInbox(inbox)
    if (!startsAlone) {
      const isSteering = prepared === null && !this.#wakeAfterStop()
      commitSplices(live.session, [planInsertion(inbox, isSteering ? target : 'next-turn', message)])
    }
    const started = prepared === null ? null : this.#start(prepared, startsAlone ? message : null)
    const done = new Promise<TurnEndReason>((resolve, reject) => this.#sent.set(message.id, { resolve, reject }))
    done.catch(() => undefined)
    return { messageId: message.id, turn: isPending(this.inbox, message.id) ? null : (started?.turn ?? null), done }
  }

  #splice(splice: InboxSplice | null): boolean {
    if (splice !== null) commitSplices(this.#options.live.session, [splice])
    return splice !== null
  }

  /** True when the running turn is being stopped: then what is pending follows it. */
  #wakeAfterStop(): boolean {
    const isStopping = this.#abort?.signal.aborted === true
    this.#wake ||= isStopping
    return isStopping
  }

  /** What a turn works with. @throws {AgentError} `tool`, and whatever `setup` throws. */
  #prepare(): Prepared {
    const { model, system = '', tools = [], maxSteps = DEFAULT_MAX_STEPS } = this.#options.setup()
    return { model, system, tools: toolTable(tools), maxSteps }
  }

  #start(prepared: Prepared, prompt: UserMessage | null): RunningTurn {
    const { live, now, newId, onFrame, readBlob = noBlob } = this.#options
    const abort = new AbortController()
    this.#abort = abort
    this.#wake = false
    const { turn, done } = runTurn(prompt, {
      ...prepared,
      session: live.session,
      flush: () => live.flush(),
      journal: live.journal,
      memory: this.#memory,
      signal: abort.signal,
      now,
      newId,
      readBlob,
      nextRevision: () => (this.#revision += 1),
      onFrame: frame => onFrame?.(frame),
      onActivity: activity => this.#setStatus(activity),
    })
    this.#running = { turn, done: this.#untilEnd(done, abort.signal) }
    return this.#running
  }

  /** Waits for the end of a turn; then the next one starts, when something is pending and nothing speaks against it. */
  async #untilEnd(done: Promise<TurnEndReason>, signal: AbortSignal): Promise<TurnEndReason> {
    let goesOn = false
    try {
      const reason = await done
      goesOn = endsWell(reason) && !signal.aborted
      this.#settle(reason)
      return reason
    } finally {
      this.#running = null
      this.#abort = null
      if ((goesOn || this.#wake) && !this.#isDisposing && !isEmptyInbox(this.inbox)) this.#startPending()
      else this.#setStatus({ kind: 'idle' })
    }
  }

  /** Nobody is there to be told what keeps the turn from starting: the log is, and what is pending stays. */
  #startPending(): void {
    let prepared: Prepared
    try {
      prepared = this.#prepare()
    } catch (error) {
      failTurn(this.#options.live.session, error)
      this.#setStatus({ kind: 'idle' })
      return
    }
    this.#start(prepared, null)
  }

  /** A turn has ended: what was sent and is not pending any more was part of it. */
  #settle(reason: TurnEndReason): void {
    for (const [id, { resolve }] of this.#sent) {
      if (isPending(this.inbox, id)) continue
      this.#sent.delete(id)
      resolve(reason)
    }
  }

  #setStatus(status: AgentStatus): void {
    this.#status = status
    this.#options.onStatus?.(status)
  }
}

const noBlob = () => Promise.resolve(null)

type Prepared = Pick<TurnOptions, 'model' | 'system' | 'tools' | 'maxSteps'>

/** @throws {AgentError} `empty-prompt`, `malformed-prompt`. */
function checkPrompt(text: string): void {
  if (text.trim() === '') throw new AgentError('empty-prompt', 'The prompt has no visible text')
  if (hasLoneSurrogate(text)) {
    throw new AgentError('malformed-prompt', 'The prompt holds a broken character (half of a surrogate pair)')
  }
}

const userMessage = (id: string, text: string): UserMessage => ({
  id: MessageId(id),
  role: 'user',
  content: [{ type: 'text', text }],
  source: { kind: 'user' },
})

/** Tools by name. @throws {AgentError} `tool` when two share one. */
function toolTable(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const table = new Map<string, Tool>()
  for (const tool of tools) {
    const { name } = tool.description
    if (table.has(name)) throw new AgentError('tool', `Two tools are named ${name}`)
    table.set(name, tool)
  }
  return table
}
