/**
 * For this library's own tests: an agent in a world a test has in its hands – what the model says, how long tools and
 * hooks take, disk, network, clock – and everything it promised and did there, for `agent-oracle.ts` to look at.
 */
import type { AgentSetup, SentMessage } from '../agent/agent.ts'
import type { AgentHooks } from '../agent/hooks.ts'
import type { Model, ModelRequest } from '../agent/model.ts'
import type { ResumePolicy } from '../agent/open-step.ts'
import type { RetryPolicy } from '../agent/retry.ts'
import { defineTool, type Tool, type ToolContext, type ToolDefinition, type ToolOutput } from '../agent/tool.ts'
import { approvalsFold, evolveApprovals } from '../core/approvals.ts'
import type { CancelCause, SessionEvent, TurnEndReason } from '../core/events.ts'
import { CallId, SessionId } from '../core/ids.ts'
import { evolveInbox, inboxFold } from '../core/inbox.ts'
import type { Invariant } from '../core/invariant.ts'
import { checkRequest } from '../core/invariants/check-request.ts'
import type { AgentStatus, AssistantStreamFrame } from '../core/live.ts'
import { validateAnthropicMessages, validateOpenAiChat } from '../core/provider-rules.ts'
import { requestMessages } from '../core/request-messages.ts'
import type { TimedChunk } from '../core/stream-records.ts'
import { foldTurns } from '../core/turns.ts'
import { type CutOffCall, readJournal } from '../sessions/answer-journal.ts'
import { StorageError } from '../storage/storage.ts'
import {
  type AgentKit,
  agentKit,
  countedIds,
  storedEvents,
  type SwitchedNetwork,
  switchedNetwork,
  ticked,
  type TurnedClock,
  turnedClock,
} from './agent-kit.ts'
import { Disk } from './disk.ts'
import { anthropicBody, chatBody } from './provider-bodies.ts'
import { type ScriptedStep, scriptedModel } from './scripted-model.ts'

export type SceneOptions = {
  /** What the model does with its first requests; all others it answers at once. */
  readonly steps?: (scene: Scene) => readonly ScriptedStep[]
  /** Instead of a script. */
  readonly model?: (scene: Scene) => Model
  readonly hooks?: (scene: Scene) => readonly AgentHooks[]
  readonly retry?: Partial<RetryPolicy>
  readonly resume?: ResumePolicy
  readonly liveInvariants?: readonly Invariant[]
  /** Names of the pauses that hold; `all` of them. */
  readonly holds?: readonly string[] | 'all'
  /** What a call comes to, once it is not held any more; it may throw. */
  readonly result?: (callId: string, tool: string) => ToolOutput
  readonly maxSteps?: number
}

/** What became of a message whose id was answered. `lost`: its realm ended before it was stored. */
export type Promised = 'kept' | 'canceled' | 'lost'

/** What one agent told, from being opened to its end. */
export type Act = {
  readonly frames: readonly AssistantStreamFrame[]
  readonly statuses: readonly AgentStatus[]
  /** Its realm ended without a word. */
  readonly isCut: boolean
  /** It does nothing any more. */
  readonly isOver: boolean
  /** Events from here on are none of its: they were lost, and others may have their place. */
  readonly upTo: number
}

export type BodyRun = { readonly callId: string; readonly tool: string; readonly mayRunAgain: boolean }

/** A model call that was cut off, as it was journaled, and where the event that settles it has to be. */
export type CutOff = CutOffCall & { readonly seq: number }

type Pause = { readonly name: string; readonly resolve: () => void; readonly reject: (error: unknown) => void }

const ID = SessionId('s')
const FULL = new StorageError('quota-exceeded', 'The disk is full')

