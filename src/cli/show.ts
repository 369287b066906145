/** `show`: a log for people: the conversation, what the model reads of it, or event by event. */
import type { ContentBlock, Message } from '../core/events.ts'
import { jsonText } from '../core/json.ts'
import { transcriptMarkdown } from '../format/markdown.ts'
import { isoTime } from '../format/markdown-text.ts'
import { eventLine } from '../format/write-log.ts'
import type { OpenedCommand } from './command.ts'
import { print } from './io.ts'
import type { Opened } from './open.ts'
import { brief, clean, eventWords, inLine, plainJson } from './text.ts'

export const show: OpenedCommand = async (opened, { messages, events, json }, io) => {
  await print(io.stdout, textOf(opened, { messages, events, json }))
}

function textOf(
  opened: Opened,
  { messages, events, json }: { readonly messages: boolean; readonly events: boolean; readonly json: boolean },
): Iterable<string> {
  const { session, log, closers } = opened
  if (messages) return json ? messagesJson(session.deriveMessages()) : messagesText(session.deriveMessages())
  if (events) return json ? eventsJson(opened) : eventsText(opened)
  if (!json) return transcriptMarkdown({ header: session.header, events: [...log.events, ...closers] })
  const facts = { header: session.header, surface: session.surface.nodes, messages: session.messages.length }
  return [`${plainJson(JSON.stringify(facts))}\n`]
}

function* messagesJson(messages: readonly Message[]): Generator<string> {
  let before = '['
  for (const message of messages) {
    yield before + plainJson(jsonText(message))
    before = ','
  }
  yield messages.length === 0 ? '[]\n' : ']\n'
}

function* messagesText(messages: readonly Message[]): Generator<string> {
  for (const [index, message] of messages.entries()) {
    const isTool = message.content.some(({ type }) => type === 'tool-result')
    yield `${index === 0 ? '' : '\n'}── ${index + 1} ${isTool ? 'tool' : inLine(message.role)} ──\n`
    for (const block of message.content) yield `${blockText(block)}\n`
  }
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return clean(block.text)
    case 'reasoning':
      return `[reasoning] ${clean(block.text)}`
    case 'tool-call':
      return `[call ${inLine(block.id)}] ${inLine(block.name)} ${clean(block.arguments)}`
    case 'tool-result': {
      const content = block.content.map(each => (each.type === 'tool-result' ? clean(jsonText(each)) : blockText(each)))
      return [inLine(`[${block.isError === true ? 'error' : 'result'} ${block.toolCallId}]`), ...content].join('\n')
    }
    case 'image': {
      const { attachmentId, name = attachmentId, mediaType, width, height } = block.attachment
      const offloaded = block.offloaded === true ? ', offloaded' : ''
      return inLine(`[image ${name}, ${mediaType}, ${width} × ${height}${offloaded}]`)
    }
    case 'file':
      return inLine(`[file ${block.attachment.name}, ${block.attachment.bytes} bytes]`)
    default:
      return clean(jsonText(block))
  }
}

function* eventsText({ log, closers }: Opened): Generator<string> {
  const width = String(log.events.length + closers.length).length
  for (const part of [log.events, closers]) {
    for (const event of part) {
      const { seq, time, type } = event
      yield `${`${String(seq).padStart(width)}  ${isoTime(time)}  ${brief(type, 80).padEnd(17)}  ${eventWords(event)}`.trimEnd()}\n`
    }
  }
}

function* eventsJson({ log, closers }: Opened): Generator<string> {
  for (const part of [log.events, closers]) for (const event of part) yield plainJson(eventLine(event))
}
