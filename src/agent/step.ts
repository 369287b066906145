/** One step: a model call, tried again where that helps, and the tools it asks for (SPEC A2, A7, A21). */
import type { LlmFailure, ToolCallBlock, ToolDescription, TurnEndReason, UserMessage } from '../core/events.ts'
import { retryFold } from '../core/invariants/retry-invariant.ts'
import type { AssistantStreamFrame, TurnActivity } from '../core/live.ts'
import type { Session } from '../core/session.ts'
import { type AttemptJournal, type AttemptOutcome, runAttempt } from './attempt.ts'
import { sleep } from './clock.ts'
import type { AgentHooks } from './hooks.ts'
import type { Model, ModelRequest } from './model.ts'
import { type Network, online } from './network.ts'
import { orAborted } from './or-aborted.ts'
import { buildRequest, commitRequestHeader, commitSystemPrompt, type RequestMemory, type StepPlace } from './request.ts'
import { planRetry, type RetryPolicy } from './retry.ts'
import type { RunToolsOptions } from './run-call.ts'
import { type CallToRun, runTools } from './run-tools.ts'
import { Suspended } from './suspended.ts'

export type StepOptions = Omit<RunToolsOptions, 'place' | 'onRunning' | 'onAsking'> & {
  readonly session: Session
  readonly model: Model
  /** The system prompt; empty for none. */
  readonly system: string
  readonly memory: RequestMemory
  readonly hooks: readonly AgentHooks[]
  readonly retry: RetryPolicy
  readonly network: Network
  /** In 0…1. */
  readonly random: () => number
  readonly nextRevision: () => number
  readonly onFrame: (frame: AssistantStreamFrame) => void
  readonly onActivity: (activity: TurnActivity | ({ readonly kind: 'offline' } & StepPlace)) => void
  readonly journal: AttemptJournal
  readonly readBlob: ModelRequest['readBlob']
}

/** How the turn ends with the step; null when the model wants another one, or the turn was stopped. */
type StepEnd = TurnEndReason | null

/** Runs a step that begins with what was `said`. */
export function runStep(
  place: StepPlace,
  { said, startsSeries }: { readonly said: readonly UserMessage[]; readonly startsSeries: boolean },
  options: StepOptions,
): Promise<StepEnd> {
  options.session.append('step/start', place)
  return untilStepEnd(place, options, async () => {
    const outcome = await settledCall(place, said, startsSeries, options)
    if (outcome === null || outcome.kind === 'cancelled') return null
    if (outcome.kind === 'failed') return { kind: 'error', error: outcome.failure }
    if (outcome.truncated) return { kind: 'max-tokens' }
    const calls = outcome.event.data.message.content.filter(
      (block): block is ToolCallBlock => block.type === 'tool-call',
    )
    return calls.length === 0
      ? { kind: 'completed' }
      : runCalls(
          place,
          calls.map(call => ({ call })),
          options,
        )
  })
}

/** Goes on with a step that was left open, its answer given and some of its calls not answered. */
export function finishStep(place: StepPlace, calls: readonly CallToRun[], options: StepOptions): Promise<StepEnd> {
  return untilStepEnd(place, options, () => runCalls(place, calls, options))
}

/** The step ends with `work`, whatever happens in it, unless it is left open to be gone on with. */
async function untilStepEnd(
  place: StepPlace,
  { session }: StepOptions,
  work: () => Promise<StepEnd>,
): Promise<StepEnd> {
  let isLeftOpen = false
  try {
    return await work()
  } catch (error) {
    isLeftOpen = error instanceof Suspended
    throw error
  } finally {
    if (!isLeftOpen) session.append('step/end', place)
  }
}

async function runCalls(place: StepPlace, calls: readonly CallToRun[], options: StepOptions): Promise<StepEnd> {
  const onRunning = ({ name, id }: ToolCallBlock, progress?: string) => {
    options.onActivity({
      ...{ kind: 'tool', ...place, name, callId: id },
      ...(progress === undefined ? {} : { progress }),
    })
  }
  const onAsking = ({ name, id }: ToolCallBlock) => options.onActivity({ kind: 'approval', ...place, name, callId: id })
  return (await runTools(calls, { ...options, place, onRunning, onAsking })) ? { kind: 'completed' } : null
}

/** The model call of a step, with its retries. Null when the turn was stopped before one. */
async function settledCall(
  place: StepPlace,
  said: readonly UserMessage[],
  startsSeries: boolean,
  options: StepOptions,
): Promise<AttemptOutcome | null> {
  const { session, model, tools, memory, newId } = options
  const descriptions = [...tools.values()].map(tool => tool.description)
  for (let isFirst = true; ; isFirst = false) {
    const situation = { model, tools: descriptions, memory, startsSeries: isFirst && startsSeries }
    commitSystemPrompt(session, options.system, place, situation, newId)
    if (isFirst) for (const message of said) session.append('user/message', message, { surfaceOp: 'append' })
    commitRequestHeader(session, model, descriptions, memory, situation.startsSeries)
    if (!(await mayAsk(place, options))) return null
    const outcome = await attempt(place, descriptions, options)
    if (outcome.kind !== 'failed' || !(await isTriedAgain(place, outcome.failure, options))) return outcome
  }
}

/** Waits until all is stored and there is a network, both of them now; false when the turn is stopped before. */
async function mayAsk(place: StepPlace, options: StepOptions): Promise<boolean> {
  const { model, network, signal, flush, onActivity } = options
  for (;;) {
    onActivity({ kind: 'thinking', ...place })
    await orAborted(flush(), signal)
    if (signal.aborted) return false
    if (model.usesNetwork !== true || network.isOnline()) return true
    onActivity({ kind: 'offline', ...place })
    if (!(await online(network, signal))) return false
  }
}

function attempt(place: StepPlace, tools: readonly ToolDescription[], options: StepOptions): Promise<AttemptOutcome> {
  return runAttempt({
    ...options,
    ...place,
    now: options.clock.now,
    request: buildRequest(options.session, options.model, tools, options),
    revision: options.nextRevision(),
    onFrame: frame => {
      if (frame.kind === 'chunk' && frame.index === 0) options.onActivity({ kind: 'answering', ...place })
      options.onFrame(frame)
    },
  })
}

/** Waits as long as is due before the next attempt; false when there is none, or the turn was stopped meanwhile. */
async function isTriedAgain(place: StepPlace, failure: LlmFailure, options: StepOptions): Promise<boolean> {
  const { session, model, hooks, network, signal, clock } = options
  for (const { requestError } of hooks) {
    if (signal.aborted) return false
    const answer = await orAborted(Promise.resolve(requestError?.({ session, ...place, signal, failure })), signal)
    if (answer === 'retry') return !signal.aborted
  }
  if (signal.aborted) return false
  // Nothing was wrong but the network: that is waited for, and no retry is used up.
  if (failure.code === 'TRANSPORT' && model.usesNetwork === true && !network.isOnline()) return true
  const { provider } = model.config
  const plan = planRetry({ ...place, provider, failure }, options.retry, session.fold(retryFold), options)
  if (plan === null) return false
  session.append('llm/retry', plan)
  const { retryId, retry, delayMs } = plan
  const maxRetries = plan.mode === 'normal' ? plan.maxRetries : null
  const until = clock.now() + delayMs
  options.onActivity({ kind: 'retrying', ...place, retry, maxRetries, until, code: failure.code })
  if (!(await sleep(clock, delayMs, signal))) return false
  session.append('llm/retry-started', { retryId, ...place, retry })
  return true
}
