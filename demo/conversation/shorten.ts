/** Rewriting what the model reads: the longest message by its beginning. The log keeps the message itself. */
import type { ClientSession } from 'palimpsest'
import { MessageId, type UserMessage, wellFormedText } from 'palimpsest/core'
import { newId } from '../sessions/new-id.ts'
import { contentText } from './content.ts'

const KEPT = 1_500

/** Has a shortened version stand on the surface for the longest user message. */
export async function shortenLongest(session: ClientSession): Promise<void> {
  const nodes = (await session.readSurface()).nodes.flatMap(({ seq, message }) =>
    message?.role === 'user' && message.source.kind !== 'tool' ? [{ seq, text: contentText(message.content) }] : [],
  )
  const longest = nodes.reduce((a, b) => (b.text.length > a.text.length ? b : a), nodes[0] as (typeof nodes)[number])
  const left = longest.text.length - KEPT
  if (left <= 0) return
  const text = `${wellFormedText(longest.text.slice(0, KEPT))}\n[… ${left} more characters, left out for the model]`
  const message: UserMessage = {
    id: MessageId(newId()),
    role: 'user',
    content: [{ type: 'text', text }],
    source: { kind: 'plugin', plugin: 'shortened' },
  }
  const { seq } = longest
  await session.append('user/message', message, {
    surfaceOp: { op: 'replace', startSeq: seq, endSeq: seq },
    sourceEventSeqs: [seq],
  })
}
