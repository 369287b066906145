/** Messages as an OpenAI-compatible request carries them: what a recorded request is compared with. */
import type { Block, Message, WireMessage } from './demo.ts'

const textOf = (blocks: readonly Block[], type: string): string =>
  blocks.map(block => (block.type === type ? (block.text ?? '') : '')).join('')

export function toWire({ role, content }: Message): WireMessage {
  const [first] = content
  if (first?.type === 'tool-result') {
    return { role: 'tool', tool_call_id: first.toolCallId, content: textOf(first.content ?? [], 'text') }
  }
  if (role !== 'assistant') return { role, content: textOf(content, 'text') }
  const calls = content.flatMap(({ type, id, name, arguments: json }) =>
    type === 'tool-call' ? [{ id, type: 'function', function: { name, arguments: json } }] : [],
  )
  const text = textOf(content, 'text')
  const reasoning = textOf(content, 'reasoning')
  return {
    role,
    content: calls.length > 0 && text === '' ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
}
