/**
 * Running the tool calls of one answer: started and answered in the order the model asked for them, side by side where
 * their tools allow it (SPEC A5, A24).
 */
import type { ToolCallBlock } from '../core/events.ts'
import type { SessionSeq } from '../core/ids.ts'
import { OUTCOME_UNKNOWN } from '../core/repair.ts'
import { errorText } from './failure.ts'
import {
  admitCall,
  checkCall,
  commitResult,
  isSuspended,
  recordCall,
  type RunToolsOptions,
  stoppedBefore,
} from './run-call.ts'
import { Suspended } from './suspended.ts'
import { failed, type Outcome } from './tool-outcome.ts'

export type { RunToolsOptions }

/** A call to answer. What a crash or a closed session left: the seq of its record, and whether it may run. */
export type CallToRun = {
  readonly call: ToolCallBlock
  readonly recordedSeq?: SessionSeq
  /** It was started, and nobody knows what came of it. */
  readonly isUnknown?: boolean
}

type Started = { readonly call: ToolCallBlock; readonly seq: SessionSeq; outcome: Outcome | null }

/**
 * Answers all `calls`. After an abort what runs is waited for and the rest is answered without running. True when a
 * result concludes the turn. @throws {Suspended} when the session is closed while a person is asked.
 */
export async function runTools(calls: readonly CallToRun[], options: RunToolsOptions): Promise<boolean> {
  const { signal, maxParallelToolCalls } = options
  const started: Started[] = []
  const running = new Set<Promise<void>>()
  let next = 0
  let concludes = false
  let trouble: { readonly error: unknown } | null = null
  let isLeftOpen = false

  /** Answers what can be answered: in order, so up to the first call that still runs. */
  const commitSettled = () => {
    for (let head = started[0]; head !== undefined && head.outcome !== null; head = started[0]) {
      const { call, seq, outcome } = head
      if (commitResult(call, seq, outcome, options)) concludes = true
      started.shift()
    }
  }
  const settle = (each: Started, outcome: Outcome) => {
    each.outcome = outcome
    try {
      if (trouble === null) commitSettled()
    } catch (error) {
      trouble = { error }
    }
  }
  /** Starts the next call; answers once it runs or has its answer. */
  const start = async (checked: Awaited<ReturnType<typeof checkCall>>, { recordedSeq }: CallToRun) => {
    const each: Started = { call: checked.call, seq: recordedSeq ?? recordCall(checked.call, options), outcome: null }
    started.push(each)
    const admitted = await admitCall(checked, each.seq, options)
    if (typeof admitted !== 'function') return settle(each, admitted)
    const run = admitted().then(outcome => {
      running.delete(run)
      settle(each, outcome)
    })
    running.add(run)
  }
  const isStopped = () => signal.aborted || trouble !== null

  try {
    while (next < calls.length && !isStopped()) {
      const each = calls[next] as CallToRun
      if (each.isUnknown === true) {
        await Promise.all(running)
        answerUnstarted(each, unknownOutcome(), options)
        next += 1
        continue
      }
      // Asked right before it would start: what another call did may have changed the answer.
      while (running.size >= maxParallelToolCalls) await Promise.race(running)
      const checked = await checkCall(each.call, options)
      if (!checked.isParallel) await Promise.all(running)
      if (isStopped()) break
      next += 1
      await start(checked, each)
      if (!checked.isParallel) await Promise.all(running)
    }
  } catch (error) {
    if (error instanceof Suspended) isLeftOpen = true
    else trouble ??= { error }
  }
  await Promise.all(running)
  if (isLeftOpen || calls.slice(next).some(({ call }) => isSuspended(call, options))) throw new Suspended()
  if (trouble !== null) {
    // Every call has an answer, also when the agent itself failed.
    const { error } = trouble
    const words = failed('ToolError', 'NOT_RUN', `The call was not run to its end: ${errorText(error)}`)
    for (const { call, seq, outcome } of started.splice(0)) commitResult(call, seq, outcome ?? words, options)
    for (const each of calls.slice(next)) answerUnstarted(each, words, options)
    throw error
  }
  for (const each of calls.slice(next))
    answerUnstarted(each, each.isUnknown === true ? unknownOutcome() : stoppedBefore(), options)
  return concludes
}

const unknownOutcome = (): Outcome => failed('ToolOutcomeUnknownError', 'TOOL_OUTCOME_UNKNOWN', OUTCOME_UNKNOWN)

function answerUnstarted({ call, recordedSeq }: CallToRun, outcome: Outcome, options: RunToolsOptions): void {
  commitResult(call, recordedSeq ?? recordCall(call, options), outcome, options)
}
