/**
 * The blocks of one streamed answer: AI SDK parts name them by id, our chunks by a position. An id that is opened again
 * after it was closed is a new block, so nothing is lost and the order stays.
 */
import type { StreamChunk } from '../core/events.ts'
import { CallId } from '../core/ids.ts'
import type { JsonValue } from '../core/json.ts'
import { fieldOf } from './ai-sdk-fields.ts'

export type BlockKind = 'text' | 'reasoning' | 'tool-call'

export type OpenBlock = {
  readonly kind: BlockKind
  readonly index: number
  readonly id: string
  readonly name: string
  text: string
}

export class BlockLedger {
  readonly #open = new Map<string, OpenBlock>()
  readonly #metadata: (Record<string, JsonValue> | null)[] = []
  /** Something a person or the loop can use has come. */
  hasText = false
  calls = 0

  /** The open block of that id, opened when there is none; `emit` gets its start. */
  block(kind: BlockKind, id: string, emit: (chunk: StreamChunk) => void, name = ''): OpenBlock {
    const known = this.#open.get(keyOf(kind, id))
    if (known !== undefined) return known
    const block: OpenBlock = { kind, index: this.#metadata.length, id, name, text: '' }
    this.#metadata.push(null)
    this.#open.set(keyOf(kind, id), block)
    emit({ type: 'block-start', index: block.index, blockType: kind })
    return block
  }

  find(kind: BlockKind, id: string): OpenBlock | undefined {
    return this.#open.get(keyOf(kind, id))
  }

  /** Closes a block with the text it has. */
  close(block: OpenBlock): StreamChunk {
    const { kind, index, id, name, text } = block
    this.#open.delete(keyOf(kind, id))
    if (kind === 'tool-call') {
      this.calls += 1
      const callId = CallId(id === '' ? `call-${index}` : id)
      return { type: 'block-end', index, block: { type: kind, id: callId, name, arguments: text } }
    }
    if (text.trim() !== '') this.hasText = true
    return { type: 'block-end', index, block: { type: kind, text } }
  }

  /** Blocks that were not closed, in order. */
  get open(): readonly OpenBlock[] {
    return [...this.#open.values()]
  }

  /** Keeps what the provider wants back with a block: later metadata of one provider adds to earlier. */
  annotate({ index }: OpenBlock, part: unknown): void {
    const added = asJson(fieldOf(part, 'providerMetadata'))
    if (added === null) return
    const kept = this.#metadata[index] ?? {}
    for (const [provider, values] of Object.entries(added)) {
      if (typeof values !== 'object' || values === null || Array.isArray(values)) continue
      kept[provider] = { ...(kept[provider] as object | undefined), ...values }
    }
    if (Object.keys(kept).length > 0) this.#metadata[index] = kept
  }

  /** One entry for each block; undefined when no provider said anything. */
  get replayState(): { readonly blocks: readonly JsonValue[] } | undefined {
    return this.#metadata.some(entry => entry !== null) ? { blocks: this.#metadata } : undefined
  }
}

const keyOf = (kind: BlockKind, id: string): string => `${kind}:${id}`

/** The value as plain JSON; null when it is not an object or cannot be written as JSON. */
function asJson(value: unknown): Record<string, JsonValue> | null {
  if (typeof value !== 'object' || value === null) return null
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value))
    return typeof copy === 'object' && !Array.isArray(copy) ? (copy as Record<string, JsonValue>) : null
  } catch {
    return null
  }
}
