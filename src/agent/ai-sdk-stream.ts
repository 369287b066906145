/** AI SDK stream parts as our chunks (SPEC A9). Parts are checked, not trusted: any sequence of them settles. */
import type { FinishReason, LlmFailure, StreamChunk } from '../core/events.ts'
import { BlockLedger, type BlockKind } from './ai-sdk-blocks.ts'
import { fieldOf, textField } from './ai-sdk-fields.ts'
import { usageOf } from './ai-sdk-usage.ts'

/** What a raw reason says in words the SDK has none for: the provider gave up. */
const gaveUp = /insufficient|error|fail|abort/i

export class PartMapping {
  readonly #ledger = new BlockLedger()
  readonly #failureOf: (error: unknown) => LlmFailure
  /** Calls the provider makes itself; they and their results are not for the loop. */
  readonly #foreignCalls = new Set<string>()
  #error: LlmFailure | null = null
  #chunks: StreamChunk[] = []
  #finished = false

  /** `failureOf` turns the error of an error part into a failure. */
  constructor(failureOf: (error: unknown) => LlmFailure) {
    this.#failureOf = failureOf
  }

  /** True once a finish chunk was made; later parts are ignored. */
  get finished(): boolean {
    return this.#finished
  }

  /** The chunks of one part; none for parts that carry nothing we keep. */
  push(part: unknown): readonly StreamChunk[] {
    if (!this.#finished) this.#read(part)
    return this.#take()
  }

  /** The chunks of a stream that ended: a failure unless it had finished. */
  end(): readonly StreamChunk[] {
    if (!this.#finished) this.#fail(this.#error ?? brokenOff)
    return this.#take()
  }

  #read(part: unknown): void {
    const id = textField(part, 'id')
    switch (fieldOf(part, 'type')) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return this.#readText('text', id, part)
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#readText('reasoning', id, part)
      case 'tool-input-start':
        if (fieldOf(part, 'providerExecuted') === true) this.#foreignCalls.add(id)
        else this.#ledger.annotate(this.#block('tool-call', id, textField(part, 'toolName')), part)
        return
      case 'tool-input-delta':
        return this.#readInput(id, part)
      case 'tool-call':
        return this.#readCall(textField(part, 'toolCallId'), part)
      case 'error':
        this.#error = this.#failureOf(fieldOf(part, 'error'))
        return
      case 'finish':
        return this.#readFinish(part)
    }
  }

  #readText(kind: 'text' | 'reasoning', id: string, part: unknown): void {
    const type = textField(part, 'type')
    const isEnd = type.endsWith('-end')
    const block = isEnd ? this.#ledger.find(kind, id) : this.#block(kind, id)
    if (block === undefined) return
    this.#ledger.annotate(block, part)
    const text = type.endsWith('-delta') ? textField(part, 'delta') : ''
    if (text !== '') {
      block.text += text
      this.#emit({ type: `${kind}-delta`, index: block.index, text })
    }
    if (isEnd) this.#emit(this.#ledger.close(block))
  }

  #readInput(id: string, part: unknown): void {
    const block = this.#ledger.find('tool-call', id)
    const argumentsDelta = textField(part, 'delta')
    if (block === undefined || argumentsDelta === '') return
    block.text += argumentsDelta
    const { index, name } = block
    this.#emit({ type: 'tool-call-delta', index, id, ...(name === '' ? {} : { name }), argumentsDelta })
  }

  /** The call as a whole: what it says counts, not what its deltas add up to. */
  #readCall(id: string, part: unknown): void {
    if (fieldOf(part, 'providerExecuted') === true || this.#foreignCalls.has(id)) return
    const block = this.#block('tool-call', id, textField(part, 'toolName'))
    this.#ledger.annotate(block, part)
    this.#emit(this.#ledger.close({ ...block, name: textField(part, 'toolName') || block.name, text: inputText(part) }))
  }

  #readFinish(part: unknown): void {
    const ledger = this.#ledger
    const reason = fieldOf(part, 'finishReason')
    const kind = typeof reason === 'string' ? reason : textField(reason, 'unified')
    const openCall = ledger.open.some(block => block.kind === 'tool-call')
    for (const block of ledger.open) if (block.kind !== 'tool-call') this.#emit(ledger.close(block))
    const usage = usageOf(fieldOf(part, 'usage'))
    if (usage !== undefined) this.#emit({ type: 'usage', usage })

    if (kind === 'length') return this.#finish({ kind: 'max-tokens' })
    if (kind === 'content-filter') return this.#fail(filtered)
    if (kind === 'error') return this.#fail(this.#error ?? gaveUpWith('an error'))
    if (kind === 'interrupted') return this.#fail(this.#error ?? brokenOff)
    const raw = textField(reason, 'raw')
    if (kind !== 'stop' && kind !== 'tool-calls' && gaveUp.test(raw)) return this.#fail(gaveUpWith(raw.slice(0, 80)))
    // Half a call must not run, nor be taken for an answer.
    if (openCall) return this.#fail(this.#error ?? brokenOff)
    // What came decides, not its label: some providers say stop after a call, or tool-calls without one.
    if (ledger.calls > 0) return this.#finish({ kind: 'tool-calls' })
    if (ledger.hasText || kind === 'stop') return this.#finish({ kind: 'stop' })
    this.#fail(this.#error ?? nothingCame)
  }

  #block(kind: BlockKind, id: string, name = ''): ReturnType<BlockLedger['block']> {
    return this.#ledger.block(kind, id, chunk => this.#emit(chunk), name)
  }

  #finish(reason: FinishReason): void {
    const { replayState } = this.#ledger
    this.#finished = true
    this.#emit({ type: 'finish', reason, ...(replayState === undefined ? {} : { replayState }) })
  }

  #fail(failure: LlmFailure): void {
    this.#finish({ kind: 'error', failure })
  }

  #emit(chunk: StreamChunk): void {
    this.#chunks.push(chunk)
  }

  #take(): readonly StreamChunk[] {
    const chunks = this.#chunks
    this.#chunks = []
    return chunks
  }
}

/** Arguments are text in every spec; some providers hand an object over all the same. */
function inputText(part: unknown): string {
  const input = fieldOf(part, 'input')
  if (typeof input === 'string') return input
  if (input === undefined || input === null) return ''
  try {
    return JSON.stringify(input) ?? ''
  } catch {
    return ''
  }
}

const brokenOff: LlmFailure = { code: 'TRANSPORT', message: 'The answer broke off before it was finished.' }
const filtered: LlmFailure = { code: 'CONTENT_FILTER', message: "The provider's content filter stopped the answer." }
const nothingCame: LlmFailure = { code: 'EMPTY_RESPONSE', message: 'The answer was empty.' }
const gaveUpWith = (reason: string): LlmFailure => ({
  code: 'SERVER',
  message: `The provider stopped the answer: ${reason}.`,
})
