/** What blocks of a message say, as text. */
import type { ContentBlock, FileBlock, ImageBlock, Message } from 'palimpsest/core'

/** The text of blocks, for reading. */
export function contentText(content: readonly ContentBlock[]): string {
  return content
    .map(block => {
      switch (block.type) {
        case 'text':
        case 'reasoning':
          return block.text
        case 'tool-call':
          return `→ ${block.name}(${block.arguments})`
        case 'tool-result':
          return `← ${block.isError === true ? 'error: ' : ''}${contentText(block.content)}`
        default:
          return `[${block.type}]`
      }
    })
    .join('\n')
}

export type AttachmentBlock = ImageBlock | FileBlock

/** Images and files of a message, which are shown beside its text. */
export const attachmentsOf = (content: readonly ContentBlock[]): readonly AttachmentBlock[] =>
  content.filter(block => block.type === 'image' || block.type === 'file')

/** The rest of it, as text. */
export const textBeside = (content: readonly ContentBlock[]): string =>
  contentText(content.filter(block => block.type !== 'image' && block.type !== 'file'))

/** The name of an attachment. Logs come from anywhere: it may lack one. */
export const attachmentName = ({ type, attachment }: AttachmentBlock): string =>
  (attachment as Partial<AttachmentBlock['attachment']> | undefined)?.name || type

/** The text of an answer without reasoning and calls. */
export function spokenText(content: readonly ContentBlock[]): string {
  return content.map(block => (block.type === 'text' ? block.text : '')).join(' ')
}

/** Who speaks in a message, in one word. */
export function speaker({ role, source }: Message): string {
  if (source.kind === 'tool') return 'tool'
  if (role === 'assistant') return 'agent'
  if (role === 'user' && source.kind !== 'user')
    return source.kind === 'plugin' ? (source.plugin ?? 'plugin') : source.kind
  return role
}

/** The argument that tells calls apart: the first one that is text. */
export function keyArgument(json: string): string {
  if (json.length > 50_000) return ''
  try {
    const values: unknown[] = Object.values(JSON.parse(json) as object)
    const value = values.find(each => typeof each === 'string')
    return value === undefined ? '' : value.length > 60 ? `${[...value].slice(0, 59).join('')}…` : value
  } catch {
    return ''
  }
}
