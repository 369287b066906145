/** AI SDK stream parts as our chunks (SPEC A9). Parts are checked, not trusted: any sequence of them settles. */
import type { FinishReason, LlmFailure, StreamChunk } from '../core/events.ts'
import { blockLedger } from './ai-sdk-blocks.ts'
import { defined, fieldOf, jsonTextOf, textField } from './ai-sdk-fields.ts'
import { droppedFile, warningText } from './ai-sdk-leftovers.ts'
import { usageOf } from './ai-sdk-usage.ts'

/** What a raw reason says in words the SDK has none for: the provider gave up. */
const gaveUp = /insufficient|error|fail|abort/i

const failed = (code: string, message: string): LlmFailure => ({ code, message })
const brokenOff = failed('TRANSPORT', 'The answer broke off before it was finished.')
/** Nothing of an answer came; a body that is no stream looks the same, but for what it calls itself. */
const neverBegan = (contentType = ''): LlmFailure =>
  contentType === '' || contentType.startsWith('text/event-stream')
    ? failed('EMPTY_RESPONSE', 'The answer was empty: it ended before anything of it came.')
    : failed('SERVER', `The provider answered with ${contentType.slice(0, 80)}, which is no stream.`)

export type PartMapping = {
  /** The chunks of one part; none for parts that carry nothing we keep, or come after the finish. */
  push(part: unknown): readonly StreamChunk[]
  /** The chunks of a stream that ended: a failure unless it had finished. */
  end(): readonly StreamChunk[]
  /** True once a finish chunk was made. */
  isFinished(): boolean
}

export type PartMappingOptions = {
  /** Turns the error of an error part into a failure. */
  readonly failureOf: (error: unknown) => LlmFailure
  readonly onWarning: (warning: string) => void
  /** Name the provider has for the request, for failures that do not say. */
  readonly requestId?: string | undefined
  /** What the response calls itself. */
  readonly contentType?: string | undefined
}

/** The mapping of one answer. */
export function partMapping({ failureOf, onWarning, requestId, contentType }: PartMappingOptions): PartMapping {
  let chunks: StreamChunk[] = []
  const emit = (chunk: StreamChunk): void => void chunks.push(chunk)
  const ledger = blockLedger(emit)
  /** Calls the provider makes itself; they and their results are not for the loop. */
  const foreignCalls = new Set<string>()
  let error: LlmFailure | null = null
  /** Something of an answer came. */
  let hasBegun = false
  /** A piece of the answer is missing from what came. */
  let isTorn = false
  let finished = false

  const finish = (reason: FinishReason): void => {
    finished = true
    emit(defined({ type: 'finish' as const, reason, replayState: ledger.replayState() }))
  }
  const fail = (failure: LlmFailure): void => finish({ kind: 'error', failure: defined({ requestId, ...failure }) })
  const cutShort = (): LlmFailure => error ?? (hasBegun ? brokenOff : neverBegan(contentType))

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
    else if (kind === 'interrupted' || isInCall) fail(cutShort())
    // What came decides, not its label: some providers say stop after a call, or tool-calls without one.
    else if (hasCalls) finish({ kind: 'tool-calls' })
    else if (hasText || kind === 'stop') finish({ kind: 'stop' })
    else fail(error ?? failed('EMPTY_RESPONSE', 'The answer was empty.'))
  }

  const readError = (thrown: unknown): void => {
    const name = textField(thrown, 'name')
    // The SDK's own word for a stream that ended too early.
    error = /InvalidResponseData/.test(name) && !hasBegun ? neverBegan(contentType) : failureOf(thrown)
    isTorn ||= /JSONParse/.test(name)
    if (/TypeValidation/.test(name)) onWarning(`A part of the answer was not understood: ${error.message}`)
  }

  /** What has no place in a log: a text says so where the model meant to show something. */
  const readFile = (part: unknown): void => {
    const text = droppedFile(part)
    const block = ledger.open('text', `file of ${text}`)
    block.text = text
    emit({ type: 'text-delta', index: block.index, text })
    ledger.close(block)
    onWarning(`A file of the answer was not kept: ${text}`)
  }

  const read = (part: unknown): void => {
    const type = textField(part, 'type')
    const id = textField(part, 'id')
    const [kind, phase = ''] = type.split('-')
    hasBegun ||= !/^(stream-start|raw|error|finish)?$/.test(type)
    if ((kind === 'text' || kind === 'reasoning') && /^(start|delta|end)$/.test(phase)) readText(kind, phase, id, part)
    else if (type === 'tool-input-start') readCall(id, part, false)
    else if (type === 'tool-input-delta') readInput(id, part)
    else if (type === 'tool-call') readCall(textField(part, 'toolCallId'), part, true)
    else if (type === 'file') readFile(part)
    else if (type === 'error') readError(fieldOf(part, 'error'))
    else if (type === 'finish') readFinish(part)
    else for (const warning of warningText(part)) onWarning(warning)
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
      if (!finished) fail(cutShort())
      return take()
    },
    isFinished: () => finished,
  }
}

/** Arguments are text in every spec; some providers hand an object over all the same. */
const inputText = (input: unknown): string =>
  typeof input === 'string' ? input : input === null ? '' : jsonTextOf(input)
