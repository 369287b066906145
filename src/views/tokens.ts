/**
 * How many tokens a message takes, roughly: a heuristic without a tokenizer, for proportions on a page (SPEC V9). Never
 * for a limit: the provider's own counts decide those.
 */
import type { Message } from '../core/events.ts'
import { jsonText } from '../core/json.ts'

/** UTF-16 code units of one token, about. */
const UNITS = 4
/** Tokens around each block and each message. */
const FRAME = 4

/**
 * Estimated tokens of a message: a quarter of the UTF-16 length of what each block says, rounded up, and 4 for each block
 * and for the message. A tool call says its name and its arguments, a tool result its blocks, any other block its JSON.
 */
export function estimateTokens(message: Message): number {
  let tokens = FRAME
  const pending: unknown[] = [...message.content]
  // Not by recursion: results may hold results to any depth.
  for (let block = pending.pop(); block !== undefined; block = pending.pop()) {
    const { type, text, name, arguments: args, content } = block as Record<string, unknown>
    tokens += FRAME
    if ((type === 'text' || type === 'reasoning') && typeof text === 'string') {
      tokens += Math.ceil(text.length / UNITS)
    } else if (type === 'tool-call' && typeof name === 'string' && typeof args === 'string') {
      tokens += Math.ceil((name.length + args.length) / UNITS)
    } else if (type === 'tool-result' && Array.isArray(content)) {
      for (const each of content as unknown[]) if (typeof each === 'object' && each !== null) pending.push(each)
    } else {
      tokens += Math.ceil(jsonText(block).length / UNITS)
    }
  }
  return tokens
}