export class Scene {
  readonly options: SceneOptions
  /** What was found wrong while it ran. */
  readonly problems: string[] = []
  readonly bodies: BodyRun[] = []
  /** Of all messages that were taken, by id. */
  readonly promised: Map<string, Promised> = new Map()
  /** Agents that are gone. */
  readonly past: Act[] = []
  readonly cutOff: CutOff[] = []
  /** What an agent told besides. */
  readonly errors: unknown[] = []
  /** Ends of messages that were sent, by id, as far as they were told. */
  readonly ends: Map<string, TurnEndReason | Error> = new Map()
  /** Ids of the messages that were sent to the agent of now. */
  readonly sent: Set<string> = new Set()
  /** Names of the pauses that are held. */
  readonly waiting: Set<string> = new Set()
  /** How many requests the model got. */
  asked = 0
  disk: Disk = new Disk()
  clock: TurnedClock = turnedClock(1_000, ticked)
  network: SwitchedNetwork = switchedNetwork()
  /** Its agent may have left a turn open. */
  isClosing = false
  setupFailure: Error | null = null
  /** What the model throws at its next request. */
  modelFailure: Error | null = null
  readonly #newId = countedIds()
  readonly #model: Model
  readonly #tools: readonly Tool[]
  readonly #hooks: readonly AgentHooks[]
  #holds: (name: string) => boolean
  #pauses: Pause[] = []
  #kit: AgentKit | null = null
  #resume: ResumePolicy
  #count = 0

