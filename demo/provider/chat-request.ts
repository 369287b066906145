/** What the embedded provider reads of a request: a decoder from the wire shape to the few facts the script needs. */

export type Said = {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly text: string
  readonly images: number
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  /** The call a tool message answers. */
  readonly callId: string
}

export type ChatRequest = {
  readonly model: string
  readonly history: readonly Said[]
  /** Names of the tools offered. */
  readonly tools: ReadonlySet<string>
  readonly isStream: boolean
  readonly includesUsage: boolean
}

type Fields = Readonly<Record<string, unknown>>

/** A value as an object; anything else reads as one without fields. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Decodes a body. Shape errors are the validator's to report: here a wrong field reads as an absent one. */
export function readChatRequest(body: unknown): ChatRequest {
  const { model, messages, tools, stream, stream_options } = fieldsOf(body)
  return {
    model: textOf(model),
    history: listOf(messages).map(readMessage),
    tools: new Set(listOf(tools).map(tool => textOf(fieldsOf(fieldsOf(tool)['function'])['name']))),
    isStream: stream === true,
    includesUsage: fieldsOf(stream_options)['include_usage'] === true,
  }
}

function readMessage(message: unknown): Said {
  const { role, content, tool_calls, tool_call_id } = fieldsOf(message)
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).map(fieldsOf)
  return {
    role: role === 'assistant' || role === 'user' || role === 'tool' ? role : 'system',
    text: parts
      .map(part => textOf(part['text']))
      .join(' ')
      .trim(),
    images: parts.filter(part => part['type'] === 'image_url').length,
    calls: listOf(tool_calls).map(call => {
      const { id, function: called } = fieldsOf(call)
      return {
        id: textOf(id),
        name: textOf(fieldsOf(called)['name']),
        arguments: textOf(fieldsOf(called)['arguments']),
      }
    }),
    callId: textOf(tool_call_id),
  }
}

/** Tokens by the rule of thumb of four characters each; an image costs what a small one does. */
export function estimateTokens(history: readonly Said[]): number {
  const characters = history.reduce(
    (sum, { text, calls }) =>
      sum + text.length + calls.reduce((inner, call) => inner + call.name.length + call.arguments.length, 0),
    0,
  )
  const images = history.reduce((sum, said) => sum + said.images, 0)
  return Math.ceil(characters / 4) + images * 85 + history.length * 4
}

/** A number from text, the same every time (FNV-1a). Ids and pacing come from it in place of randomness. */
export function hashText(text: string, seed = 0x811c9dc5): number {
  let hash = seed
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}

/** A number from everything said so far, so that each point of a conversation has its own. */
export function hashHistory(history: readonly Said[]): number {
  return history.reduce(
    (hash, { role, text, calls, callId }) =>
      hashText([role, text, callId, ...calls.flatMap(call => [call.id, call.name, call.arguments])].join('\n'), hash),
    history.length,
  )
}
