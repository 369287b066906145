/** One turn: a prompt, then steps of model call and tools until the model has nothing more to ask (SPEC A2). */
import type { CancelCause, ToolCallBlock, TurnEndReason, UserMessage } from '../core/events.ts'
import type { Session } from '../core/session.ts'
import { turnsFold } from '../core/turns.ts'
import { type AttemptJournal, runAttempt } from './attempt.ts'
import { failureOf } from './failure.ts'
import { inboxFold, planReturn } from '../core/inbox.ts'
import { claimMessages, commitSplices } from './inbox-events.ts'
import type { AssistantStreamFrame, TurnActivity } from '../core/live.ts'
import type { Model, ModelRequest } from './model.ts'
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
  readonly journal: AttemptJournal
  readonly readBlob: ModelRequest['readBlob']
}

/**
 * Starts a turn for `prompt`, or for what the inbox holds, and runs it to its end. `turn/start` and the prompt's step are
 * committed before this returns its promise; the promise never rejects: every ending is a `turn/end`.
 */
export function runTurn(
  prompt: UserMessage | null,
  options: TurnOptions,
): { readonly turn: number; readonly done: Promise<TurnEndReason> } {
  const turn = startTurn(options.session)
  return { turn, done: runSteps(turn, prompt, options) }
}

function startTurn(session: Session): number {
  const turn = session.fold(turnsFold).lastTurn + 1
  session.append('turn/start', { turn })
  return turn
}

/** Logs a turn that could not begin: nobody waits for it to whom the error could be thrown. */
export function failTurn(session: Session, error: unknown): void {
  session.append('turn/end', { turn: startTurn(session), reason: { kind: 'error', error: failureOf(error) } })
}

async function runSteps(turn: number, prompt: UserMessage | null, options: TurnOptions): Promise<TurnEndReason> {
  const { session, signal, maxSteps } = options
  let reason: TurnEndReason | null = null
  let truncated: TurnEndReason | null = null
  try {
    for (let step = 1; reason === null && !signal.aborted; step += 1) {
      if (step > maxSteps) reason = stepLimit(maxSteps)
      else {
        const isFirst = step === 1
        const said = isFirst && prompt !== null ? [prompt] : claimMessages(session, isFirst)
        reason = await runStep({ turn, step }, said, options)
        // One truncated answer makes the whole turn a truncated one.
        if (reason?.kind === 'max-tokens') truncated = reason
        if (endsWell(reason) && session.fold(inboxFold).nextStep.length > 0) reason = null
      }
    }
    if (reason?.kind === 'completed') reason = truncated ?? reason
  } catch (error) {
    reason = { kind: 'error', error: failureOf(error) }
  }
  if (signal.aborted || reason === null) reason = { kind: 'aborted', reason: signal.reason as CancelCause }
  commitSplices(session, planReturn(session.fold(inboxFold)))
  session.append('turn/end', { turn, reason })
  return reason
}

/** The model had its say: whatever else is pending may follow. */
export const endsWell = (reason: TurnEndReason | null): boolean =>
  reason?.kind === 'completed' || reason?.kind === 'max-tokens'

const stepLimit = (maxSteps: number): TurnEndReason => ({
  kind: 'error',
  error: { code: 'STEP_LIMIT', message: `The turn was stopped after ${maxSteps} steps without an answer.` },
})

/** Null when the model wants another step, or the turn was stopped. */
async function runStep(
  place: StepPlace,
  said: readonly UserMessage[],
  options: TurnOptions,
): Promise<TurnEndReason | null> {
  const { session, model, tools, memory, signal, flush } = options
  session.append('step/start', place)
  try {
    const descriptions = [...tools.values()].map(tool => tool.description)
    commitSystemPrompt(session, options.system, place, { model, tools: descriptions, memory }, options.newId)
    for (const message of said) session.append('user/message', message, { surfaceOp: 'append' })
    commitRequestHeader(session, model, descriptions, memory)
    options.onActivity({ kind: 'thinking', ...place })
    await orAborted(flush(), signal)
    if (signal.aborted) return null

    const outcome = await runAttempt({
      ...options,
      ...place,
      request: buildRequest(session, model, descriptions, options),
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
        const onRunning = ({ name, id }: ToolCallBlock, progress?: string) =>
          options.onActivity({
            ...{ kind: 'tool', ...place, name, callId: id },
            ...(progress === undefined ? {} : { progress }),
          })
        await runTools(calls, { ...options, place, onRunning })
        return null
      }
    }
  } finally {
    session.append('step/end', place)
  }
}
