/** For tests: what a client makes of a response, put together from its deltas. */
import { fieldsOf } from './chat-request.ts'
import { type EmbeddedResponse, respond } from './respond.ts'

export type Collected = {
  readonly status: number
  readonly code: unknown
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly finish: unknown
  readonly usage: unknown
  readonly end: string
}

/** Assembles a streamed or whole answer, or an error. */
export function collect(response: EmbeddedResponse): Collected {
  const chunks = 'pieces' in response ? response.pieces.map(piece => fieldsOf(piece.data)) : [fieldsOf(response.json)]
  const choices = chunks.map(chunk => fieldsOf(Array.isArray(chunk['choices']) ? chunk['choices'][0] : undefined))
  const deltas = choices.map(choice => fieldsOf(choice['delta'] ?? choice['message']))
  const joined = (key: string): string =>
    deltas
      .map(delta => delta[key])
      .filter(part => typeof part === 'string')
      .join('')
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const delta of deltas) {
    const fragments: readonly unknown[] = Array.isArray(delta['tool_calls']) ? delta['tool_calls'] : []
    fragments.map(fieldsOf).forEach(({ index, id, function: called }, position) => {
      const at = typeof index === 'number' ? index : position
      const { name, arguments: json } = fieldsOf(called)
      const call = (calls[at] ??= { id: '', name: '', arguments: '' })
      if (typeof id === 'string') call.id += id
      if (typeof name === 'string') call.name += name
      if (typeof json === 'string') call.arguments += json
    })
  }
  return {
    status: response.status,
    code: 'json' in response ? fieldsOf(fieldsOf(response.json)['error'])['code'] : undefined,
    text: joined('content'),
    reasoning: joined('reasoning_content'),
    calls,
    finish: choices.map(choice => choice['finish_reason']).find(reason => typeof reason === 'string'),
    usage: chunks.map(chunk => chunk['usage']).findLast(usage => usage),
    end: 'end' in response ? response.end : 'json',
  }
}

export const toolNames = ['write_note', 'search_notes', 'set_theme', 'delete_note'] as const

/** A streaming request with these messages and, unless said otherwise, all the demo's tools. */
export function bodyOf(messages: readonly object[], tools: readonly string[] = toolNames): object {
  const offered = tools.map(name => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: {} } },
  }))
  return { model: 'embedded-small', stream: true, messages, ...(offered.length > 0 ? { tools: offered } : {}) }
}

export type Conversation = {
  /** Everything said so far, in the wire's shape; free to be changed between prompts. */
  readonly messages: object[]
  readonly say: (content: string) => Collected[]
}

/** A conversation with the provider: each `say` sends the whole history, runs the tools and goes on until it is answered. */
export function converse(run: (name: string, args: unknown) => string, tools?: readonly string[]): Conversation {
  const messages: object[] = []
  const say = (content: string): Collected[] => {
    messages.push({ role: 'user', content })
    const answers: Collected[] = []
    for (let step = 0; step < 5; step++) {
      const answer = collect(respond({ body: bodyOf(messages, tools) }))
      answers.push(answer)
      const calls = answer.calls.map(call => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.arguments },
      }))
      messages.push({ role: 'assistant', content: answer.text, ...(calls.length > 0 ? { tool_calls: calls } : {}) })
      if (calls.length === 0) break
      for (const call of answer.calls)
        messages.push({ role: 'tool', tool_call_id: call.id, content: run(call.name, JSON.parse(call.arguments)) })
    }
    return answers
  }
  return { messages, say }
}
