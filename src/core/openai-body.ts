/** For tests only: what a strict provider is asked. */
import type { ContentBlock, Message } from './events.ts'

/** A request body for `/chat/completions`, as simple as can be; thoughts are not sent. */
export function openAiBody(messages: readonly Message[]): object {
  const textsOf = (blocks: readonly ContentBlock[]): string[] =>
    blocks.flatMap(block => (block.type === 'text' ? [block.text] : []))
  return {
    model: 'demo-chat',
    messages: messages.flatMap((message): object[] => {
      const [first] = message.content
      const parts = textsOf(message.content).map(text => ({ type: 'text', text }))
      if (message.source.kind === 'tool' && first?.type === 'tool-result') {
        return [{ role: 'tool', tool_call_id: first.toolCallId, content: textsOf(first.content).join('\n') }]
      }
      if (message.role !== 'assistant') return [{ role: message.role, content: parts }]
      const tool_calls = message.content.flatMap(block =>
        block.type !== 'tool-call'
          ? []
          : [{ id: block.id, type: 'function', function: { name: block.name, arguments: block.arguments } }],
      )
      if (parts.length === 0 && tool_calls.length === 0) return []
      return [
        { role: 'assistant', content: parts.length === 0 ? null : parts, ...(tool_calls.length > 0 && { tool_calls }) },
      ]
    }),
  }
}
