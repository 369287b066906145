/** One turn: what was said, then steps until the model has nothing more to ask (SPEC A2). */
import type { CancelCause, TurnEndReason, UserMessage } from '../core/events.ts'
import { inboxFold, planReturn } from '../core/inbox.ts'
import { turnResumed } from '../core/last-turn.ts'
import type { Session } from '../core/session.ts'
import { turnsFold } from '../core/turns.ts'
import { failureOf } from './failure.ts'
import { decideStep } from './hooks.ts'
import { claimMessages, commitSplices } from './inbox-events.ts'
import { orAborted } from './or-aborted.ts'
import type { StepPlace } from './request.ts'
import type { CallToRun } from './run-tools.ts'
import { finishStep, runStep, type StepOptions } from './step.ts'
import { Suspended } from './suspended.ts'

export type TurnOptions = StepOptions & { readonly maxSteps: number }

export type RunningTurn = {
  readonly turn: number
  /**
   * Settles with how the turn ended, after its `turn/end` is committed; with `interrupted`, and no such event, when it was
   * left open because its session is closed while a person is asked. Never rejects.
   */
  readonly done: Promise<TurnEndReason>
}

/**
 * Starts a turn for `prompt`, or for what the inbox holds, and runs it to its end. `turn/start` is committed before this
 * returns, and so is the prompt's step, unless hooks have a say in it.
 */
export function runTurn(prompt: UserMessage | null, options: TurnOptions): RunningTurn {
  const turn = startTurn(options.session)
  return { turn, done: run(turn, options, () => runSteps({ turn, step: 1 }, prompt, options), prompt) }
}

/** A step that was left open, and its calls that have no answer. */
export type OpenStep = StepPlace & {
  readonly calls: readonly CallToRun[]
  /** Some of them were started before, and run once more. */
  readonly isRerun: boolean
}

/** Goes on with a turn that was left open. */
export function continueTurn({ turn, step, calls, isRerun }: OpenStep, options: TurnOptions): RunningTurn {
  // Stored before any of them runs: what crashes each time must not do so for ever.
  if (isRerun) options.session.append(turnResumed, { turn })
  options.onActivity({ kind: 'thinking', turn, step })
  const steps = async () => {
    const ending = await finishStep({ turn, step }, calls, options)
    return runSteps({ turn, step: step + 1 }, null, options, ending, wasTruncated(options.session, turn))
  }
  return { turn, done: run(turn, options, steps) }
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

/** The model had its say: whatever else is pending may follow. */
export const endsWell = (reason: TurnEndReason | null): boolean =>
  reason?.kind === 'completed' || reason?.kind === 'max-tokens'

async function run(
  turn: number,
  { session, signal }: TurnOptions,
  steps: () => Promise<TurnEndReason | null>,
  prompt: UserMessage | null = null,
): Promise<TurnEndReason> {
  let reason: TurnEndReason | null
  try {
    reason = await steps()
  } catch (error) {
    if (error instanceof Suspended) return { kind: 'interrupted' }
    reason = { kind: 'error', error: failureOf(error) }
  }
  if (signal.aborted || reason === null) reason = { kind: 'aborted', reason: signal.reason as CancelCause }
  // What a hook turned away, or left out, is gone; what was taken and not said otherwise goes back.
  if (reason.kind !== 'blocked' && !endsWell(reason)) {
    commitSplices(session, planReturn(session.fold(inboxFold)))
    if (prompt !== null && !isSaid(session, prompt)) {
      commitSplices(session, [{ target: 'next-turn', start: 0, inserted: [prompt] }])
    }
  }
  return endTurn(session, turn, reason)
}

/** Every turn has an end, also one that ended in a way no log takes. */
function endTurn(session: Session, turn: number, reason: TurnEndReason): TurnEndReason {
  try {
    session.append('turn/end', { turn, reason })
    return reason
  } catch (error) {
    const failed: TurnEndReason = { kind: 'error', error: failureOf(error) }
    session.append('turn/end', { turn, reason: failed })
    return failed
  }
}

const isSaid = ({ messages }: Session, { id }: UserMessage): boolean => {
  for (let position = messages.length - 1; position >= 0; position -= 1)
    if (messages.at(position)?.id === id) return true
  return false
}

/** Runs steps from `place` on. How the turn ends; null when it was stopped. */
async function runSteps(
  place: StepPlace,
  prompt: UserMessage | null,
  options: TurnOptions,
  before: TurnEndReason | null = null,
  wasTruncated = false,
): Promise<TurnEndReason | null> {
  const { session, signal, maxSteps, hooks } = options
  const { turn } = place
  let { step } = place
  let ending = before
  let isTruncated = wasTruncated || ending?.kind === 'max-tokens'
  const isFirst = () => step === 1

  for (; !signal.aborted; step += 1) {
    if (ending !== null && (!endsWell(ending) || !(await goesOn({ turn, step: step - 1 }, options)))) break
    if (step > maxSteps) return stepLimit(maxSteps)
    const claimed = isFirst() && prompt !== null ? [prompt] : claimMessages(session, isFirst())
    const isHeard = hooks.some(({ preStep }) => preStep !== undefined)
    if (isHeard) options.onActivity({ kind: 'thinking', turn, step })
    const decision = isHeard
      ? await orAborted(decideStep(hooks, { session, turn, step, signal }, claimed), signal)
      : ({ kind: 'enter', messages: claimed } as const)
    if (signal.aborted || decision === null) return null
    if (decision.kind === 'reject') return { kind: 'blocked' }
    const { messages, startsRequestSeries = false } = decision
    if (messages.length === 0 && (ending !== null || isFirst())) {
      ending ??= { kind: 'completed' }
      break
    }
    ending = await runStep({ turn, step }, { said: messages, startsSeries: startsRequestSeries }, options)
    // One truncated answer makes the whole turn a truncated one.
    isTruncated ||= ending?.kind === 'max-tokens'
  }
  return ending?.kind === 'completed' && isTruncated ? { kind: 'max-tokens' } : ending
}

/** Whether an answer of a turn was cut off by its length, as its stream says. */
function wasTruncated(session: Session, turn: number): boolean {
  const { surface } = session
  for (let position = surface.length - 1; position >= 0; position -= 1) {
    const event = session.eventAt(surface.at(position) as number)
    if (event?.type !== 'assistant/message') continue
    if (event.data.turn !== turn) return false
    const last = event.data.stream.at(-1)
    if (last?.type === 'chunk' && last.chunk.type === 'finish' && last.chunk.reason.kind === 'max-tokens') return true
  }
  return false
}

/** Whether a turn that would end has been given more to do. */
async function goesOn(place: StepPlace, { session, signal, hooks }: TurnOptions): Promise<boolean> {
  const isSteered = () => session.fold(inboxFold).nextStep.length > 0
  for (const { turnStopping } of hooks) {
    if (isSteered() || signal.aborted) break
    await orAborted(Promise.resolve(turnStopping?.({ session, ...place, signal })), signal)
  }
  return isSteered()
}

const stepLimit = (maxSteps: number): TurnEndReason => ({
  kind: 'error',
  error: { code: 'STEP_LIMIT', message: `The turn was stopped after ${maxSteps} steps without an answer.` },
})
