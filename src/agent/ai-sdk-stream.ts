/** AI SDK stream parts as our chunks (SPEC A9). Parts are checked, not trusted: any sequence of them settles. */
import type { FinishReason, LlmFailure, StreamChunk } from '../core/events.ts'
import { blockLedger } from './ai-sdk-blocks.ts'
import { defined, fieldOf, jsonTextOf, textField } from './ai-sdk-fields.ts'
import { usageOf } from './ai-sdk-usage.ts'

/** What a raw reason says in words the SDK has none for: the provider gave up. */
const gaveUp = /insufficient|error|fail|abort/i

const failed = (code: string, message: string): LlmFailure => ({ code, message })
const brokenOff = failed('TRANSPORT', 'The answer broke off before it was finished.')

export type PartMapping = {
  /** The chunks of one part; none for parts that carry nothing we keep, or come after the finish. */
  push(part: unknown): readonly StreamChunk[]
  /** The chunks of a stream that ended: a failure unless it had finished. */
  end(): readonly StreamChunk[]
  /** True once a finish chunk was made. */
  isFinished(): boolean
}

/** The mapping of one answer; `failureOf` turns the error of an error part into a failure. */
export function partMapping(failureOf: (error: unknown) => LlmFailure): PartMapping {
  let chunks: StreamChunk[] = []
  const emit = (chunk: StreamChunk): void => void chunks.push(chunk)
  const ledger = blockLedger(emit)
  /** Calls the provider makes itself; they and their results are not for the loop. */
  const foreignCalls = new Set<string>()
  let error: LlmFailure | null = null
  /** A piece of the answer is missing from what came. */
  let isTorn = false
  let finished = false

  const finish = (reason: FinishReason): void => {
    finished = true
    emit(defined({ type: 'finish' as const, reason, replayState: ledger.replayState() }))
  }
  const fail = (failure: LlmFailure): void => finish({ kind: 'error', failure })

  const readText = (kind: 'text' | 'reasoning', phase: string, id: string, part: unknown): void => {
    const block = phase === 'end' ? ledger.find(kind, id) : ledger.open(kind, id)
    if (block === undefined) return
    ledger.annotate(block, part)
    const text = phase === 'delta' && textField(part, 'delta')
    if (text) {
      block.text += text
      emit({ type: `${kind}-delta`, index: block.index, text })
    }
    if (phase === 'end') ledger.close(block)
  }

  const readInput = (id: string, part: unknown): void => {
    const block = ledger.find('tool-call', id)
    const argumentsDelta = textField(part, 'delta')
    if (block === undefined || argumentsDelta === '') return
    const { index, name } = block
    emit(defined({ type: 'tool-call-delta' as const, index, id, name: name || undefined, argumentsDelta }))
  }

  /** The start of a call's input, or the call as a whole: what that says counts, not what its deltas add up to. */
  const readCall = (id: string, part: unknown, isWhole: boolean): void => {
    if (fieldOf(part, 'providerExecuted') === true) foreignCalls.add(id)
    if (foreignCalls.has(id)) return
    const name = textField(part, 'toolName')
    const block = ledger.open('tool-call', id, name)
    ledger.annotate(block, part)
    if (!isWhole) return
    block.name = name || block.name
    block.text = inputText(fieldOf(part, 'input'))
    ledger.close(block)
  }

  const readFinish = (part: unknown): void => {
    const reason = fieldOf(part, 'finishReason')
    const raw = textField(reason, 'raw')
    const kind = typeof reason === 'string' ? reason : textField(reason, 'unified')
    const { hasText, hasCalls, isInCall } = ledger.settle()
    const usage = usageOf(fieldOf(part, 'usage'))
    if (usage !== undefined) emit({ type: 'usage', usage })

    if (kind === 'length') finish({ kind: 'max-tokens' })
    else if (kind === 'content-filter') fail(failed('CONTENT_FILTER', 'A content filter stopped the answer.'))
    else if (kind === 'error' || (kind !== 'stop' && kind !== 'tool-calls' && gaveUp.test(raw))) {
      fail(error ?? failed('SERVER', `The provider stopped the answer: ${raw.slice(0, 80) || 'error'}.`))
    }
    // An event nobody knows may be passed over; one that could not be read was a part of the answer.
    else if (isTorn) fail(failed('TRANSPORT', 'A part of the answer could not be read, so none of it was used.'))
    // Half a call must not run, nor be taken for an answer.
    else if (kind === 'interrupted' || isInCall) fail(error ?? brokenOff)
    // What came decides, not its label: some providers say stop after a call, or tool-calls without one.
    else if (hasCalls) finish({ kind: 'tool-calls' })
    else if (hasText || kind === 'stop') finish({ kind: 'stop' })
    else fail(error ?? failed('EMPTY_RESPONSE', 'The answer was empty.'))
  }

  const read = (part: unknown): void => {
    const type = textField(part, 'type')
    const id = textField(part, 'id')
    const [kind, phase = ''] = type.split('-')
    if ((kind === 'text' || kind === 'reasoning') && /^(start|delta|end)$/.test(phase)) readText(kind, phase, id, part)
    else if (type === 'tool-input-start') readCall(id, part, false)
    else if (type === 'tool-input-delta') readInput(id, part)
    else if (type === 'tool-call') readCall(textField(part, 'toolCallId'), part, true)
    else if (type === 'error') {
      error = failureOf(fieldOf(part, 'error'))
      isTorn ||= /JSONParse/.test(textField(fieldOf(part, 'error'), 'name'))
    } else if (type === 'finish') readFinish(part)
  }

  const take = (): readonly StreamChunk[] => {
    const taken = chunks
    chunks = []
    return taken
  }

  return {
    push(part) {
      if (!finished) read(part)
      return take()
    },
    end() {
      if (!finished) fail(error ?? brokenOff)
      return take()
    },
    isFinished: () => finished,
  }
}

/** Arguments are text in every spec; some providers hand an object over all the same. */
const inputText = (input: unknown): string =>
  typeof input === 'string' ? input : input === null ? '' : jsonTextOf(input)
