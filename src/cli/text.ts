/** Texts for people, one line each. What a log holds must not reach the terminal as a command. */
import type { ContentBlock, SessionEvent } from '../core/events.ts'
import { jsonText } from '../core/json.ts'
import { projectMessage } from '../core/messages.ts'
import { wellFormedText } from '../core/well-formed.ts'

/** A text of several lines without control characters but newlines and tabs. */
export const clean = (text: string): string => wellFormedText(text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, ''))

/** The text in one line without control characters; what ends lines or moves to a column is a space. */
export const inLine = (text: string): string => clean(text.replace(/[\t-\r\x85\u2028\u2029]/g, ' '))

/** JSON that means the same, with the control characters escaped that JSON may hold as they are. */
export const plainJson = (json: string): string =>
  json.replace(/[\x7f-\x9f]/g, char => `\\u00${char.charCodeAt(0).toString(16)}`)

/** The text in one line of at most `length` characters. */
export function brief(text: string, length: number): string {
  // Twice as much is looked at as is shown: the rest may be long.
  const line = inLine(text.slice(0, 2 * length))
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > length || text.length > 2 * length ? `${line.slice(0, length - 1).trimEnd()}…` : line
}

/** `1 event`, `2 events`. */
export const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`

/** Two columns, the first as wide as it must be. */
export function columns(rows: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`.trimEnd() + '\n').join('')
}

export function bytesInWords(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`
  if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`
  return `${(bytes / 1_000_000_000).toFixed(2)} GB`
}

export function durationInWords(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 1) return `${ms} ms`
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const
  return parts
    .filter(([value]) => value > 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(' ')
}

/** What an event says, in a few words. */
export function eventWords(event: SessionEvent): string {
  switch (event.type) {
    case 'turn/start':
      return `turn ${event.data.turn}`
    case 'turn/end':
      return brief(`turn ${event.data.turn} ${event.data.reason.kind}`, 100)
    case 'step/start':
    case 'step/end':
      return `turn ${event.data.turn} step ${event.data.step}`
    case 'tool/call':
      return brief(`${event.data.name} ${event.data.arguments}`, 100)
    case 'assistant/attempt':
      return `turn ${event.data.turn} step ${event.data.step}, ${count(event.data.stream.length, 'record')}`
    case 'system/message':
    case 'user/message':
    case 'assistant/message':
    case 'tool/result': {
      const said = (projectMessage(event)?.content ?? []).map(blockWords).join(' ')
      const { surfaceOp } = event
      const place = surfaceOp === 'append' ? '' : `(for ${surfaceOp.startSeq}–${surfaceOp.endSeq}) `
      return place + brief(said, 100)
    }
    default:
      return brief(jsonText((event as SessionEvent).data), 100)
  }
}

/** A block in a line; not yet cut to a length. */
function blockWords(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'reasoning':
      return `[reasoning] ${block.text}`
    case 'tool-call':
      return `[calls ${block.name} ${block.arguments}]`
    case 'tool-result': {
      const content = block.content.map(each => (each.type === 'tool-result' ? '[result]' : blockWords(each))).join(' ')
      return block.isError === true ? `[failed] ${content}` : content
    }
    case 'image':
    case 'file':
      return `[${block.type} ${block.attachment.name ?? block.attachment.attachmentId}]`
    default:
      return `[${String((block as { readonly type: unknown }).type)}]`
  }
}
