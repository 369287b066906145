/** What the embedded provider reads of a request: a decoder from the wire shape to the few facts the script needs. */

export type Said = {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** What was said, without what is attached to it. */
  readonly text: string
  readonly attached: readonly Attached[]
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  /** The call a tool message answers. */
  readonly callId: string
}

/** A file that came along with a message, as far as the wire tells. */
export type Attached = {
  readonly kind: 'image' | 'file'
  /** `notes.txt`; for an image, which comes without its name, its type: `PNG`. */
  readonly name: string
  /** In words; empty where nothing says it. */
  readonly size: string
  /** Of a text file. */
  readonly text: string
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
  const read = parts.map(part => ({ part, attached: role === 'user' ? readAttached(part) : null }))
  return {
    role: role === 'assistant' || role === 'user' || role === 'tool' ? role : 'system',
    text: read
      .map(({ part, attached }) => (attached === null ? textOf(part['text']) : ''))
      .join(' ')
      .trim(),
    attached: read.flatMap(({ attached }) => attached ?? []),
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

/** A text file is sent as text between fences, and what cannot be sent as a note about it. */
const quoted = /^File ([^\n]*):\n\n(`{3,})\n([^]*?)\n?\2$/
const placeholder = /^\[(image|file) ([^\n]*?)(?:, (\d[\d.]* (?:bytes?|kB|MB)))?(?:, ([^,\n]*))?\]$/

function readAttached(part: Fields): Attached | null {
  if (part['type'] === 'image_url') {
    const [, type = '', data = ''] =
      /^data:image\/(\w+);base64,(.*)$/.exec(textOf(fieldsOf(part['image_url'])['url'])) ?? []
    return { kind: 'image', name: type.toUpperCase(), size: sizeOf(base64Length(data)), text: '' }
  }
  if (part['type'] === 'file') {
    const { filename, file_data } = fieldsOf(part['file'])
    const data = textOf(file_data).replace(/^[^,]*,/, '')
    return { kind: 'file', name: textOf(filename) || 'a document', size: sizeOf(base64Length(data)), text: '' }
  }
  const text = textOf(part['text'])
  const [, name, , content = ''] = quoted.exec(text) ?? []
  if (name !== undefined) {
    return { kind: 'file', name, size: sizeOf(new TextEncoder().encode(content).length), text: content }
  }
  const [, kind, label = '', size = ''] = placeholder.exec(text) ?? []
  return kind === undefined ? null : { kind: kind === 'image' ? 'image' : 'file', name: label, size, text: '' }
}

const base64Length = (data: string): number => Math.floor((data.replace(/=+$/, '').length * 3) / 4)

function sizeOf(count: number): string {
  if (count < 1_000) return count === 1 ? '1 byte' : `${count} bytes`
  return count < 1_000_000 ? `${(count / 1_000).toFixed(1)} kB` : `${(count / 1_000_000).toFixed(1)} MB`
}

/** What is said after an interruption: it asks for nothing new. */
const continuation = /^The turn before was cut off before it was finished\b/

/** Where the prompt is that is to be answered: the last thing a person said; −1 when there is none. */
export const promptIndex = (history: readonly Said[]): number =>
  history.findLastIndex(({ role, text }) => role === 'user' && !continuation.test(text))

/** True when the prompt was answered in part, and the answer is to go on. */
export const isContinued = (history: readonly Said[]): boolean =>
  history.findLastIndex(({ role }) => role === 'user') > promptIndex(history)

/** Tokens by the rule of thumb of four characters each; an image costs what a small one does. */
export function estimateTokens(history: readonly Said[]): number {
  const characters = history.reduce(
    (sum, { text, attached, calls }) =>
      sum +
      text.length +
      attached.reduce((inner, each) => inner + each.text.length, 0) +
      calls.reduce((inner, call) => inner + call.name.length + call.arguments.length, 0),
    0,
  )
  const images = history.reduce((sum, said) => sum + said.attached.filter(each => each.kind === 'image').length, 0)
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
