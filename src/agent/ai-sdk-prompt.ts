/** Our messages as an AI SDK prompt (SPEC A9). Pure: the log stays as it is, whatever a provider can take. */
import type { AssistantMessage, ContentBlock, Message, ModelSource } from '../core/events.ts'
import { wellFormedText } from '../core/well-formed.ts'
import { defined, fieldOf } from './ai-sdk-fields.ts'
import type {
  AiSdkAssistantPart,
  AiSdkMessage,
  AiSdkProviderOptions,
  AiSdkTextPart,
  AiSdkToolCallPart,
} from './ai-sdk-types.ts'

/** A call as it is sent, by the id the log knows it under. */
type SentCalls = Map<string, { readonly id: string; readonly name: string }>

/** The prompt for a model of `provider`. Reasoning another provider made is left out: it is of no use to this one. */
export function promptOf(messages: readonly Message[], provider: string): AiSdkMessage[] {
  const calls: SentCalls = new Map()
  const prompt: AiSdkMessage[] = []
  for (const message of messages) {
    if (message.role === 'system') {
      const content = textOf(message.content)
      if (content !== '') prompt.push({ role: 'system', content })
    } else if (message.role === 'assistant') {
      const content = assistantParts(message, provider, calls)
      // Reasoning alone answers nothing, and providers refuse a message without text or calls.
      if (content.some(part => part.type !== 'reasoning')) prompt.push({ role: 'assistant', content })
    } else if (message.source.kind === 'tool') {
      const block = message.content[0]
      if (block?.type !== 'tool-result') continue
      const { id, name } = calls.get(block.toolCallId) ?? { id: block.toolCallId, name: 'unknown' }
      const output = {
        type: block.isError === true ? ('error-text' as const) : ('text' as const),
        value: textOf(block.content) || '(no output)',
      }
      const last = prompt.at(-1)
      const part = { type: 'tool-result' as const, toolCallId: id, toolName: name, output }
      if (last?.role === 'tool') last.content.push(part)
      else prompt.push({ role: 'tool', content: [part] })
    } else {
      const content = message.content.map(userPart).filter(part => part.text !== '')
      if (content.length > 0) prompt.push({ role: 'user', content })
    }
  }
  return prompt
}

const userPart = (block: ContentBlock): AiSdkTextPart => ({ type: 'text', text: blockText(block) })

const textOf = (content: readonly ContentBlock[]): string => content.map(blockText).filter(Boolean).join('\n')

/** Text of a block. Pictures and files have no bytes here: a placeholder says that there was one. */
function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
    case 'file':
      return `[${[block.type, block.attachment?.name].filter(Boolean).join(' ')}]`
    default:
      return ''
  }
}

/** Calls come last: providers refuse content that follows one. */
function assistantParts(
  { content, source }: AssistantMessage,
  provider: string,
  calls: SentCalls,
): AiSdkAssistantPart[] {
  const isOwn = source.provider === provider
  const parts: AiSdkAssistantPart[] = []
  const callParts: AiSdkToolCallPart[] = []
  content.forEach((block, index) => {
    const providerOptions = isOwn ? replayedOptions(source, content.length, index) : undefined
    const annotation = defined({ providerOptions })
    if (block.type === 'tool-call') {
      const call = { id: isOwn ? block.id : plainId(block.id, calls), name: plainName(block.name) }
      calls.set(block.id, call)
      const input = parsedInput(block.arguments)
      callParts.push({ type: 'tool-call', toolCallId: call.id, toolName: call.name, input, ...annotation })
    } else if (block.type === 'reasoning') {
      const says = block.text !== '' || providerOptions !== undefined
      if (isOwn && says) parts.push({ type: 'reasoning', text: block.text, ...annotation })
    } else {
      const text = blockText(block)
      if (text !== '') parts.push({ type: 'text', text, ...annotation })
    }
  })
  return [...parts, ...callParts]
}

/** What the provider wants back with the block at `index`: one entry for each block of the message. */
function replayedOptions(
  { replayState }: ModelSource,
  length: number,
  index: number,
): AiSdkProviderOptions | undefined {
  const blocks = fieldOf(replayState, 'blocks')
  const entry = fieldOf(blocks, 'length') === length ? fieldOf(blocks, String(index)) : null
  return typeof entry === 'object' && entry !== null ? (entry as AiSdkProviderOptions) : undefined
}

/** The id as it is, or one every provider takes: an id of another provider may have signs this one refuses. */
function plainId(id: string, calls: SentCalls): string {
  return /^[\w-]{1,64}$/.test(id) ? id : `call_${calls.size + 1}_${id.replace(/\W/g, '').slice(0, 40)}`
}

/** The name, or the nearest one providers take: one odd name of a model would have every later request refused. */
const plainName = (name: string): string => name.replace(/[^\w-]/g, '_').slice(0, 64) || 'unknown'

/** Arguments as the object providers demand; text that is none is sent under a name that says so. */
function parsedInput(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    // A lone surrogate may hide in an escape, and some providers refuse the whole request over it.
    const wellFormed = (_key: string, value: unknown) => (typeof value === 'string' ? wellFormedText(value) : value)
    const input: unknown = JSON.parse(text, wellFormed)
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input
  } catch {
    // Not JSON: sent as text below.
  }
  return { invalid_arguments: wellFormedText(text) }
}
