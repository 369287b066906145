/** A request as two providers get it, for the validators. */
import type { ContentBlock, Message } from 'palimpsest/core'

const textsOf = (blocks: readonly ContentBlock[]): readonly string[] =>
  blocks.flatMap(block => (block.type === 'text' ? [block.text] : []))

export function openAiBody(messages: readonly Message[]): object {
  return {
    model: 'm',
    messages: messages.flatMap((message): object[] => {
      const [first] = message.content
      const content = textsOf(message.content).map(text => ({ type: 'text', text }))
      if (message.source.kind === 'tool' && first?.type === 'tool-result') {
        return [{ role: 'tool', tool_call_id: first.toolCallId, content: textsOf(first.content).join('\n') }]
      }
      if (message.role !== 'assistant') return [{ role: message.role, content }]
      const tool_calls = message.content.flatMap(block =>
        block.type !== 'tool-call'
          ? []
          : [{ id: block.id, type: 'function', function: { name: block.name, arguments: block.arguments } }],
      )
      if (content.length === 0 && tool_calls.length === 0) return []
      const said = content.length === 0 ? null : content
      return [{ role: 'assistant', content: said, ...(tool_calls.length > 0 && { tool_calls }) }]
    }),
  }
}

export function anthropicBody(messages: readonly Message[]): object {
  return {
    model: 'm',
    max_tokens: 9,
    system: textsOf(messages.find(({ role }) => role === 'system')?.content ?? []).join('\n') || undefined,
    messages: messages.flatMap((message): object[] => {
      if (message.role === 'system') return []
      const content = message.content.flatMap((block): object[] => {
        if (block.type === 'text') return [{ type: 'text', text: block.text }]
        if (block.type === 'tool-call') {
          return [{ type: 'tool_use', id: block.id, name: block.name, input: JSON.parse(block.arguments) as unknown }]
        }
        if (block.type !== 'tool-result') return []
        const said = textsOf(block.content).map(text => ({ type: 'text', text }))
        return [{ type: 'tool_result', tool_use_id: block.toolCallId, content: said }]
      })
      // What was only thought is not sent without a signature.
      return content.length === 0 ? [] : [{ role: message.role === 'assistant' ? 'assistant' : 'user', content }]
    }),
  }
}
