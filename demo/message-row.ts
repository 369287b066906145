/** Rows of the conversation, one per thing that was said. */
import type { AssistantMessage, ContentBlock, EventOf, StreamRecord } from 'palimpsest/core'
import { h, seqHandle } from './dom.ts'
import { longText } from './long-text.ts'
import { contentText, ToolCard } from './tool-card.ts'

/** The frame of a row: who, and what. */
export function row(kind: string, who: string, seq: number | null, ...body: readonly Node[]): HTMLElement {
  const head = h('header', { class: 'who' }, h('span', {}, who))
  // An answer that is arriving has no event yet; its place is kept, so that nothing moves when it has.
  head.append(' ', seq === null ? h('span', { class: 'seq-space' }) : seqHandle(seq))
  const attributes = seq === null ? {} : { 'data-seq': String(seq) }
  return h('article', { class: `row ${kind}`, ...attributes }, head, h('div', { class: 'body' }, ...body))
}

/** Reasoning, folded away. */
export function reasoning(text: Node, open = false): HTMLDetailsElement {
  return h('details', { class: 'reasoning', open }, h('summary', {}, 'Reasoning'), text)
}

/** What a person or a plugin said. */
export function userRow({ seq, data }: EventOf<'user/message'>): HTMLElement {
  const { kind, plugin } = data.source
  const who = kind === 'user' ? 'You' : (plugin ?? kind)
  return row(kind === 'user' ? 'user' : 'plugin', who, seq, longText(contentText(data.content)))
}

/** The system prompt, folded; an empty one has no row. */
export function systemRow({ seq, data }: EventOf<'system/message'>): HTMLElement | null {
  const text = contentText(data.message.content)
  if (text === '') return null
  return row('system', 'System', seq, h('details', {}, h('summary', {}, 'Instructions for the model'), longText(text)))
}

/** An answer; its tool calls get a card each, told to `onCard`. */
export function assistantRow(
  { seq, data }: EventOf<'assistant/message'>,
  onCard: (callId: string, card: ToolCard) => void,
): HTMLElement {
  const body = data.message.content.map(block => answerBlock(block, onCard))
  if (data.interrupted === true) body.push(h('p', { class: 'remark' }, 'The answer ends here: it was stopped.'))
  return row('agent', 'Agent', seq, ...body)
}

function answerBlock(block: ContentBlock, onCard: (callId: string, card: ToolCard) => void): HTMLElement {
  if (block.type === 'reasoning') return reasoning(longText(block.text))
  if (block.type !== 'tool-call') return longText(contentText([block]))
  const card = new ToolCard(block.name, block.arguments)
  onCard(block.id, card)
  return card.element
}

/** What had arrived of an answer that failed; null when that is nothing. It is no part of the conversation. */
export function attemptRow({ seq, data }: EventOf<'assistant/attempt'>): HTMLElement | null {
  const text = streamText(data.stream)
  if (text.trim() === '') return null
  const summary = h('summary', {}, 'What had arrived before it failed (recorded, not sent to the model)')
  return row('attempt', 'Agent', seq, h('details', { open: true }, summary, longText(text)))
}

function streamText(stream: readonly StreamRecord[]): string {
  return stream.map(record => (record.type === 'text-chunks' ? record.texts.join('') : '')).join('')
}

/** The text of an answer without reasoning and calls, for reading aloud. */
export function spokenText({ content }: AssistantMessage): string {
  return content.map(block => (block.type === 'text' ? block.text : '')).join(' ')
}
