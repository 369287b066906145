/** The agent of one live session: takes prompts, runs turns, can be stopped. */
import type { CancelCause, TurnEndReason, UserMessage } from '../core/events.ts'
import { MessageId } from '../core/ids.ts'
import { hasLoneSurrogate } from '../core/request-messages.ts'
import type { LiveSession } from '../sessions/live-session.ts'
import { AgentError } from './errors.ts'
import type { AgentStatus, AssistantStreamFrame } from '../core/live.ts'
import type { Model } from './model.ts'
import type { RequestMemory } from './request.ts'
import type { Tool } from './tool.ts'
import { runTurn } from './turn.ts'

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
  readonly onFrame?: (frame: AssistantStreamFrame) => void
  readonly onStatus?: (status: AgentStatus) => void
}

export type RunningTurn = {
  readonly turn: number
  /** Settles with how the turn ended, after its `turn/end` is committed. Never rejects. */
  readonly done: Promise<TurnEndReason>
}

const DEFAULT_MAX_STEPS = 50

export class Agent {
  readonly #options: AgentOptions
  readonly #memory: RequestMemory
  #revision = 0
  #running: RunningTurn | null = null
  /** Set before the turn starts, so that it can be stopped from the first status on. */
  #abort: AbortController | null = null
  #status: AgentStatus = { kind: 'idle' }

  constructor(options: AgentOptions) {
    this.#options = options
    this.#memory = { headerLogged: false, contentGeneration: options.live.session.surface.contentGeneration }
  }

  get status(): AgentStatus {
    return this.#status
  }

  /**
   * Starts a turn with a person's text. The prompt is committed before this returns.
   *
   * @throws {AgentError} `busy`, `empty-prompt`, `malformed-prompt`, `tool`; then nothing was logged.
   */
  send({ text }: { readonly text: string }): RunningTurn {
    if (this.#running !== null) throw new AgentError('busy', 'A turn is running; wait for it or stop it first')
    if (text.trim() === '') throw new AgentError('empty-prompt', 'The prompt has no visible text')
    if (hasLoneSurrogate(text)) {
      throw new AgentError('malformed-prompt', 'The prompt holds a broken character (half of a surrogate pair)')
    }
    const { live, now, newId, onFrame } = this.#options
    const { model, system = '', tools = [], maxSteps = DEFAULT_MAX_STEPS } = this.#options.setup()
    const abort = new AbortController()
    const prompt: UserMessage = {
      id: MessageId(newId()),
      role: 'user',
      content: [{ type: 'text', text }],
      source: { kind: 'user' },
    }
    const table = toolTable(tools)
    this.#abort = abort
    const { turn, done } = runTurn(prompt, {
      session: live.session,
      flush: () => live.flush(),
      model,
      system,
      tools: table,
      memory: this.#memory,
      maxSteps,
      signal: abort.signal,
      now,
      newId,
      nextRevision: () => (this.#revision += 1),
      onFrame: frame => onFrame?.(frame),
      onActivity: activity => this.#setStatus(activity),
    })
    const running = {
      turn,
      done: done.finally(() => {
        this.#running = null
        this.#abort = null
        this.#setStatus({ kind: 'idle' })
      }),
    }
    this.#running = running
    return running
  }

  /** Stops the running turn; what was visible of its answer is kept. The first cause wins. Idle: does nothing. */
  cancel(cause: CancelCause = { kind: 'user' }): void {
    this.#abort?.abort(cause)
  }

  /** The running turn, or null. */
  get running(): RunningTurn | null {
    return this.#running
  }

  /** Stops what runs and waits until its end is committed. */
  async dispose(): Promise<void> {
    this.cancel({ kind: 'disposed' })
    await this.#running?.done
  }

  #setStatus(status: AgentStatus): void {
    this.#status = status
    this.#options.onStatus?.(status)
  }
}

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