  private constructor(options: SceneOptions) {
    this.options = options
    const { holds = [] } = options
    this.#holds = name => holds === 'all' || holds.includes(name)
    this.#resume = options.resume ?? 'ask'
    this.#model = options.model?.(this) ?? this.#scripted(options.steps?.(this) ?? [])
    this.#hooks = options.hooks?.(this) ?? []
    this.#tools = [
      this.tool('pay'),
      this.tool('look', { parallel: true }),
      this.tool('read', { idempotent: true }),
      this.tool('mail', { needsApproval: 'It reaches people.' }),
      this.tool('post', { needsApproval: 'It reaches people.', parallel: true }),
    ]
  }

  static async open(options: SceneOptions = {}): Promise<Scene> {
    const scene = new Scene(options)
    await scene.#open()
    return scene
  }

  get kit(): AgentKit {
    return this.#kit as AgentKit
  }

  get agent(): AgentKit['agent'] {
    return this.kit.agent
  }

  get session(): AgentKit['live']['session'] {
    return this.kit.live.session
  }

  get events(): readonly SessionEvent[] {
    return this.session.snapshotEvents()
  }

  /** What came so far of the call that is running, if one is. */
  openCall(): readonly (readonly TimedChunk[])[] {
    const { frames } = this.kit
    const start = frames.findLastIndex(({ kind }) => kind === 'start')
    if (start === -1 || frames.slice(start).some(({ kind }) => kind === 'end')) return []
    return [
      frames.slice(start).flatMap(frame => (frame.kind === 'chunk' ? [{ time: frame.time, chunk: frame.chunk }] : [])),
    ]
  }

  // ── What people do ────────────────────────────────────────────────────────────────────────────────────────────────

  /** Text no other message has. */
  words(what: string): string {
    return `${what} ${(this.#count += 1)}`
  }

  send(how: 'send' | 'steer' = 'send'): SentMessage {
    const sent = this.agent[how]({ text: this.words(how) })
    const { messageId, done } = sent
    this.promised.set(messageId, 'kept')
    this.sent.add(messageId)
    done.then(
      reason => this.ends.set(messageId, reason),
      (error: unknown) => this.ends.set(messageId, error as Error),
    )
    return sent
  }

  inject(): string {
    const id = this.agent.inject({ text: this.words('injected') })
    this.promised.set(id, 'kept')
    return id
  }

  /** Takes a message back, if it still waits. */
  remove(id: string): boolean {
    const isRemoved = this.agent.removeQueued(id)
    if (isRemoved) this.promised.set(id, 'canceled')
    return isRemoved
  }

  clear(): void {
    const { nextStep, nextTurn } = this.agent.inbox
    this.agent.clearQueued()
    for (const { id } of [...nextStep, ...nextTurn]) this.promised.set(id, 'canceled')
  }

  cancel(cause?: CancelCause): void {
    this.agent.cancel(cause)
  }

  /** Keeps the session busy between turns until it is told to stop. What it throws then is nobody's. */
  maintain(): void {
    const work = this.agent.maintain(async signal => {
      const stopped = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
      await Promise.race([this.pause('maintenance'), stopped])
    })
    work.catch((error: unknown) => this.errors.push(error))
  }

  // ── What the world does ───────────────────────────────────────────────────────────────────────────────────────────

  /** A place where a script, a body or a hook waits, if it is among those that hold. */
  async pause(name: string): Promise<void> {
    if (!this.#holds(name)) return
    const pauses = this.#pauses
    this.waiting.add(name)
    try {
      await new Promise<void>((resolve, reject) => pauses.push({ name, resolve, reject }))
    } finally {
      if (pauses === this.#pauses) this.waiting.delete(name)
    }
  }

  /** From now on it waits there. */
  hold(name: string): void {
    const others = this.#holds
    this.#holds = each => each === name || others(each)
  }

  /** Lets what waits at a pause go on, from now on without waiting; with `error` it fails. All of them without a name. */
  release(name?: string, error?: unknown): void {
    const others = this.#holds
    this.#holds = each => name !== undefined && each !== name && others(each)
    this.letGo(name, error)
  }

  /** Lets what waits at a pause now go on. */
  letGo(name?: string, error?: unknown): void {
    const due = this.#pauses.filter(pause => name === undefined || pause.name === name)
    for (const pause of due) {
      this.#pauses.splice(this.#pauses.indexOf(pause), 1)
      if (error === undefined) pause.resolve()
      else pause.reject(error)
    }
  }

  fillDisk(when: 'before' | 'after' = 'before'): void {
    this.disk.fail({ when, error: FULL })
  }

  /** Everything works again, and nothing waits for the test any more. */
  recover(): void {
    this.setupFailure = null
    this.modelFailure = null
    this.disk.fail(null)
    this.disk.hold(() => false)
    this.network.set(true)
    this.release()
  }

  /** Lets everything come to its end: what has to be waited for is, and calls are allowed. */
  async rest(): Promise<void> {
    this.recover()
    for (let round = 0; round < 300; round += 1) {
      await ticked()
      const { running, status } = this.agent
      if (status.kind === 'approval') this.agent.approve(status.callId, 'allowed-once')
      else if (!(await this.#turnClock()) && running === null && status.kind === 'idle') return
    }
    this.problems.push(
      `It never came to rest: ${JSON.stringify(this.agent.status)}, waiting: ${[...this.waiting].join()}`,
    )
  }

  /** Closes the session and opens it again. False when it could not be closed: then it stays open, and its agent works. */
  async reopen({ resume = this.#resume }: { readonly resume?: ResumePolicy } = {}): Promise<boolean> {
    const { kit } = this
    this.#resume = resume
    this.isClosing = true
    const closing = (async () => {
      await kit.agent.dispose()
      await kit.sessions.close(ID)
    })()
    const isClosed = await this.#waitedFor(closing).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof StorageError)) throw error
        return false
      },
    )
    if (!isClosed) {
      kit.agent.start()
      this.isClosing = false
      return false
    }
    this.past.push({ ...kit, isCut: false, isOver: true, upTo: Infinity })
    await this.#open()
    this.isClosing = false
    return true
  }

  /**
   * Ends the realm without a word and opens the session from what is left of it, in a disk that lost the last so many
   * batches. What had not been stored is nobody's promise any more.
   */
  async crash({ lost = 0, resume = this.#resume }: { lost?: number; resume?: ResumePolicy } = {}): Promise<void> {
    const { kit } = this
    this.#resume = resume
    const disk = await this.disk.crash(lost)
    const events = await this.#stored(disk)
    const act = { frames: [...kit.frames], statuses: [...kit.statuses], isCut: true, isOver: true, upTo: Infinity }
    const before = [...this.past, act].map(each => ({ ...each, upTo: Math.min(each.upTo, events.length) }))
    this.past.splice(0, Infinity, ...before)
    const known = this.cutOff.filter(({ seq }) => seq < events.length)
    this.cutOff.splice(0, Infinity, ...known)
    // What waits in it waits for ever.
    this.#pauses = []
    this.waiting.clear()
    await kit.live.close({ discard: true })
    for (const id of this.promised.keys()) this.promised.set(id, storedPromise(events, id))
    // A disk that loses what it said was stored, such as an answer of a person, cannot keep a call from running again.
    if (lost > 0) {
      const answered = events.flatMap(event => (event.type === 'tool/result' ? [event.data.message.source.callId] : []))
      this.bodies.splice(0, Infinity, ...this.bodies.filter(({ callId }) => answered.includes(CallId(callId))))
    }
    const cutOff = readJournal(await disk.storage.journal(ID))
    const { openTurn, openStep, pendingCalls } = foldTurns(events)
    const isOpen = cutOff?.call.turn === openTurn && cutOff?.call.step === openStep && pendingCalls.length === 0
    if (cutOff !== null && isOpen) this.cutOff.push({ ...cutOff, seq: events.length })
    this.disk = disk
    this.clock = turnedClock(this.clock.time, ticked)
    this.network = switchedNetwork()
    this.setupFailure = null
    this.modelFailure = null
    await this.#open()
  }

  /** Gives the session up, so that nothing of it is left behind. */
  async end(): Promise<void> {
    await this.#waitedFor(this.agent.dispose())
    await this.kit.live.close({ discard: true })
  }

  // ── How it is made ────────────────────────────────────────────────────────────────────────────────────────────────

  async #open(): Promise<void> {
    let own: AgentKit | null = null
    const setup = (): AgentSetup => {
      if (this.setupFailure !== null) throw this.setupFailure
      const { retry, maxSteps } = this.options
      return {
        system: 'Be brief.',
        model: { ...this.#model, stream: request => this.#asked(request, own) },
        tools: this.#tools,
        hooks: this.#hooks,
        ...(retry === undefined ? {} : { retry }),
        ...(maxSteps === undefined ? {} : { maxSteps }),
      }
    }
    const { clock, network, disk } = this
    const asked = openQuestions(await this.#stored())
    await agentKit(setup, {
      ...{ clock, network, storage: disk.storage, newId: this.#newId, resume: this.#resume, random: () => 0.5 },
      liveInvariants: this.options.liveInvariants ?? [],
      onError: error => this.errors.push(error),
      onFrame: frame => this.#framed(frame, own),
      onOpen: kit => {
        own = this.#kit = kit
        this.sent.clear()
      },
    })
    const isAsking = this.agent.running !== null && openQuestions(this.events).join() === asked.join()
    if (asked.length > 0 && !isAsking && this.setupFailure === null)
      this.problems.push(`${asked.join()} is not asked again`)
  }

  async #stored({ storage } = this.disk): Promise<readonly SessionEvent[]> {
    return (await storage.get(ID)) === null ? [] : storedEvents(storage)
  }

  tool(name: string, more: Partial<ToolDefinition> = {}): Tool {
    return defineTool({
      ...{ name, description: `Does ${name}`, input: { type: 'object' }, ...more },
      execute: (_input, context) => this.#body(name, more, context),
    })
  }

  async #body(
    tool: string,
    { idempotent, needsApproval }: Partial<ToolDefinition>,
    context: ToolContext,
  ): Promise<ToolOutput> {
    const { callId } = context
    const mayRunAgain = idempotent === true && this.#resume === 'auto'
    this.bodies.push({ callId, tool, mayRunAgain })
    const call = this.#lastOf('tool/call', callId)
    const asked = this.#lastOf('approval/asked', callId)
    const decided = this.events.findLast(
      ({ type, data }) =>
        type === 'approval/decided' && (data as { id?: unknown }).id === (asked?.data as { id?: unknown })?.id,
    )
    const { nextSeq } = this.disk
    if (call === undefined || call.seq >= nextSeq) this.problems.push(`${callId} runs before its call is stored`)
    const isAllowed = (decided?.data as { outcome?: unknown } | undefined)?.outcome === 'allowed-once'
    if (needsApproval !== undefined && (!isAllowed || (decided?.seq ?? nextSeq) >= nextSeq))
      this.problems.push(`${callId} runs before it is allowed, and that is stored`)
    await this.pause(`body ${callId}`)
    return this.options.result?.(callId, tool) ?? `${tool} ran`
  }

  #lastOf(type: string, callId: string): SessionEvent | undefined {
    return this.events.findLast(event => event.type === type && (event.data as { callId?: unknown }).callId === callId)
  }

  #scripted(steps: readonly ScriptedStep[]): Model {
    const failing =
      (step: ScriptedStep): ScriptedStep =>
      () => {
        if (this.modelFailure === null) return step
        const throws = this.modelFailure
        this.modelFailure = null
        return { throws }
      }
    const script = function* (): Generator<ScriptedStep> {
      for (const step of steps) yield failing(step)
      for (;;) yield failing({ text: 'Fine.' })
    }
    return scriptedModel(script(), { usesNetwork: true })
  }

  /** Whatever is sent is what the log stands for, is stored, and would be taken by the strictest provider. */
  #asked(request: ModelRequest, kit: AgentKit | null): ReturnType<Model['stream']> {
    this.asked += 1
    if (kit !== this.#kit) this.problems.push('An agent that is gone asked its model')
    const { session } = this
    const where = `request after seq ${session.length - 1}`
    try {
      checkRequest(session, request)
    } catch (error) {
      this.problems.push(`${where}: ${String(error)}`)
    }
    if (!this.network.isOnline()) this.problems.push(`${where} is sent without a network`)
    const { changes } = requestMessages(session.deriveMessages())
    if (changes.length > 0) this.problems.push(`${where} had to be healed: ${JSON.stringify(changes)}`)
    const { messages } = request
    const findings = [...validateOpenAiChat(chatBody(messages)), ...validateAnthropicMessages(anthropicBody(messages))]
    for (const { message } of findings) this.problems.push(`${where} breaks a provider's rule: ${message}`)
    const unstored = this.events.slice(this.disk.nextSeq).filter(({ type }) => type !== 'agent/inbox/spliced')
    if (unstored.length > 0) this.problems.push(`${where} is sent before seq ${unstored[0]?.seq} is stored`)
    return this.#model.stream(request)
  }

  #framed(frame: AssistantStreamFrame, kit: AgentKit | null): void {
    if (frame.kind !== 'end' || frame.outcome.kind !== 'committed' || kit !== this.#kit) return
    if (this.session.length <= frame.outcome.seq) this.problems.push(`The end of a call is told before it is committed`)
  }

  /** Turns the clock to what waits for it next; false when nothing does. */
  async #turnClock(): Promise<boolean> {
    const [next] = this.clock.waits()
    if (next === undefined) return false
    await this.clock.turn(next)
    return true
  }

  /** What `work` comes to, the clock and the disk not being what keeps it. */
  async #waitedFor<Result>(work: Promise<Result>): Promise<Result> {
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    work.then(settle, settle)
    for (let round = 0; !isSettled; round += 1) {
      if (round > 100) {
        this.problems.push('What had to end never did')
        break
      }
      this.disk.hold(() => false)
      await ticked()
      if (!isSettled) await this.#turnClock()
    }
    return work
  }
}

/** Calls about which a person was asked and has not answered. */
const openQuestions = (events: readonly SessionEvent[]): readonly (string | null)[] =>
  events.reduce(evolveApprovals, approvalsFold.initial()).pending.map(({ callId }) => callId)

/** What a stored log says of a message: it was taken back, or it is there. */
function storedPromise(events: readonly SessionEvent[], id: string): Promised {
  if (events.some(({ type, data }) => type === 'user/message' && data.id === id)) return 'kept'
  let inbox = inboxFold.initial()
  let wasThere = false
  for (const event of events) {
    inbox = evolveInbox(inbox, event)
    const { nextStep, nextTurn, claimed } = inbox
    const isThere = [...nextStep, ...nextTurn, ...claimed.map(({ message }) => message)].some(each => each.id === id)
    wasThere ||= isThere
    if (wasThere && !isThere) return 'canceled'
  }
  return wasThere ? 'kept' : 'lost'
}
