/**
 * The agent of one live session: takes prompts, runs turns, can be stopped. READ FIRST in this folder. Longer than most
 * files: what may be asked of it when is one matter; what a turn does is in `turn.ts` and its neighbours.
 */
import { approvalsFold } from '../core/approvals.ts'
import type { CancelCause, TurnEndReason, UserMessage } from '../core/events.ts'
import type { MessageId } from '../core/ids.ts'
import {
  type Inbox,
  inboxFold,
  type InboxTarget,
  isEmptyInbox,
  pendingMessages,
  planCancellation,
  planInsertion,
  planRemoval,
  planReturn,
} from '../core/inbox.ts'
import { snapshotJson } from '../core/json.ts'
import { lastTurnFold } from '../core/last-turn.ts'
import type { AgentStatus } from '../core/live.ts'
import type { InboxSplice } from '../core/plugin-events.ts'
import { SystemPromptProjection } from '../core/system-prompt.ts'
import { turnsFold } from '../core/turns.ts'
import { attachmentBlock } from '../sessions/attachments.ts'
import type { AgentOptions } from './agent-options.ts'
import { type ApprovalAnswer, ApprovalDesk } from './approval.ts'
import { type Clock, systemClock } from './clock.ts'
import { closeOpenTurn } from './close-turn.ts'
import { AgentError } from './errors.ts'
import { commitSplices } from './inbox-events.ts'
import {
  checkMessages,
  continueMessage,
  noticeMessage,
  type Prompt,
  promptContent,
  userMessage,
  withText,
} from './messages.ts'
import { alwaysOnline, type Network } from './network.ts'
import { NetworkWait } from './network-wait.ts'
import { MAX_INTERRUPTIONS, openStepOf, type ResumePolicy } from './open-step.ts'
import type { RequestMemory } from './request.ts'
import { type SentMessage, SentMessages } from './sent-messages.ts'
import { type AgentSetup, type Prepared, prepare } from './setup.ts'
import { proposeTitle } from './titling.ts'
import { continueTurn, endsWell, failTurn, runTurn, type RunningTurn, type TurnOptions } from './turn.ts'

export type { AgentOptions, AgentSetup, RunningTurn, SentMessage }

export class Agent {
  readonly #options: AgentOptions
  readonly #clock: Clock
  readonly #network: Network
  readonly #memory: RequestMemory
  readonly #desk: ApprovalDesk
  #revision = 0
  #isStarted = false
  #running: RunningTurn | null = null
  /** Work on the session between turns. */
  #maintenance: Promise<unknown> | null = null
  /** Set before the turn starts, so that it can be stopped from the first status on. */
  #abort: AbortController | null = null
  /** Something was sent that must not start a turn yet: what is pending starts one as soon as it may. */
  #wake = false
  readonly #networkWait: NetworkWait
  #isClosing = false
  /** Stops the making of a title. */
  #naming: AbortController | null = null
  #status: AgentStatus = { kind: 'idle' }
  readonly #sent = new SentMessages()

  constructor(options: AgentOptions) {
    const { live, clock = systemClock, network = alwaysOnline, canAsk = () => false } = options
    this.#options = options
    this.#clock = clock
    this.#network = network
    this.#networkWait = new NetworkWait(network)
    this.#memory = { headerLogged: false, prompt: new SystemPromptProjection(live.session) }
    this.#desk = new ApprovalDesk(canAsk)
    this.#status = this.#idleStatus()
  }

