/** Where events of version 2 hold messages, and what version 3 asks of those: known blocks, known sources, new names. */
import type { StoredEvent } from './stored.ts'

type Members = Readonly<Record<string, unknown>>

/** A message inside a payload, and its path there. */
export type MessageSlot = { readonly message: Members; readonly path: string }

/** What is wrong in a message, and where in the payload. */
export type MessageProblem = { readonly what: string; readonly path: string }

/** All messages an event holds; what is not even an object is none. */
export function messageSlots({ type, data }: StoredEvent): readonly MessageSlot[] {
  if (!isMembers(data)) return []
  switch (type) {
    case 'user/message':
      return [{ message: data, path: '$' }]
    case 'assistant/message':
    case 'tool/result':
      return isMembers(data['message']) ? [{ message: data['message'], path: '$.message' }] : []
    case 'agent/inbox/spliced':
      return slotsOf(data['inserted'], '$.inserted')
    case 'session/title-llm-request':
      return slotsOf(data['messages'], '$.messages')
    default:
      return []
  }
}

function slotsOf(list: unknown, path: string): readonly MessageSlot[] {
  if (!Array.isArray(list)) return []
  const slots: MessageSlot[] = []
  list.forEach((message: unknown, position) => {
    if (isMembers(message)) slots.push({ message, path: `${path}[${position}]` })
  })
  return slots
}

const BLOCKS: ReadonlySet<unknown> = new Set(['text', 'reasoning', 'image', 'file', 'tool-call', 'tool-result'])

const SOURCES: ReadonlySet<unknown> = new Set([
  'user',
  'plugin',
  'model',
  'tool',
  'agent-instructions',
  'session-reference',
  'team-message',
  'goal',
  'skill-invocation',
  'skill-catalog',
  'coordinator',
  'subagent-report',
  'subagent-settled',
  'webhook',
  'agent-message',
])

/** The first block or source of the messages that version 3 does not know; null when it knows all. */
export function unknownKind(slots: readonly MessageSlot[]): MessageProblem | null {
  for (const { message, path } of slots) {
    const { source, content } = message
    const kind = isMembers(source) ? source['kind'] : undefined
    if (!SOURCES.has(kind)) return { what: `has ${nameOf(kind)} as the kind of a source`, path: `${path}.source.kind` }
    const problem = unknownBlock(content, `${path}.content`)
    if (problem !== null) return problem
  }
  return null
}

/** Results hold blocks again, as deep as whoever wrote them liked: the walk keeps its own stack. */
function unknownBlock(root: unknown, at: string): MessageProblem | null {
  const pending = [{ content: root, path: at }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { content, path } = next
    if (!Array.isArray(content)) return { what: 'has something else than a list of blocks', path }
    for (let position = content.length - 1; position >= 0; position -= 1) {
      const block: unknown = content[position]
      const type = isMembers(block) ? block['type'] : undefined
      if (!BLOCKS.has(type)) return { what: `has ${nameOf(type)} as a block`, path: `${path}[${position}].type` }
      if (isMembers(block) && type === 'tool-result') {
        pending.push({ content: block['content'], path: `${path}[${position}].content` })
      }
    }
  }
  return null
}

const nameOf = (kind: unknown): string =>
  typeof kind === 'string' ? `the unknown ${JSON.stringify(kind.slice(0, 40))}` : 'nothing'

/** The event with the code tool's plugin under its new name where it is the source of what a user message says. */
export function withRenamedSources(event: StoredEvent): StoredEvent {
  const { type, data } = event
  if (!isMembers(data)) return event
  const renamed =
    type === 'user/message'
      ? renamedMessage(data)
      : type === 'agent/inbox/spliced'
        ? withRenamedList(data, 'inserted')
        : type === 'session/title-llm-request'
          ? withRenamedList(data, 'messages')
          : data
  return renamed === data ? event : { ...event, data: renamed }
}

function withRenamedList(data: Members, name: string): Members {
  const list = data[name]
  if (!Array.isArray(list)) return data
  const renamed = list.map((message: unknown) => (isMembers(message) ? renamedMessage(message) : message))
  return renamed.every((message, position) => message === list[position]) ? data : { ...data, [name]: renamed }
}

function renamedMessage(message: Members): Members {
  const { source } = message
  if (!isMembers(source) || source['kind'] !== 'plugin' || source['plugin'] !== 'tools-code-mode') return message
  return { ...message, source: { ...source, plugin: 'tools-ptc' } }
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
