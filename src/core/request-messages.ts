/**
 * From derived messages to the list that is sent. Strict providers refuse a whole conversation over one unpaired call,
 * one reused id or one empty text; this is the one place where such histories are healed (SPEC A3). Histories this
 * library writes come out unchanged; only logs others wrote need it. The log is never touched.
 */
import type { ContentBlock, Message, ToolCallBlock, ToolResultBlock, ToolResultMessage } from './events.ts'
import { CallId, MessageId } from './ids.ts'
import { errorResultMessage } from './repair.ts'
import { isBlankText } from './stream.ts'
import { wellFormedBlock, wellFormedText } from './well-formed.ts'

/** One difference between what was derived and what is sent. `index` is the position in the derived list. */
export type RequestChange = {
  readonly kind:
    | 'orphan-result'
    | 'duplicate-result'
    | 'missing-result'
    | 'moved-result'
    | 'renamed-call'
    | 'empty-text'
    | 'empty-message'
    | 'malformed-text'
  readonly index: number
  readonly messageId: MessageId
  readonly callId?: CallId
}

export type RequestMessages = { readonly messages: readonly Message[]; readonly changes: readonly RequestChange[] }

/** A call the list contains, with the result that answers it. */
type Pair = {
  readonly call: ToolCallBlock
  answer: { readonly message: ToolResultMessage; readonly index: number } | null
}

/**
 * The messages to send for the derived `messages`, with a report of every change. Unchanged messages are the same
 * objects. In the result each tool call is answered exactly once, directly after its message; call ids are unique; no
 * text is empty or holds a lone surrogate.
 */
export function requestMessages(messages: Iterable<Message>): RequestMessages {
  const derived = [...messages]
  const changes: RequestChange[] = []
  const note = (kind: RequestChange['kind'], index: number, callId?: CallId) => {
    const messageId = (derived[index] as Message).id
    changes.push({ kind, index, messageId, ...(callId === undefined ? {} : { callId }) })
  }

  const pairs = pairCalls(derived, note)
  const used = new Set<string>()
  const sent: Message[] = []
  derived.forEach((message, index) => {
    if (answersCall(message)) return // sent with its call
    const cleaned = cleanBlocks(message, index, note)
    if (cleaned !== null) sendWithResults(cleaned, index, pairs.get(index) ?? [], used, sent, note)
  })
  return { messages: sent, changes }
}

type Note = (kind: RequestChange['kind'], index: number, callId?: CallId) => void

/** A message that answers a call, and nothing else; what a person quotes of one is no answer. */
function answersCall(message: Message): message is ToolResultMessage {
  const { source, content } = message
  const [block] = content
  return (
    source.kind === 'tool' &&
    content.length === 1 &&
    block?.type === 'tool-result' &&
    block.toolCallId === source['callId']
  )
}

/**
 * Finds for each call the first result after it. A result belongs to the nearest earlier message that calls its id, and
 * to the first call there that is not answered yet.
 */
function pairCalls(derived: readonly Message[], note: Note): ReadonlyMap<number, readonly Pair[]> {
  const byMessage = new Map<number, Pair[]>()
  const latest = new Map<CallId, readonly Pair[]>()
  derived.forEach((message, index) => {
    if (answersCall(message)) {
      const { callId } = message.source
      const called = latest.get(callId)
      const open = called?.find(pair => pair.answer === null)
      if (open !== undefined) open.answer = { message, index }
      else note(called === undefined ? 'orphan-result' : 'duplicate-result', index, callId)
    } else if (message.role === 'assistant') {
      const calls = message.content.filter(block => block.type === 'tool-call').map(call => ({ call, answer: null }))
      byMessage.set(index, calls)
      for (const { call } of calls) {
        const same = calls.filter(pair => pair.call.id === call.id)
        latest.set(call.id, same)
      }
    }
  })
  return byMessage
}

function sendWithResults(
  message: Exclude<Message, ToolResultMessage>,
  index: number,
  pairs: readonly Pair[],
  used: Set<string>,
  sent: Message[],
  note: Note,
): void {
  const ids = pairs.map(({ call }) => {
    const id = uniqueId(wellFormedText(call.id) || 'call', used)
    if (id !== call.id) note('renamed-call', index, call.id)
    return id
  })
  let position = 0
  const isFine = pairs.every(({ call }, at) => call.id === ids[at] && call.name !== '')
  const content = isFine
    ? message.content
    : message.content.map(block => {
        if (block.type !== 'tool-call') return block
        if (block.name === '') note('renamed-call', index, block.id)
        return { ...block, id: ids[position++] as CallId, name: block.name || 'unknown' }
      })
  sent.push(content === message.content ? message : { ...message, content })

  // Results stay in the order they were recorded in; those not directly after their message are pulled up to it.
  const recorded = pairs.map(({ call, answer }, at) => ({ call, answer, id: ids[at] as CallId }))
  recorded.sort((a, b) => (a.answer?.index ?? Infinity) - (b.answer?.index ?? Infinity))
  recorded.forEach(({ call, answer, id }, rank) => {
    if (answer === null) {
      note('missing-result', index, call.id)
      sent.push(errorResultMessage(MessageId(`missing-result-${id}-${index}`), id, MISSING_RESULT))
      return
    }
    if (answer.index !== index + 1 + rank) note('moved-result', answer.index, call.id)
    const result = cleanResult(answer.message, answer.index, note)
    sent.push(id === call.id ? result : renameResult(result, id))
  })
}

const MISSING_RESULT = 'No result was recorded for this call. Its outcome is unknown.'

function uniqueId(id: string, used: Set<string>): CallId {
  let unique = id
  for (let count = 2; used.has(unique); count += 1) unique = `${id}_${count}`
  used.add(unique)
  return CallId(unique)
}

function renameResult(message: ToolResultMessage, callId: CallId): ToolResultMessage {
  const [block] = message.content
  return { ...message, content: [{ ...block, toolCallId: callId }], source: { ...message.source, callId } }
}

/** The message without empty text; null when nothing is left of it. */
function cleanBlocks<M extends Message>(message: M, index: number, note: Note): M | null {
  const content = clean(message.content, index, note)
  if (content.length > 0) return content === message.content ? message : { ...message, content }
  note('empty-message', index)
  return null
}

function cleanResult(message: ToolResultMessage, index: number, note: Note): ToolResultMessage {
  const [block] = message.content
  const cleaned = cleanInner(block, index, note)
  return cleaned === block ? message : { ...message, content: [cleaned] }
}

/** Results inside results are left as they are: however deep it nests, this does not. */
function clean(content: readonly ContentBlock[], index: number, note: Note, isInner = false): readonly ContentBlock[] {
  let changed = false
  const result: ContentBlock[] = []
  for (const block of content) {
    if (isBlankText(block)) {
      note('empty-text', index)
      changed = true
      continue
    }
    const cleaned = block.type === 'tool-result' && !isInner ? cleanInner(block, index, note) : wellFormedBlock(block)
    if (cleaned !== block) {
      changed = true
      if (block.type !== 'tool-result') note('malformed-text', index)
    }
    result.push(cleaned)
  }
  return changed ? result : content
}

function cleanInner(block: ToolResultBlock, index: number, note: Note): ToolResultBlock {
  const content = clean(block.content, index, note, true)
  return content === block.content ? block : { ...block, content }
}
