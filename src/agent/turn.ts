/** One turn: a prompt, then steps of model call and tools until the model has nothing more to ask (SPEC A2). */
import type { CancelCause, ToolCallBlock, TurnEndReason, UserMessage } from '../core/events.ts'
import type { Session } from '../core/session.ts'
import { turnsFold } from '../core/turns.ts'
import { runAttempt } from './attempt.ts'
import { failureOf } from './failure.ts'
import type { AssistantStreamFrame, TurnActivity } from '../core/live.ts'
import type { Model } from './model.ts'
import { orAborted } from './or-aborted.ts'
import { buildRequest, commitRequestHeader, commitSystemPrompt, type RequestMemory, type StepPlace } from './request.ts'
import { runTools } from './run-tools.ts'
import type { Tool } from './tool.ts'

export type TurnOptions = {
  readonly session: Session
  readonly flush: () => Promise<void>
  readonly model: Model
  /** The system prompt; empty for none. */
  readonly system: string
  readonly tools: ReadonlyMap<string, Tool>
  readonly memory: RequestMemory
  readonly maxSteps: number
  readonly signal: AbortSignal
  readonly now: () => number
  readonly newId: () => string
  readonly nextRevision: () => number
  readonly onFrame: (frame: AssistantStreamFrame) => void
  readonly onActivity: (activity: TurnActivity) => void
}

/**
 * Starts a turn for `prompt` and runs it to its end. `turn/start` and the prompt's step are committed before this
 * returns its promise; the promise never rejects: every ending is a `turn/end`.
 */
export function runTurn(
  prompt: UserMessage,
  options: TurnOptions,
): { readonly turn: number; readonly done: Promise<TurnEndReason> } {
  const { session } = options
  const turn = session.fold(turnsFold).lastTurn + 1
  session.append('turn/start', { turn })
  return { turn, done: runSteps(turn, prompt, options) }
}

async function runSteps(turn: number, prompt: UserMessage, options: TurnOptions): Promise<TurnEndReason> {
  const { session, signal, maxSteps } = options
  let reason: TurnEndReason | null = null
  try {
    for (let step = 1; reason === null && !signal.aborted; step += 1) {
      reason =
        step > maxSteps ? stepLimit(maxSteps) : await runStep({ turn, step }, step === 1 ? prompt : null, options)
    }
  } catch (error) {
    reason = { kind: 'error', error: failureOf(error) }
  }
  if (signal.aborted || reason === null) reason = { kind: 'aborted', reason: signal.reason as CancelCause }
  session.append('turn/end', { turn, reason })
  return reason
}

const stepLimit = (maxSteps: number): TurnEndReason => ({
  kind: 'error',
  error: { code: 'STEP_LIMIT', message: `The turn was stopped after ${maxSteps} steps without an answer.` },
})

/** Null when the model wants another step, or the turn was stopped. */
async function runStep(
  place: StepPlace,
  prompt: UserMessage | null,
  options: TurnOptions,
): Promise<TurnEndReason | null> {
  const { session, model, tools, memory, signal, flush } = options
  session.append('step/start', place)
  try {
    const descriptions = [...tools.values()].map(tool => tool.description)
    commitSystemPrompt(session, options.system, place, { model, tools: descriptions, memory }, options.newId)
    if (prompt !== null) session.append('user/message', prompt, { surfaceOp: 'append' })
    commitRequestHeader(session, model, descriptions, memory)
    options.onActivity({ kind: 'thinking', ...place })
    await orAborted(flush(), signal)
    if (signal.aborted) return null

    const outcome = await runAttempt({
      ...options,
      ...place,
      request: buildRequest(session, model, descriptions, signal),
      revision: options.nextRevision(),
      onFrame: frame => {
        if (frame.kind === 'chunk' && frame.index === 0) options.onActivity({ kind: 'answering', ...place })
        options.onFrame(frame)
      },
    })
    switch (outcome.kind) {
      case 'cancelled':
        return null
      case 'failed':
        return { kind: 'error', error: outcome.failure }
      case 'message': {
        if (outcome.truncated) return { kind: 'max-tokens' }
        const calls = outcome.event.data.message.content.filter(
          (block): block is ToolCallBlock => block.type === 'tool-call',
        )
        if (calls.length === 0) return { kind: 'completed' }
        const onStart = (call: ToolCallBlock) =>
          options.onActivity({ kind: 'tool', ...place, name: call.name, callId: call.id })
        await runTools(calls, { ...options, place, onStart })
        return null
      }
    }
  } finally {
    session.append('step/end', place)
  }
}
