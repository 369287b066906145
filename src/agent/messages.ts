/** Messages the agent takes or makes. */
import { isUserMessage } from '../core/inbox.ts'
import { MessageId } from '../core/ids.ts'
import { snapshotJson } from '../core/json.ts'
import type { ContentBlock, FileBlock, ImageBlock, UserMessage } from '../core/message.ts'
import { hasLoneSurrogate } from '../core/well-formed.ts'
import { AgentError } from './errors.ts'

/** What a person says. Text may be empty beside attachments. */
export type Prompt = {
  readonly text: string
  /** Blocks that refer to stored bytes, as `attach` answers them. */
  readonly attachments?: readonly (ImageBlock | FileBlock)[]
}

/** @throws {AgentError} `empty-prompt`, `malformed-prompt`. */
export function promptContent({ text, attachments = [] }: Prompt): readonly ContentBlock[] {
  if (hasLoneSurrogate(text)) {
    throw new AgentError('malformed-prompt', 'The prompt holds a broken character (half of a surrogate pair)')
  }
  const blocks = attachments.map(attachmentBlock)
  if (text.trim() !== '') return [...blocks, { type: 'text', text }]
  if (blocks.length === 0) throw new AgentError('empty-prompt', 'The prompt has no visible text')
  return blocks
}

/** A copy of what may come from anywhere. */
function attachmentBlock(block: ImageBlock | FileBlock, index: number): ContentBlock {
  const refuse = (why: string, cause?: unknown) => {
    const message = `Attachment ${index} of the prompt ${why}`
    return new AgentError('malformed-prompt', message, {}, cause === undefined ? undefined : { cause })
  }
  let copy: ImageBlock | FileBlock
  try {
    copy = snapshotJson(block)
  } catch (error) {
    throw refuse('is not JSON', error)
  }
  const { type, attachment } = (copy ?? {}) as Partial<ImageBlock | FileBlock>
  const isBlock = (type === 'image' || type === 'file') && typeof attachment?.attachmentId === 'string'
  if (!isBlock || attachment?.attachmentId === '') throw refuse('is no image or file block with an attachmentId')
  return copy
}

/** What a person said, as a message. */
export function userMessage(id: string, content: readonly ContentBlock[]): UserMessage {
  return { id: MessageId(id), role: 'user', content, source: { kind: 'user' } }
}

/** Longest summary of a notice, code points (the format's). */
const MAX_SUMMARY = 120

/** What software says to the model; people are shown `summary`. */
export function noticeMessage(id: string, text: string, summary: string): UserMessage {
  const short = [...summary.slice(0, 2 * MAX_SUMMARY)].slice(0, MAX_SUMMARY).join('')
  const source = { kind: 'plugin', plugin: 'palimpsest', form: 'notice', summary: short }
  return { id: MessageId(id), role: 'user', content: [{ type: 'text', text }], source }
}

const CONTINUE =
  'The turn before was cut off before it was finished. Go on from where it stopped: what is said and done above stands, ' +
  'so do not do it again. Where the outcome of a call is unknown, verify it first.'

/** What a turn begins with that goes on where the one before was cut off. */
export const continueMessage = (id: string): UserMessage =>
  noticeMessage(id, CONTINUE, 'Continued after an interruption')

/** The message with other words; what is attached to it stays. */
export function withText(message: UserMessage, prompt: Prompt): UserMessage {
  const { attachments = message.content.filter(isAttachment) } = prompt
  return { ...message, content: promptContent({ ...prompt, attachments }) }
}

const isAttachment = (block: ContentBlock): block is ImageBlock | FileBlock =>
  block.type === 'image' || block.type === 'file'

/** Messages to be said again, checked as what comes from outside. @throws {AgentError} `malformed-prompt`. */
export function checkMessages(messages: readonly UserMessage[]): readonly UserMessage[] {
  const isDistinct = new Set(messages.map(({ id }) => id)).size === messages.length
  if (messages.length > 0 && isDistinct && messages.every(isUserMessage)) return snapshotJson(messages)
  throw new AgentError('malformed-prompt', 'Expected messages that a person could say, each once')
}
