/** Text a request can carry: half of a surrogate pair has no UTF-8 (SPEC A3). */
import type { ContentBlock } from './events.ts'
import { CallId } from './ids.ts'

const loneSurrogate = /\p{Surrogate}/u

/** True when the text holds half of a surrogate pair, which no UTF-8 body can carry. */
export const hasLoneSurrogate = (text: string): boolean => loneSurrogate.test(text)

/** The text with each lone surrogate replaced by U+FFFD. */
export const wellFormedText = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd')

/** The block with each lone surrogate of its own texts replaced by U+FFFD; the same object when there is none. */
export function wellFormedBlock<Block extends ContentBlock>(block: Block): Block {
  if (block.type === 'text' || block.type === 'reasoning') {
    return hasLoneSurrogate(block.text) ? { ...block, text: wellFormedText(block.text) } : block
  }
  if (block.type !== 'tool-call' || !hasLoneSurrogate(block.id + ' ' + block.name + ' ' + block.arguments)) return block
  const { id, name, arguments: text } = block
  return { ...block, id: CallId(wellFormedText(id)), name: wellFormedText(name), arguments: wellFormedText(text) }
}