  /**
   * Takes up what the log was left with: a turn that waits for an approval goes on waiting for it, a message that was
   * taken and never said is pending again, and, where the policy is `auto`, what was cut off or is pending goes on
   * (SPEC A25). To be called once the session is open, and when it stays open after all; whatever else is asked of a
   * new agent calls it.
   */
  start(): void {
    this.#isClosing = false
    if (this.#isStarted) return
    this.#isStarted = true
    const { session } = this.#options.live
    if (session.fold(turnsFold).openTurn !== null && this.#continueOpenTurn()) return
    commitSplices(session, planReturn(this.inbox))
    const isLooping = session.fold(lastTurnFold).interruptions >= MAX_INTERRUPTIONS
    if (this.#resumePolicy === 'auto' && !isLooping) this.#resumeByItself()
    this.#setIdle()
  }

  get status(): AgentStatus {
    return this.#status
  }

  /** What waits for a turn or a step. Never run by itself after opening, unless by policy: `resume` or a `send` does. */
  get inbox(): Inbox {
    return this.#options.live.session.fold(inboxFold)
  }

  /**
   * Takes what a person says. Idle with nothing pending, it starts a turn, and the prompt is committed before this returns.
   * Otherwise it waits its turn, in the order of sending: behind the running one, or behind what is pending, which starts.
   * While there is no network it waits for that. A turn that fails or is stopped leaves what waits alone until the next
   * `send` or `resume`.
   *
   * @throws {AgentError} `empty-prompt`, `malformed-prompt`, `tool`, `setup`; then nothing was logged.
   */
  send(prompt: Prompt): SentMessage {
    return this.#take('next-turn', userMessage(this.#options.newId(), promptContent(prompt)))
  }

  /**
   * Takes what a person says into the running turn: before its next request, also when it would have ended. Idle, or when
   * the turn is being stopped: as `send`.
   *
   * @throws {AgentError} as `send`.
   */
  steer(prompt: Prompt): SentMessage {
    return this.#take('next-step', userMessage(this.#options.newId(), promptContent(prompt)))
  }

  /**
   * Lays text of software before the next step, of the running turn or of whichever comes: it starts nothing, and people
   * are shown its `summary`. Answers the id of the message. @throws {AgentError} `empty-prompt`, `malformed-prompt`.
   */
  inject({ text, summary = text }: { readonly text: string; readonly summary?: string }): MessageId {
    promptContent({ text })
    this.#ready()
    const message = noticeMessage(this.#options.newId(), text, summary)
    this.#splice(planInsertion(this.inbox, 'next-step', message))
    return message.id
  }

  /**
   * Says messages again that another session has, with their ids, as the beginning of a turn.
   *
   * @throws {AgentError} `busy` unless idle with nothing pending, `malformed-prompt`; others as `send`.
   */
  sayAgain(messages: readonly UserMessage[]): SentMessage {
    const said = checkMessages(messages)
    this.#ready()
    if (this.#isBusy || !isEmptyInbox(this.inbox)) throw busy('say something again')
    const prepared = this.#prepare()
    for (const message of said.slice(0, -1)) this.#splice(planInsertion(this.inbox, 'next-step', message))
    return this.#take('next-turn', said.at(-1) as UserMessage, prepared)
  }

  /**
   * Starts a turn with what is pending. With nothing pending, one that goes on where the last turn was cut off, unless the
   * policy is `never`. Null when there is nothing to do, or a turn runs; one that is being stopped is followed.
   *
   * @throws {AgentError} `tool`, `setup`, and whatever the setup throws.
   */
  resume(): RunningTurn | null {
    this.#ready()
    if (this.#isBusy) {
      this.#wakeAfterStop()
      this.#wake ||= this.#maintenance !== null
      return null
    }
    if (!isEmptyInbox(this.inbox)) return this.#startOrWait(this.#prepare(), null)
    if (!this.#isInterrupted) return null
    const prepared = this.#prepare()
    return this.#begin(prepared, continueMessage(this.#options.newId()))
  }

  /** Answers a call that waits for an approval; false when it does not wait (any more). */
  approve(callId: string, answer: ApprovalAnswer): boolean {
    return this.#desk.answer(callId, answer)
  }

  /** Removes a pending message; false when it is not pending (any more). @throws {AgentError} `closed`. */
  removeQueued(messageId: string): boolean {
    this.#ready()
    if (!this.#splice(planRemoval(this.inbox, messageId))) return false
    this.#sent.remove(messageId)
    this.#wasTakenBack()
    return true
  }

  /** Removes all pending messages; answers how many there were. @throws {AgentError} `closed`. */
  clearQueued(): number {
    this.#ready()
    const pending = pendingMessages(this.inbox)
    commitSplices(this.#options.live.session, planCancellation(this.inbox))
    for (const { id } of pending) this.#sent.remove(id)
    this.#wasTakenBack()
    return pending.length
  }

  /**
   * Rewrites a pending message where it stands; it keeps its id, and what is attached to it unless other attachments are
   * given. False when it is not pending (any more).
   *
   * @throws {AgentError} `empty-prompt`, `malformed-prompt`, `closed`; then it stays as it was.
   */
  editQueued(messageId: string, prompt: Prompt): boolean {
    this.#ready()
    const message = pendingMessages(this.inbox).find(({ id }) => id === messageId)
    if (message === undefined) return false
    return this.#splice(planRemoval(this.inbox, messageId, [withText(message, prompt)]))
  }

  /** Takes a message that was sent here back: removes it while it waits, stops its turn while that runs. */
  withdraw(messageId: string): void {
    if (!this.removeQueued(messageId) && this.#sent.has(messageId)) this.cancel()
  }

  /**
   * Stops the running turn; what was visible of its answer is kept, and so is what waits. The first cause wins. Idle: does
   * nothing, but that what waits for the network waits for the next `send` or `resume` instead.
   */
  cancel(cause: CancelCause = { kind: 'user' }): void {
    this.#wake = false
    this.#networkWait.stop()
    this.#abort?.abort(isJson(cause) ? cause : { kind: 'user' })
    this.#setIdle()
  }

  /** The running turn, or null. */
  get running(): RunningTurn | null {
    return this.#running
  }

  /**
   * Runs `work` on the session between turns; what is sent meanwhile waits until it is done. `signal` aborts as a turn's.
   *
   * @throws {AgentError} `busy`, at once, unless the agent is idle.
   */
  maintain<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    this.#ready()
    if (this.#isBusy) throw busy('do that')
    this.#wake = this.#networkWait.stop()
    const abort = new AbortController()
    this.#abort = abort
    // It begins once the agent is known to be busy with it.
    const maintenance = Promise.resolve()
      .then(() => work(abort.signal))
      .finally(() => {
        this.#maintenance = null
        this.#abort = null
        this.#goOn(this.#wake)
      })
    this.#maintenance = maintenance
    this.#setStatus({ kind: 'maintenance' })
    return maintenance
  }

  /**
   * Stops what runs and waits until its end is committed. A turn that waits for a person is left open, and goes on when the
   * session is opened again. What waits stays in the inbox. From now on nothing is taken, until `start` is called again.
   */
  async dispose(): Promise<void> {
    this.#isClosing = true
    this.#naming?.abort()
    this.cancel({ kind: 'disposed' })
    await this.#running?.done
    await this.#maintenance?.catch(() => undefined) // its caller's to hear of
    this.#isStarted = false
  }

  /** @throws {AgentError} `closed` while the session is being closed: what was taken then would be stored nowhere. */
  #ready(): void {
    if (this.#isClosing) throw new AgentError('closed', 'The session of this agent is being closed')
    this.start()
  }

  // ── Taking messages ───────────────────────────────────────────────────────────────────────────────────────────────

  #take(target: InboxTarget, message: UserMessage, prepared?: Prepared): SentMessage {
    this.#ready()
    const turn = this.#isBusy
      ? this.#queue(target, message)
      : (this.#begin(prepared ?? this.#prepare(), message)?.turn ?? null)
    return this.#sent.add(message, turn, this.inbox)
  }

  /** For the turn that runs, or what comes after it. */
  #queue(target: InboxTarget, message: UserMessage): null {
    const isSteering = this.#running !== null && !this.#wakeAfterStop()
    this.#wake ||= this.#maintenance !== null
    this.#splice(planInsertion(this.inbox, isSteering ? target : 'next-turn', message))
    return null
  }

  /** A turn with a message, behind what is pending. Alone it need not wait, unless hooks have a say in it. */
  #begin(prepared: Prepared, message: UserMessage): RunningTurn | null {
    const isHeard = prepared.hooks.some(({ preStep }) => preStep !== undefined)
    const startsAlone = isEmptyInbox(this.inbox) && !isHeard && !this.#isOffline(prepared)
    if (startsAlone) return this.#start(prepared, message)
    this.#splice(planInsertion(this.inbox, 'next-turn', message))
    return this.#startOrWait(prepared, null)
  }

  /** There may be nothing left to wait for the network with. */
  #wasTakenBack(): void {
    if (isEmptyInbox(this.inbox)) this.#networkWait.stop()
    this.#setIdle()
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

  // ── Running turns ─────────────────────────────────────────────────────────────────────────────────────────────────

  get #isBusy(): boolean {
    return this.#running !== null || this.#maintenance !== null
  }

  get #resumePolicy(): ResumePolicy {
    return this.#options.resume ?? 'ask'
  }

  get #isInterrupted(): boolean {
    const { ended } = this.#options.live.session.fold(lastTurnFold)
    return ended === 'interrupted' && this.#resumePolicy !== 'never'
  }

  #isOffline({ model }: Prepared): boolean {
    return model.usesNetwork === true && !this.#network.isOnline()
  }

  /** What a turn works with. @throws {AgentError} `tool`, `setup`, and whatever `setup` throws. */
  #prepare(): Prepared {
    return prepare(this.#options.setup())
  }

  #startOrWait(prepared: Prepared, prompt: UserMessage | null): RunningTurn | null {
    if (!this.#isOffline(prepared)) return this.#start(prepared, prompt)
    this.#networkWait.start(() => this.#goOn(!this.#isBusy))
    this.#setIdle()
    return null
  }

  #start(prepared: Prepared, prompt: UserMessage | null): RunningTurn {
    return this.#run(prepared, options => runTurn(prompt, options))
  }

  #run(prepared: Prepared, begin: (options: TurnOptions) => RunningTurn): RunningTurn {
    const { live, newId, random = Math.random, onFrame, readBlob = noBlob, putBlob = noStore } = this.#options
    this.#networkWait.stop()
    const abort = new AbortController()
    this.#abort = abort
    this.#wake = false
    const { turn, done } = begin({
      ...prepared,
      session: live.session,
      flush: () => live.flush(),
      journal: live.journal,
      memory: this.#memory,
      signal: abort.signal,
      clock: this.#clock,
      network: this.#network,
      desk: this.#desk,
      random,
      newId,
      readBlob,
      attach: (data, name) => attachmentBlock(data, name, putBlob),
      nextRevision: () => (this.#revision += 1),
      onFrame: frame => this.#tell(() => onFrame?.(frame)),
      onActivity: activity => this.#setStatus(activity),
    })
    this.#running = { turn, done: this.#untilEnd(done, abort.signal, prepared) }
    return this.#running
  }

  /** Waits for the end of a turn; then the next one starts, when something is pending and nothing speaks against it. */
  async #untilEnd(done: Promise<TurnEndReason>, signal: AbortSignal, prepared: Prepared): Promise<TurnEndReason> {
    let goesOn = false
    try {
      const reason = await done
      goesOn = endsWell(reason) && !signal.aborted
      this.#sent.settle(reason, this.inbox)
      return reason
    } finally {
      this.#running = null
      this.#abort = null
      if (goesOn) this.#name(prepared)
      this.#goOn(goesOn || this.#wake)
    }
  }

  /** Starts what is pending, if it `may`. */
  #goOn(may: boolean): void {
    if (may && !this.#isClosing && !isEmptyInbox(this.inbox)) this.#startPending()
    else this.#setIdle()
  }

  /** Nobody is there to be told what keeps the turn from starting: the log is, and what is pending stays. */
  #startPending(): void {
    let prepared: Prepared
    try {
      prepared = this.#prepare()
    } catch (error) {
      failTurn(this.#options.live.session, error)
      this.#setIdle()
      return
    }
    this.#startOrWait(prepared, null)
  }

  /** True when the open turn goes on; else it is closed. */
  #continueOpenTurn(): boolean {
    const { session } = this.#options.live
    try {
      const prepared = this.#prepare()
      const isIdempotent = (name: string) => prepared.tools.get(name)?.isIdempotent === true
      const { interruptions } = session.fold(lastTurnFold)
      const state = { turns: session.fold(turnsFold), approvals: session.fold(approvalsFold), interruptions }
      const step = openStepOf({ ...state, policy: this.#resumePolicy, isIdempotent }, session.messages)
      if (step !== null && step.calls.length > 0) {
        this.#run(prepared, options => continueTurn(step, options))
        return true
      }
    } catch (error) {
      this.#options.onError?.(error)
    }
    closeOpenTurn(session)
    return false
  }

  #resumeByItself(): void {
    try {
      this.resume()
    } catch (error) {
      this.#options.onError?.(error)
    }
  }

  #name({ title }: Prepared): void {
    const { live, setTitle, onError } = this.#options
    if (title !== undefined && setTitle !== undefined) {
      const abort = (this.#naming = new AbortController())
      proposeTitle(live.session, title, setTitle, abort.signal).catch((error: unknown) => {
        // What comes after the session was closed is nobody's failure.
        if (!abort.signal.aborted) onError?.(error)
      })
    }
  }

  // ── Network and status ────────────────────────────────────────────────────────────────────────────────────────────

  #idleStatus(): AgentStatus {
    if (this.#networkWait.isWaiting && !isEmptyInbox(this.inbox)) return { kind: 'offline', turn: null, step: null }
    return this.#isInterrupted ? { kind: 'idle', interrupted: true } : { kind: 'idle' }
  }

  /** Says how the agent is, unless it does something. */
  #setIdle(): void {
    if (this.#isBusy) return
    const status = this.#idleStatus()
    if (status.kind !== 'idle' || this.#status.kind !== 'idle' || status.interrupted !== this.#status.interrupted) {
      this.#setStatus(status)
    }
  }

  /** Whoever listens has no say in what is logged. */
  #tell(tell: () => void): void {
    try {
      tell()
    } catch (error) {
      this.#options.onError?.(error)
    }
  }

  #setStatus(status: AgentStatus): void {
    this.#status = status
    this.#tell(() => this.#options.onStatus?.(status))
  }
}

/** What a log takes. */
function isJson(value: unknown): boolean {
  try {
    snapshotJson(value)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}

const busy = (what: string) => new AgentError('busy', `The agent is doing something else: it cannot ${what} now`)

const noBlob = () => Promise.resolve(null)
const noStore = () => Promise.reject(new AgentError('setup', 'This agent has nowhere to store attachments'))
