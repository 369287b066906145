/**
 * Closing a log that was cut off in the middle of a turn: one pure function from what is known of the log to the events
 * that close it (SPEC R1–R5).
 */
import type { SessionEvent, ToolError, ToolResultMessage } from './events.ts'
import { type CallId, MessageId, SessionSeq } from './ids.ts'
import { snapshotJson } from './json.ts'
import { foldTurns, type PendingCall, type TurnsState } from './turns.ts'

export const OUTCOME_UNKNOWN: string =
  'The call was recorded, but no outcome was stored: its result is unknown. Retry only if it just reads or is ' +
  'idempotent; otherwise verify the outside state or ask the user. Never retry blindly.'
const NOT_STARTED = 'Interrupted before the call was recorded as started: it did not run. Retry if it is still needed.'

/**
 * The events that close the open turn of a log whose last event is `last`: an error result for each unanswered call, then
 * `step/end`, then `turn/end`. Empty when no turn is open. All reuse the time of `last`.
 */
export function repair(
  turns: TurnsState,
  last: { readonly seq: SessionSeq; readonly time: number } | null | undefined,
): readonly SessionEvent[] {
  if (turns.openTurn === null || !last) return []
  const turn = turns.openTurn
  const closers: SessionEvent[] = []
  const place = () => ({ seq: SessionSeq(last.seq + 1 + closers.length), time: last.time })

  for (const call of turns.pendingCalls) {
    const { seq, time } = place()
    closers.push({
      type: 'tool/result',
      seq,
      time,
      data: { turn, step: call.step, message: interruptedResult(call, seq), error: interruptedError(call) },
      surfaceOp: 'append',
      ...(call.callSeq === null ? {} : { sourceEventSeqs: [call.callSeq] }),
    })
  }
  if (turns.openStep !== null) closers.push({ type: 'step/end', ...place(), data: { turn, step: turns.openStep } })
  closers.push({ type: 'turn/end', ...place(), data: { turn, reason: { kind: 'interrupted' } } })
  return snapshotJson(closers)
}

/** `repair` for a whole log. */
export function repairLog(events: readonly SessionEvent[]): readonly SessionEvent[] {
  return repair(foldTurns(events), events.at(-1))
}

function interruptedError({ callSeq }: PendingCall): ToolError {
  return callSeq === null
    ? { name: 'ToolNotStartedError', code: 'TOOL_NOT_STARTED' }
    : { name: 'ToolOutcomeUnknownError', code: 'TOOL_OUTCOME_UNKNOWN' }
}

function interruptedResult({ callId, callSeq }: PendingCall, seq: SessionSeq): ToolResultMessage {
  const id = MessageId(`interrupted-tool-result-${callId}-${seq}`)
  return errorResultMessage(id, callId, callSeq === null ? NOT_STARTED : OUTCOME_UNKNOWN)
}

/** A tool result message that reports a failure in words. */
export function errorResultMessage(id: MessageId, callId: CallId, text: string): ToolResultMessage {
  return {
    id,
    role: 'user',
    content: [{ type: 'tool-result', toolCallId: callId, content: [{ type: 'text', text }], isError: true }],
    source: { kind: 'tool', callId },
  }
}
