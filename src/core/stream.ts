/** A model's answer put together: chunks into blocks, whole or up to where it was cancelled (SPEC L14, A7). */
import { SessionError } from './errors.ts'
import type { ContentBlock, FinishReason, StreamChunk, Usage } from './events.ts'
import { CallId } from './ids.ts'
import type { JsonValue } from './json.ts'
import { wellFormedBlock } from './well-formed.ts'

/** What a stream amounts to. */
export type Assembled = {
  readonly blocks: readonly ContentBlock[]
  readonly finish: FinishReason
  readonly usage?: Usage
  readonly replayState?: JsonValue
}

type OpenBlock = { kind: string; closed: ContentBlock | null; text: string[]; id: string; name: string; index: number }

/** Advances block by block while chunks arrive. Deltas and closes after a block's first close are ignored. */
export class StreamAssembler {
  readonly #blocks = new Map<number, OpenBlock>()
  #usage: Usage | undefined
  #finish: FinishReason | null = null
  #replayState: JsonValue | undefined

  push(chunk: StreamChunk): void {
    switch (chunk.type) {
      case 'block-start':
        this.#open(chunk.index, chunk.blockType)
        return
      case 'text-delta':
        this.#append(chunk.index, 'text', chunk.text)
        return
      case 'reasoning-delta':
        this.#append(chunk.index, 'reasoning', chunk.text)
        return
      case 'tool-call-delta': {
        const block = this.#append(chunk.index, 'tool-call', chunk.argumentsDelta)
        if (block.id === '') block.id = chunk.id
        if (block.name === '' && chunk.name !== undefined) block.name = chunk.name
        return
      }
      case 'block-end':
        this.#open(chunk.index, chunk.block.type).closed ??= chunk.block
        return
      case 'usage':
        this.#usage = chunk.usage
        return
      case 'finish':
        this.#finish = chunk.reason
        this.#replayState = chunk.replayState
    }
  }

  /** How the stream finished; null until it did. */
  get finish(): FinishReason | null {
    return this.#finish
  }

  get usage(): Usage | undefined {
    return this.#usage
  }

  /**
   * The whole answer. A stream without a finish chunk counts as `stop`; tool calls of a `max-tokens` finish are dropped,
   * because truncated calls must not run. `dropBlankText` also drops text blocks with nothing to see, `wellFormed` mends
   * half surrogate pairs.
   *
   * @throws {SessionError} `stream` when a block of an unknown kind was never closed.
   */
  assemble({
    dropBlankText = false,
    wellFormed = false,
  }: {
    readonly dropBlankText?: boolean
    readonly wellFormed?: boolean
  } = {}): Assembled {
    const finish = this.#finish ?? { kind: 'stop' }
    const streamed = [...this.#blocks.values()].map(finishBlock)
    const blocks = wellFormed ? streamed.map(wellFormedBlock) : streamed
    const truncated = finish.kind === 'max-tokens'
    const keep = blocks.map(
      block => !(truncated && block.type === 'tool-call') && !(dropBlankText && isBlankText(block)),
    )
    const replayState = keptReplayState(this.#replayState, keep)
    return {
      blocks: blocks.filter((_, index) => keep[index]),
      finish,
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
      ...(replayState === undefined ? {} : { replayState }),
    }
  }

  /**
   * What was visible when the stream was cancelled: text and reasoning that is not only white space (SPEC A7). With
   * `wellFormed` the half of a surrogate pair that an open block was cut after is left out, others are mended.
   */
  interruptedPrefix({ wellFormed = false }: { readonly wellFormed?: boolean } = {}): readonly ContentBlock[] {
    const blocks: ContentBlock[] = []
    for (const open of this.#blocks.values()) {
      const block = open.closed ?? openText(open)
      if (block?.type !== 'text' && block?.type !== 'reasoning') continue
      const text = wellFormed && open.closed === null ? block.text.replace(/[\ud800-\udbff]$/, '') : block.text
      if (text.trim() !== '') blocks.push(wellFormed ? wellFormedBlock({ ...block, text }) : block)
    }
    return blocks
  }

  #open(index: number, kind: string): OpenBlock {
    const known = this.#blocks.get(index)
    if (known !== undefined) return known
    const block: OpenBlock = { kind, closed: null, text: [], id: '', name: '', index }
    this.#blocks.set(index, block)
    return block
  }

  #append(index: number, kind: string, text: string): OpenBlock {
    const block = this.#open(index, kind)
    if (block.closed === null) block.text.push(text)
    return block
  }
}

/** Text without anything to see says nothing, and strict providers refuse it. */
export const isBlankText = (block: ContentBlock): boolean => block.type === 'text' && block.text.trim() === ''

function openText({ kind, text }: OpenBlock): ContentBlock | null {
  return kind === 'text' || kind === 'reasoning' ? { type: kind, text: text.join('') } : null
}

function finishBlock(block: OpenBlock): ContentBlock {
  const { closed, kind, index, id, name, text } = block
  if (closed !== null) return closed
  if (kind === 'tool-call') {
    return { type: 'tool-call', id: CallId(id === '' ? `call-${index}` : id), name, arguments: text.join('') }
  }
  const open = openText(block)
  if (open === null) throw new SessionError('stream', `Block ${index} of kind ${kind} was never closed`)
  return open
}

/** Per-block entries of a replay state are dropped in step with their blocks; a wrong count discards it whole. */
function keptReplayState(state: JsonValue | undefined, keep: readonly boolean[]): JsonValue | undefined {
  if (typeof state !== 'object' || state === null || Array.isArray(state)) return state
  const { blocks, ...rest } = state as { readonly [key: string]: JsonValue }
  if (!Array.isArray(blocks)) return state
  if (blocks.length !== keep.length) return undefined
  return { ...rest, blocks: (blocks as readonly JsonValue[]).filter((_, index) => keep[index]) }
}

/** The assembled answer of a complete list of chunks. */
export function assembleStream(chunks: Iterable<StreamChunk>): Assembled {
  const assembler = new StreamAssembler()
  for (const chunk of chunks) assembler.push(chunk)
  return assembler.assemble()
}
