/**
 * The blocks of one streamed answer: AI SDK parts name them by id, our chunks by a position. An id that is opened again
 * after it was closed is a new block, so nothing is lost and the order stays.
 */
import type { StreamChunk } from '../core/events.ts'
import { CallId } from '../core/ids.ts'
import type { JsonValue } from '../core/json.ts'
import { fieldOf, jsonOf, jsonTextOf } from './ai-sdk-fields.ts'

export type BlockKind = 'text' | 'reasoning' | 'tool-call'

export type OpenBlock = {
  readonly kind: BlockKind
  readonly index: number
  readonly id: string
  name: string
  text: string
}

export type BlockLedger = {
  /** The open block of that id, or undefined. */
  find(kind: BlockKind, id: string): OpenBlock | undefined
  /** The open block of that id, opened when there is none. */
  open(kind: BlockKind, id: string, name?: string): OpenBlock
  /** Closes a block with the text it has. */
  close(block: OpenBlock): void
  /** Keeps what the provider wants back with a block: later metadata of one provider adds to earlier. */
  annotate(block: OpenBlock, part: unknown): void
  /** Closes all but calls, which only their own part can close. @returns what came, and whether a call is left open. */
  settle(): { readonly hasText: boolean; readonly hasCalls: boolean; readonly isInCall: boolean }
  /** What providers want back: one entry for each block; undefined when none said anything. */
  replayState(): { readonly blocks: readonly JsonValue[] } | undefined
}

/** A ledger for one answer; `emit` gets the start and end of each block. */
export function blockLedger(emit: (chunk: StreamChunk) => void): BlockLedger {
  const openBlocks = new Map<string, OpenBlock>()
  const metadata: (Record<string, JsonValue> | null)[] = []
  let hasText = false
  let hasCalls = false
  const find = (kind: BlockKind, id: string): OpenBlock | undefined => openBlocks.get(kind + id)
  const close = ({ kind, index, id, name, text }: OpenBlock): void => {
    openBlocks.delete(kind + id)
    if (kind === 'tool-call') {
      hasCalls = true
      emit({
        type: 'block-end',
        index,
        block: { type: kind, id: CallId(id || `call-${index}`), name, arguments: text },
      })
    } else {
      if (text.trim() !== '') hasText = true
      emit({ type: 'block-end', index, block: { type: kind, text } })
    }
  }
  return {
    find,
    open(kind, id, name = '') {
      const known = find(kind, id)
      if (known !== undefined) return known
      const block: OpenBlock = { kind, index: metadata.length, id, name, text: '' }
      metadata.push(null)
      openBlocks.set(kind + id, block)
      emit({ type: 'block-start', index: block.index, blockType: kind })
      return block
    },
    close,
    annotate({ index }, part) {
      for (const [provider, values] of Object.entries(asJson(fieldOf(part, 'providerMetadata')))) {
        if (typeof values !== 'object' || values === null || Array.isArray(values)) continue
        const kept = (metadata[index] ??= {})
        kept[provider] = { ...(kept[provider] as object | undefined), ...values }
      }
    },
    settle() {
      for (const block of openBlocks.values()) if (block.kind !== 'tool-call') close(block)
      return { hasText, hasCalls, isInCall: openBlocks.size > 0 }
    },
    replayState: () => (metadata.some(entry => entry !== null) ? { blocks: metadata } : undefined),
  }
}

/** The members of an object as plain JSON; none when it is none or has no JSON. */
function asJson(value: unknown): Record<string, JsonValue> {
  const copy = jsonOf(jsonTextOf(value))
  return typeof copy === 'object' && copy !== null ? (copy as Record<string, JsonValue>) : {}
}
