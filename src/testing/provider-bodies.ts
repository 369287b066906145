/** For this library's own tests: what strict providers are asked, as simple as can be. Thoughts are not sent. */
import type { ContentBlock, Message } from '../core/events.ts'
import { openAiBody } from '../core/openai-body.ts'

/** For `/v1/chat/completions`. As with every adapter, what a model wrote for arguments is sent as JSON in any case. */
export const chatBody = (messages: readonly Message[]): object =>
  openAiBody(
    messages.map(message => {
      const content = message.content.map(block =>
        block.type === 'tool-call' ? { ...block, arguments: JSON.stringify(argumentsOf(block.arguments)) } : block,
      )
      return { ...message, content }
    }),
  )

/** For `/v1/messages`. Calls come last in their message. */
export function anthropicBody(messages: readonly Message[]): object {
  const textsOf = (blocks: readonly ContentBlock[]): object[] =>
    blocks.flatMap(block => (block.type === 'text' ? [{ type: 'text', text: block.text }] : []))
  const partsOf = (block: ContentBlock): object[] => {
    if (block.type !== 'tool-result') return textsOf([block])
    const said = textsOf(block.content)
    return [{ type: 'tool_result', tool_use_id: block.toolCallId, ...(said.length === 0 ? {} : { content: said }) }]
  }
  const callsOf = (block: ContentBlock): object[] =>
    block.type === 'tool-call'
      ? [{ type: 'tool_use', id: block.id, name: block.name, input: argumentsOf(block.arguments) }]
      : []
  const system = messages.filter(({ role }) => role === 'system').flatMap(({ content }) => textsOf(content))
  return {
    ...{ model: 'm', max_tokens: 9, ...(system.length === 0 ? {} : { system }) },
    messages: messages.flatMap(({ role, content }): object[] => {
      const parts = [...content.flatMap(partsOf), ...content.flatMap(callsOf)]
      return role === 'system' || parts.length === 0 ? [] : [{ role, content: parts }]
    }),
  }
}

/** An object, whatever the model wrote. */
function argumentsOf(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch {
    return {}
  }
}
