/** What an agent works with, as the application says it, and as a turn has it. */
import type { UserMessage } from '../core/events.ts'
import type { ApprovalOptions, ApprovalPolicy } from './approval.ts'
import { AgentError } from './errors.ts'
import type { AgentHooks } from './hooks.ts'
import type { Model } from './model.ts'
import { DEFAULT_RETRY, type RetryPolicy } from './retry.ts'
import type { Tool } from './tool.ts'
import type { TurnOptions } from './turn.ts'

/** What an agent works with; asked for anew at each turn, so that a changed configuration takes effect. */
export type AgentSetup = {
  readonly model: Model
  /** The system prompt; empty or absent for none. */
  readonly system?: string
  readonly tools?: readonly Tool[]
  /** Most steps (model calls with their tools) of one turn; default 50. A turn that needs more ends as `STEP_LIMIT`. */
  readonly maxSteps?: number
  /** Most tool calls that run at a time, of those that may run side by side; default 10. */
  readonly maxParallelToolCalls?: number
  /** Which calls wait for a person; default `ask`. */
  readonly approvals?: ApprovalPolicy
  /** Answers instead of people. */
  readonly approver?: ApprovalOptions['approver']
  /** How failed model calls are tried again; what is left out is as in `DEFAULT_RETRY`. */
  readonly retry?: Partial<RetryPolicy>
  /** Where others have a say in a turn; asked in order. */
  readonly hooks?: readonly AgentHooks[]
  /**
   * Names a session after its first turn that ended well, unless it has a name: what it answers is logged as
   * `session/title`. `prompts` are the messages of people so far. Null: not now; what it throws is told to `onError`.
   */
  readonly title?: (about: {
    readonly prompts: readonly UserMessage[]
    readonly signal: AbortSignal
  }) => string | null | Promise<string | null>
}

/** What a turn works with. */
export type Prepared = Pick<
  TurnOptions,
  'model' | 'system' | 'tools' | 'maxSteps' | 'maxParallelToolCalls' | 'approvals' | 'approver' | 'retry' | 'hooks'
> &
  Pick<AgentSetup, 'title'>

const DEFAULT_MAX_STEPS = 50
const DEFAULT_MAX_PARALLEL = 10

/** Checks a setup and fills in what it leaves out. @throws {AgentError} `tool`, `setup`. */
export function prepare(setup: AgentSetup): Prepared {
  const { model, system = '', tools = [], approvals = 'ask', approver, retry, hooks = [], title } = setup
  if (typeof system !== 'string')
    throw new AgentError('setup', `Expected the system prompt to be text; found ${typeof system}`)
  return {
    ...{ model, system, approvals, approver, hooks },
    tools: toolTable(tools),
    retry: retryPolicy(retry),
    maxSteps: counted('maxSteps', setup.maxSteps ?? DEFAULT_MAX_STEPS),
    maxParallelToolCalls: counted('maxParallelToolCalls', setup.maxParallelToolCalls ?? DEFAULT_MAX_PARALLEL),
    ...(title === undefined ? {} : { title }),
  }
}

/** @throws {AgentError} `setup` when a number of it makes no sense. */
function retryPolicy(given: Partial<RetryPolicy> = {}): RetryPolicy {
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const policy = { ...DEFAULT_RETRY, ...said }
  for (const name of ['maxRetries', 'baseDelayMs', 'maxDelayMs', 'jitter'] as const) {
    if (!(policy[name] >= 0) || policy[name] === Infinity) {
      throw new AgentError('setup', `Expected retry.${name} to be a number of at least 0; found ${policy[name]}`)
    }
  }
  return { ...policy, maxRetries: Math.floor(policy.maxRetries) }
}

function counted(name: string, value: number): number {
  if (value === Infinity || (Number.isInteger(value) && value > 0)) return value
  throw new AgentError('setup', `Expected ${name} to be a whole number above 0; found ${value}`)
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
