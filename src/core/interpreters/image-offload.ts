/**
 * `image/offload`: images that models need no more are marked, and stay where they are. The reference of an interpreter
 * for an event of the format (SPEC M6).
 */
import type { ContentBlock } from '../events.ts'
import { isSafeNonNegativeInteger } from '../ids.ts'
import { type MessageProjection, unfit } from '../message-projection.ts'
import type { ImageOffload } from '../plugin-events.ts'
import { checkTargets } from './projection-targets.ts'

/** Marks the images an `image/offload` event names as `offloaded`. Images are counted depth first, offloaded ones too. */
export const imageOffloading: MessageProjection = {
  type: 'image/offload',
  version: 1,
  project({ data }, context) {
    const targets = checkTargets(data, ['imageIndexes'], context)
    return targets.map(({ seq, message, target }) => {
      const { imageIndexes } = target as ImageOffload['targets'][number]
      if (!isRising(imageIndexes)) throw unfit(`imageIndexes of ${seq} are not rising positions, at least one`)
      if (message.role === 'assistant' || message.role === 'system') throw unfit(`${seq} is no user message or result`)
      const left = new Set(imageIndexes)
      const content = offload(message.content, left, { count: 0 }, 0)
      if (left.size > 0) throw unfit(`${seq} has no image ${[...left].join(', ')} that is not offloaded yet`)
      return [seq, { ...message, content }] as const
    })
  },
}

/** Results inside results nest no deeper: what one engine accepts must not be too deep for another. */
const DEEPEST = 100

/** The blocks with the images `left` marked; takes out of `left` what it marked. `images` counts those seen. */
function offload(
  content: readonly ContentBlock[],
  left: Set<number>,
  images: { count: number },
  depth: number,
): ContentBlock[] {
  if (depth > DEEPEST) throw unfit(`results nest deeper than ${DEEPEST}`)
  return content.map(block => {
    if (block.type === 'tool-result') return { ...block, content: offload(block.content, left, images, depth + 1) }
    if (block.type !== 'image') return block
    const index = images.count++
    if (block.offloaded === true || !left.delete(index)) return block
    return { ...block, offloaded: true }
  })
}

const isRising = (indexes: unknown): indexes is readonly number[] =>
  Array.isArray(indexes) &&
  indexes.length > 0 &&
  indexes.every((index, at) => isSafeNonNegativeInteger(index) && (at === 0 || index > (indexes[at - 1] as number)))
