/** The answer that is arriving: frames of a model call as blocks that grow (SPEC V5). */
import type { StreamChunk } from '../core/events.ts'
import type { AssistantStreamFrame } from '../core/live.ts'

export type LiveBlock = {
  /** The block's index in the stream: its key. */
  readonly index: number
  readonly kind: 'text' | 'reasoning' | 'tool-call'
  /** What has arrived of it; of a tool call, its arguments. */
  readonly text: string
  /** Name and id of a tool call, once they have arrived; empty until then. */
  readonly name: string
  readonly callId: string
  /** True once the block is complete: its text does not change any more. */
  readonly isDone: boolean
}

/** An answer before it is part of the log. Blocks stand in the order they were first seen. */
export type LiveAnswer = {
  /** Id the message will have. */
  readonly messageId: string
  readonly attemptId: string
  readonly turn: number
  readonly step: number
  /** When its first chunk arrived, epoch ms; null before. */
  readonly startedAt: number | null
  readonly blocks: readonly LiveBlock[]
}

type Frame<Kind> = Extract<AssistantStreamFrame, { readonly kind: Kind }>

const NO_BLOCKS: readonly LiveBlock[] = Object.freeze([])

/** An answer nothing has arrived of. */
export function startLive({ messageId, attemptId, turn, step }: Frame<'start'>): LiveAnswer {
  return { messageId, attemptId, turn, step, startedAt: null, blocks: NO_BLOCKS }
}

/** The answer with one more chunk; the same object when that shows nothing new. Untouched blocks keep their reference. */
export function growLive(live: LiveAnswer, { time, chunk }: Frame<'chunk'>): LiveAnswer {
  const blocks = growBlocks(live.blocks, chunk)
  if (blocks === live.blocks && live.startedAt !== null) return live
  return { ...live, startedAt: live.startedAt ?? time, blocks }
}

function growBlocks(blocks: readonly LiveBlock[], chunk: StreamChunk): readonly LiveBlock[] {
  switch (chunk.type) {
    case 'block-start':
      return isShown(chunk.blockType) ? change(blocks, chunk.index, chunk.blockType, block => block) : blocks
    case 'text-delta':
    case 'reasoning-delta': {
      const kind = chunk.type === 'text-delta' ? 'text' : 'reasoning'
      return change(blocks, chunk.index, kind, block => (chunk.text === '' ? block : withText(block, chunk.text)))
    }
    case 'tool-call-delta':
      return change(blocks, chunk.index, 'tool-call', block => ({
        ...withText(block, chunk.argumentsDelta),
        name: block.name === '' ? (chunk.name ?? '') : block.name,
        callId: block.callId === '' ? chunk.id : block.callId,
      }))
    case 'block-end': {
      const { block } = chunk
      if (!isShown(block.type)) return blocks
      return change(blocks, chunk.index, block.type, ({ index, kind }) => {
        if (block.type === 'tool-call') {
          return { index, kind, text: block.arguments, name: block.name, callId: block.id, isDone: true }
        }
        return { index, kind, text: 'text' in block ? block.text : '', name: '', callId: '', isDone: true }
      })
    }
    default:
      return blocks
  }
}

const isShown = (type: string): type is LiveBlock['kind'] =>
  type === 'text' || type === 'reasoning' || type === 'tool-call'

const withText = (block: LiveBlock, more: string): LiveBlock => ({ ...block, text: block.text + more })

/** Changes the block at `index`, which is new when nothing was known of it. What is complete does not change. */
function change(
  blocks: readonly LiveBlock[],
  index: number,
  kind: LiveBlock['kind'],
  make: (block: LiveBlock) => LiveBlock,
): readonly LiveBlock[] {
  const position = blocks.findIndex(block => block.index === index)
  const known = blocks[position]
  if (known === undefined) return [...blocks, make({ index, kind, text: '', name: '', callId: '', isDone: false })]
  if (known.isDone) return blocks
  const next = make(known)
  return next === known ? blocks : blocks.with(position, next)
}
