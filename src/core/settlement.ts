/**
 * Settling a model call that was stopped or cut off, without the model: with what was visible of its answer (SPEC A7, R9).
 */
import type { AssistantMessage, ContentBlock, EventData, SessionEvent, StreamRecord, Usage } from './events.ts'
import { MessageId, SessionSeq } from './ids.ts'
import { type JsonValue, shareJson, snapshotJson } from './json.ts'
import type { RestoreOptions } from './session-options.ts'
import { StreamAssembler } from './stream.ts'
import { chunkProblem } from './stream-grammar.ts'
import { packStream, type TimedChunk } from './stream-records.ts'

/** What is known of a model call that is running: enough to settle it without the model. */
export type RunningCall = {
  readonly attemptId: string
  /** Of the message it will be, if it becomes one. */
  readonly messageId: string
  readonly turn: number
  readonly step: number
  readonly provider: string
  readonly model: string
}

/** An event that settles a model call, but for its place in the log. */
export type Settlement =
  | { readonly type: 'assistant/message'; readonly data: EventData['assistant/message']; readonly surfaceOp: 'append' }
  | { readonly type: 'assistant/attempt'; readonly data: EventData['assistant/attempt'] }

/** What came of an answer. */
export type Answer = {
  readonly content: readonly ContentBlock[]
  readonly stream: readonly StreamRecord[]
  readonly usage: Usage | undefined
  readonly replayState?: JsonValue | undefined
  readonly interrupted?: true
}

/** A call that was answered. */
export function settledMessage(call: RunningCall, answer: Answer): Settlement {
  const { messageId, turn, step, provider, model } = call
  const { content, stream, usage, replayState, interrupted } = answer
  const message: AssistantMessage = {
    id: MessageId(messageId),
    role: 'assistant',
    content,
    source: { kind: 'model', provider, model, ...(replayState === undefined ? {} : { replayState }) },
  }
  const data = {
    turn,
    step,
    message,
    stream,
    ...(usage === undefined ? {} : { usage }),
    ...(interrupted === undefined ? {} : { interrupted }),
  }
  return { type: 'assistant/message', data, surfaceOp: 'append' }
}

/** A call that came to nothing a model may read. */
export const settledAttempt = ({ turn, step }: RunningCall, stream: readonly StreamRecord[]): Settlement => ({
  type: 'assistant/attempt',
  data: { turn, step, stream },
})

/**
 * How a call is settled that was stopped after `chunks`: as an interrupted message with the text that was visible, or
 * else as an attempt. In this order: the first one the session accepts counts. From the first malformed chunk on, and
 * after a finish, nothing is taken.
 */
export function interruptedSettlements(
  call: RunningCall,
  chunks: readonly TimedChunk[],
): readonly [Settlement, ...Settlement[]] {
  const assembler = new StreamAssembler()
  const taken: TimedChunk[] = []
  for (const each of chunks) {
    const timed = soundChunk(each)
    if (timed === null) break
    taken.push(timed)
    assembler.push(timed.chunk)
    if (assembler.finish !== null) break
  }
  const stream = packStream(taken)
  // No calls among them: what was interrupted runs no tools.
  const content = assembler.interruptedPrefix({ wellFormed: true })
  const attempt = settledAttempt(call, stream)
  if (content.length === 0) return [attempt]
  return [settledMessage(call, { content, stream, usage: assembler.usage, interrupted: true }), attempt]
}

/** A chunk that can be kept and assembled; null for all else. It may come from anywhere. */
function soundChunk(timed: TimedChunk): TimedChunk | null {
  try {
    const { time } = timed
    const chunk = shareJson(timed.chunk)
    return Number.isSafeInteger(time) && chunkProblem(chunk) === null ? { time, chunk } : null
  } catch {
    return null
  }
}

/**
 * The `settle` of a session that is opened after `call` was cut off, `chunks` having come: events at the end of the log,
 * with the time of its last one. None unless the step of the call is open and its answer has not asked for tools.
 *
 * It cannot tell from the log whether another event settled the call already: who keeps the chunks has to know, and does
 * not ask for a call that was settled.
 */
export function settleEvents(call: RunningCall, chunks: readonly TimedChunk[]): NonNullable<RestoreOptions['settle']> {
  return ({ openTurn, openStep, pendingCalls }, last) => {
    if (last === null || openTurn !== call.turn || openStep !== call.step || pendingCalls.length > 0) return []
    const { seq, time } = last
    return interruptedSettlements(call, chunks).map(({ type, ...rest }) => {
      return snapshotJson({ type, seq: SessionSeq(seq + 1), time, ...rest }) as SessionEvent
    })
  }
}
