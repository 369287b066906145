/** One model call, from its first chunk to the event that settles it (SPEC A7, A8). */
import type { AssistantMessage, ContentBlock, EventOf, LlmFailure, Message } from '../core/events.ts'
import { SessionError } from '../core/errors.ts'
import { CallId, MessageId } from '../core/ids.ts'
import { type JsonValue, shareJson } from '../core/json.ts'
import type { Session } from '../core/session.ts'
import { StreamAssembler } from '../core/stream.ts'
import { wellFormedBlock } from '../core/well-formed.ts'
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
}

/** How a model call ended. */
export type AttemptOutcome =
  | { readonly kind: 'message'; readonly event: EventOf<'assistant/message'>; readonly truncated: boolean }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly failure: LlmFailure }

/** Runs one call and commits the event that settles it: a message, an interrupted message, or an attempt. */
export async function runAttempt(options: AttemptOptions): Promise<AttemptOutcome> {
  const { session, model, request, turn, step, revision, onFrame } = options
  const attemptId = options.newId()
  const messageId = options.newId()
  onFrame({ kind: 'start', attemptId, messageId, revision, turn, step })

  const chunks: TimedChunk[] = []
  const assembler = new StreamAssembler()
  let end: Extract<AssistantStreamFrame, { kind: 'end' }>['outcome'] = { kind: 'abandoned' }
  const committed = (event: EventOf<'assistant/message'> | EventOf<'assistant/attempt'>) => {
    end = { kind: 'committed', eventType: event.type, seq: event.seq }
  }
  const settleAttempt = () => committed(session.append('assistant/attempt', { turn, step, stream: packStream(chunks) }))
  const settleMessage = (content: readonly ContentBlock[], extra: MessageExtra): EventOf<'assistant/message'> => {
    const event = session.append(
      'assistant/message',
      {
        turn,
        step,
        message: assistantMessage(messageId, withUniqueCalls(content, request.messages), model, extra.replayState),
        stream: packStream(chunks),
        ...(assembler.usage === undefined ? {} : { usage: assembler.usage }),
        ...(extra.interrupted ? { interrupted: true as const } : {}),
      },
      { surfaceOp: 'append' },
    )
    committed(event)
    return event
  }

  const settleCancelled = () => {
    const visible = assembler.interruptedPrefix()
    if (visible.length === 0) return settleAttempt()
    try {
      settleMessage(visible, { interrupted: true })
    } catch {
      // An invariant of the session refuses what came so far: the attempt keeps it.
      settleAttempt()
    }
  }

  try {
    let thrown: unknown
    try {
      for await (const raw of untilAborted(model.stream(request), request.signal)) {
        const chunk = shareJson(raw)
        const timed: TimedChunk = { time: options.now(), chunk }
        // What is no chunk at all cannot be kept in a stream.
        if (typeof chunk === 'object' && (chunk as unknown) !== null) chunks.push(timed)
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
      const { blocks, finish, replayState } = assembler.assemble({ dropBlankText: true })
      const event = settleMessage(blocks, { replayState })
      return { kind: 'message', event, truncated: finish.kind === 'max-tokens' }
    } catch (error) {
      // It cannot be put together, or an invariant of the session refuses it.
      settleAttempt()
      return { kind: 'failed', failure: failureOf(error) }
    }
  } finally {
    onFrame({ kind: 'end', attemptId, revision, outcome: end })
  }
}

type MessageExtra = {
  readonly interrupted?: boolean
  readonly replayState?: JsonValue | undefined
}

function assistantMessage(
  id: string,
  content: readonly ContentBlock[],
  { config }: Model,
  replayState: JsonValue | undefined,
): AssistantMessage {
  const { provider, model } = config
  return {
    id: MessageId(id),
    role: 'assistant',
    content,
    source: { kind: 'model', provider, model, ...(replayState === undefined ? {} : { replayState }) },
  }
}

/**
 * Models use an id again, in one answer and in later ones, or leave a name out; no request may. The stream keeps what
 * came.
 */
function withUniqueCalls(content: readonly ContentBlock[], sent: readonly Message[]): readonly ContentBlock[] {
  const wellFormed = content.map(wellFormedBlock)
  if (!wellFormed.some(block => block.type === 'tool-call')) return wellFormed
  const used = new Set<string>()
  for (const message of sent) for (const block of message.content) if (block.type === 'tool-call') used.add(block.id)
  return wellFormed.map(block => {
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
  let onAbort = (): void => {}
  const aborted = new Promise<null>(resolve => {
    onAbort = () => resolve(null)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    for (;;) {
      const next = iterator.next()
      const result = await Promise.race([next, aborted])
      if (result === null) {
        // Its late failure is the cancellation's own echo.
        next.catch(() => undefined)
        return
      }
      if (result.done === true) return
      yield result.value
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    // Lets the source clean up; a source that is stuck is not waited for, and a failing clean-up is not the turn's.
    iterator.return?.()?.then(undefined, () => undefined)
  }
}
