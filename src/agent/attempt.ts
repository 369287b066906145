/** One model call, from its first chunk to the event that settles it (SPEC A7, A8). */
import type { ContentBlock, EventOf, LlmFailure, Message, StreamChunk } from '../core/events.ts'
import { SessionError } from '../core/errors.ts'
import { CallId } from '../core/ids.ts'
import { shareJson } from '../core/json.ts'
import type { Session } from '../core/session.ts'
import {
  interruptedSettlements,
  type RunningCall,
  settledAttempt,
  settledMessage,
  type Settlement,
} from '../core/settlement.ts'
import { StreamAssembler } from '../core/stream.ts'
import { chunkProblem } from '../core/stream-grammar.ts'
import { packStream, type TimedChunk } from '../core/stream-records.ts'
import { failureOf } from './failure.ts'
import type { AssistantStreamFrame } from '../core/live.ts'
import type { Model, ModelRequest } from './model.ts'

export type AttemptOptions = {
  readonly session: Session
  readonly model: Model
  readonly request: ModelRequest
  readonly turn: number
  readonly step: number
  readonly revision: number
  readonly now: () => number
  readonly newId: () => string
  readonly onFrame: (frame: AssistantStreamFrame) => void
  /** Keeps what comes until the call is settled, so that a crash does not lose it. */
  readonly journal: AttemptJournal
}

export type AttemptJournal = {
  begin(call: RunningCall): void
  push(chunk: TimedChunk): void
  end(): void
}

/** How a model call ended. */
export type AttemptOutcome =
  | { readonly kind: 'message'; readonly event: EventOf<'assistant/message'>; readonly truncated: boolean }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly failure: LlmFailure }

/** Runs one call and commits the event that settles it: a message, an interrupted message, or an attempt. */
export async function runAttempt(options: AttemptOptions): Promise<AttemptOutcome> {
  const { session, model, request, turn, step, revision, onFrame, journal } = options
  const { provider, model: modelName } = model.config
  const attemptId = options.newId()
  const messageId = options.newId()
  const call: RunningCall = { attemptId, messageId, turn, step, provider, model: modelName }
  let source: AsyncIterable<StreamChunk>
  try {
    source = model.stream(request)
  } catch (error) {
    // Nothing began, so nothing is to be settled.
    return request.signal.aborted ? { kind: 'cancelled' } : { kind: 'failed', failure: failureOf(error) }
  }
  onFrame({ kind: 'start', attemptId, messageId, revision, turn, step })

  journal.begin(call)
  const chunks: TimedChunk[] = []
  const assembler = new StreamAssembler()
  let end: Extract<AssistantStreamFrame, { kind: 'end' }>['outcome'] = { kind: 'abandoned' }
  const commit = (settlement: Settlement) => {
    const event =
      settlement.type === 'assistant/message'
        ? session.append(settlement.type, settlement.data, { surfaceOp: settlement.surfaceOp })
        : session.append(settlement.type, settlement.data)
    end = { kind: 'committed', eventType: event.type, seq: event.seq }
    return event
  }
  const settleAttempt = () => commit(settledAttempt(call, packStream(chunks)))
  const settleCancelled = () => {
    const [first, otherwise = first] = interruptedSettlements(call, chunks)
    try {
      commit(first)
    } catch {
      // An invariant of the session refuses what came so far: the attempt keeps it.
      commit(otherwise)
    }
  }

  try {
    let thrown: unknown
    try {
      for await (const raw of untilAborted(source, request.signal)) {
        const chunk = shareJson(raw)
        const timed: TimedChunk = { time: options.now(), chunk }
        // What is no chunk at all cannot be kept in a stream.
        if (typeof chunk === 'object' && (chunk as unknown) !== null && !Array.isArray(chunk)) {
          chunks.push(timed)
          journal.push(timed)
        }
        const problem = chunkProblem(chunk)
        if (problem !== null) throw new SessionError('stream', `Chunk ${chunks.length - 1} of the answer ${problem}`)
        assembler.push(chunk)
        onFrame({ kind: 'chunk', attemptId, revision, index: chunks.length - 1, ...timed })
        if (assembler.finish !== null) break
      }
    } catch (error) {
      thrown = error
    }

    if (request.signal.aborted) {
      settleCancelled()
      return { kind: 'cancelled' }
    }
    if (thrown !== undefined) {
      settleAttempt()
      return { kind: 'failed', failure: failureOf(thrown) }
    }
    const finished = assembler.finish
    if (finished === null) {
      settleAttempt()
      return { kind: 'failed', failure: { code: 'TRANSPORT', message: 'The answer broke off before it was finished.' } }
    }
    if (finished.kind === 'error' || finished.kind === 'aborted') {
      settleAttempt()
      return { kind: 'failed', failure: finished.failure }
    }
    try {
      const { blocks, finish, replayState } = assembler.assemble({ dropBlankText: true, wellFormed: true })
      const content = withUniqueCalls(blocks, request.messages)
      const answer = { content, stream: packStream(chunks), usage: assembler.usage, replayState }
      const event = commit(settledMessage(call, answer)) as EventOf<'assistant/message'>
      return { kind: 'message', event, truncated: finish.kind === 'max-tokens' }
    } catch (error) {
      // It cannot be put together, or an invariant of the session refuses it.
      settleAttempt()
      return { kind: 'failed', failure: failureOf(error) }
    }
  } finally {
    journal.end()
    onFrame({ kind: 'end', attemptId, revision, outcome: end })
  }
}

/**
 * Models use an id again, in one answer and in later ones, or leave a name out; no request may. The stream keeps what
 * came.
 */
function withUniqueCalls(content: readonly ContentBlock[], sent: readonly Message[]): readonly ContentBlock[] {
  if (!content.some(block => block.type === 'tool-call')) return content
  const used = new Set<string>()
  for (const message of sent) for (const block of message.content) if (block.type === 'tool-call') used.add(block.id)
  return content.map(block => {
    if (block.type !== 'tool-call') return block
    const wanted = block.id === '' ? 'call' : block.id
    let id: string = wanted
    for (let count = 2; used.has(id); count += 1) id = `${wanted}_${count}`
    used.add(id)
    const name = block.name === '' ? 'unknown' : block.name
    return id === block.id && name === block.name ? block : { ...block, id: CallId(id), name }
  })
}

/** The chunks until `signal` aborts: a stream that ignores the signal must not keep a cancelled turn open. */
async function* untilAborted<Item>(source: AsyncIterable<Item>, signal: AbortSignal): AsyncGenerator<Item, void, void> {
  if (signal.aborted) return
  const iterator = source[Symbol.asyncIterator]()
  let stop = (): void => {}
  const onAbort = (): void => stop()
  signal.addEventListener('abort', onAbort, { once: true })
  // No race with one promise for all: that would keep what each of them came to until the answer ends.
  const next = () =>
    new Promise<IteratorResult<Item, unknown> | null>((resolve, reject) => {
      stop = () => resolve(null)
      if (signal.aborted) stop()
      // After a stop its late failure is the cancellation's own echo.
      new Promise<IteratorResult<Item, unknown>>(next => next(iterator.next())).then(resolve, reject)
    })
  try {
    for (;;) {
      const result = await next()
      if (result === null || result.done === true) return
      yield result.value
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    // Lets the source clean up; a source that is stuck is not waited for, and a failing clean-up is not the turn's.
    Promise.resolve()
      .then(() => iterator.return?.())
      .catch(() => undefined)
  }
}
