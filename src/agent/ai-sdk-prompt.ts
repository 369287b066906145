/** Our messages as an AI SDK prompt (SPEC A9). Pure: the log stays as it is, whatever a provider can take. */
import type { AssistantMessage, ContentBlock, Message, ModelSource, ToolResultBlock } from '../core/events.ts'
import { wellFormedText } from '../core/well-formed.ts'
import { type Attachments, base64, blockText, type Shown, shownBlock, shownResult } from './ai-sdk-attachments.ts'
import { defined, fieldOf } from './ai-sdk-fields.ts'
import type {
  AiSdkAssistantPart,
  AiSdkFileData,
  AiSdkFilePart,
  AiSdkLanguageModel,
  AiSdkMessage,
  AiSdkProviderOptions,
  AiSdkTextPart,
  AiSdkToolCallPart,
  AiSdkToolResultContent,
  AiSdkToolResultPart,
} from './ai-sdk-types.ts'

export type PromptOptions = {
  /** The bytes of what the messages show. */
  readonly attachments?: Attachments
  readonly version?: Version
  /** The model speaks the chat-completions protocol, or one made after it. */
  readonly isChat?: boolean
  /** Results of tools may hold images; where not, they follow in a message of their own. */
  readonly imagesInResults?: boolean
}

/** A call as it is sent, by the id the log knows it under. */
type SentCalls = Map<string, { readonly id: string; readonly name: string }>

type Version = AiSdkLanguageModel['specificationVersion']
type UserPart = AiSdkTextPart | AiSdkFilePart
type ShownBytes = Extract<Shown, { type: 'bytes' }>

/**
 * The prompt for a model of `provider`, as the log names it. Reasoning another provider made is left out: it is of no use
 * to this one.
 */
export function promptOf(
  messages: readonly Message[],
  provider: string,
  { attachments = new Map(), version = 'v3', isChat = false, imagesInResults = true }: PromptOptions = {},
): AiSdkMessage[] {
  const calls: SentCalls = new Map()
  const prompt: AiSdkMessage[] = []
  const replay = isChat && messages.some(message => isOwnReasoning(message, provider)) ? emptyReasoning : undefined
  /** Images of results that follow them: not before the last result, since nothing may stand between those. */
  let following: UserPart[] = []
  const sendFollowing = (): void => {
    if (following.length > 0) prompt.push({ role: 'user', content: following })
    following = []
  }
  for (const message of messages) {
    const isResult = message.role === 'user' && message.source.kind === 'tool'
    if (!isResult) sendFollowing()
    if (message.role === 'system') {
      const content = textOf(message.content)
      if (content !== '') prompt.push({ role: 'system', content })
    } else if (message.role === 'assistant') {
      const content = assistantParts(message, provider, calls)
      // Reasoning alone answers nothing, and providers refuse a message without text or calls.
      if (!content.some(part => part.type !== 'reasoning')) continue
      const isMissing = content.some(isCall) && !content.some(part => part.type === 'reasoning')
      const providerOptions = isMissing ? replay : undefined
      prompt.push(defined({ role: 'assistant' as const, content, providerOptions }))
    } else if (isResult) {
      const block = message.content[0]
      if (block?.type !== 'tool-result') continue
      const call = calls.get(block.toolCallId) ?? { id: block.toolCallId, name: 'unknown' }
      const shown = block.content.map(each => shownResult(each, attachments))
      const images = shown.filter(each => each.type === 'bytes')
      // Only the output that is an error says so: what comes with it then follows.
      const isInside = images.length > 0 && imagesInResults && block.isError !== true
      const output = isInside ? contentOutput(shown, version) : textOutput(block, shown)
      if (!isInside) following.push(...images.flatMap(image => followingParts(image, call.name, version)))
      const part = { type: 'tool-result' as const, toolCallId: call.id, toolName: call.name, output }
      const last = prompt.at(-1)
      if (last?.role === 'tool') last.content.push(part)
      else prompt.push({ role: 'tool', content: [part] })
    } else {
      const shown = message.content.map(block => shownBlock(block, attachments))
      const content = shown
        .map(each => userPart(each, version))
        .filter(part => part.type !== 'text' || part.text !== '')
      if (content.length > 0) prompt.push({ role: 'user', content })
    }
  }
  sendFollowing()
  return prompt
}

/**
 * Providers that want their reasoning back refuse a conversation in which one message with calls has none; an empty one
 * will do. Only those that made some are sent it.
 */
const emptyReasoning: AiSdkProviderOptions = { openaiCompatible: { reasoning_content: '' } }

const isOwnReasoning = ({ role, source, content }: Message, provider: string): boolean =>
  role === 'assistant' &&
  source['provider'] === provider &&
  content.some(block => block.type === 'reasoning' && block.text !== '')

const isCall = (part: AiSdkAssistantPart): boolean => part.type === 'tool-call'

const textOf = (content: readonly ContentBlock[]): string => joined(content.map(block => blockText(block)))
const joined = (texts: readonly string[]): string => texts.filter(Boolean).join('\n')

const userPart = (shown: Shown, version: Version): UserPart =>
  shown.type === 'text' ? { type: 'text', text: shown.text } : filePart(shown, version)

function filePart({ mediaType, name, bytes }: ShownBytes, version: Version): AiSdkFilePart {
  const data = (version === 'v4' ? { type: 'data', data: bytes } : bytes) as AiSdkFileData
  return defined({ type: 'file' as const, mediaType, data, filename: name || undefined })
}

const label = ({ name }: ShownBytes): string => ['image', name].filter(Boolean).join(' ')

function textOutput({ isError }: ToolResultBlock, shown: readonly Shown[]): AiSdkToolResultPart['output'] {
  const texts = shown.map(each => (each.type === 'text' ? each.text : `[${label(each)}, in the next message]`))
  return { type: isError === true ? 'error-text' : 'text', value: joined(texts) || '(no output)' }
}

function contentOutput(shown: readonly Shown[], version: Version): AiSdkToolResultPart['output'] {
  const parts = shown.map(each => (each.type === 'text' ? each : resultImage(each, version)))
  return { type: 'content', value: parts.filter(part => part.type !== 'text' || part.text !== '') }
}

function resultImage({ mediaType, bytes }: ShownBytes, version: Version): AiSdkToolResultContent {
  const data = base64(bytes)
  const part = {
    v2: { type: 'media', mediaType, data },
    v3: { type: 'image-data', mediaType, data },
    v4: { type: 'file', mediaType, data: { type: 'data', data } },
  }[version]
  return part as unknown as AiSdkToolResultContent
}

const followingParts = (image: ShownBytes, toolName: string, version: Version): UserPart[] => [
  { type: 'text', text: `The ${label(image)} that ${toolName} returned:` },
  filePart(image, version),
]

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
