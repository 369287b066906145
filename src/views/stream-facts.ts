/**
 * What a recorded stream says at a glance. Admission does not look into streams, so nothing here trusts their shape
 * (SPEC V14).
 */
import type { StreamChunk, StreamRecord, Usage } from '../core/events.ts'
import { StreamAssembler } from '../core/stream.ts'

type Shape = Record<string, unknown>

const isRecord = (value: unknown): value is Shape => typeof value === 'object' && value !== null
const isCount = (value: unknown): value is number => Number.isFinite(value)

/** The token counts in `value`, if it has them. */
export function asUsage(value: unknown): Usage | null {
  return isRecord(value) && isCount(value['inputTokens']) && isCount(value['outputTokens'])
    ? (value as unknown as Usage)
    : null
}

/** The last usage a stream reported; null when it reported none. */
export function streamUsage(stream: readonly StreamRecord[]): Usage | null {
  for (let index = stream.length - 1; index >= 0; index -= 1) {
    const record: unknown = stream[index]
    if (!isRecord(record) || !isRecord(record['chunk']) || record['chunk']['type'] !== 'usage') continue
    const usage = asUsage(record['chunk']['usage'])
    if (usage !== null) return usage
  }
  return null
}

/** From the first chunk of a stream to its last, ms; null when it has none. */
export function streamDuration(stream: readonly StreamRecord[]): number | null {
  const [first, last] = [timesOf(stream[0]), timesOf(stream.at(-1))]
  return first === null || last === null ? null : Math.max(0, last.end - first.start)
}

function timesOf(record: unknown): { readonly start: number; readonly end: number } | null {
  if (!isRecord(record)) return null
  const { time, time0, dt } = record
  if (isCount(time)) return { start: time, end: time }
  if (!isCount(time0)) return null
  let end = time0
  if (Array.isArray(dt)) for (const gap of dt) if (isCount(gap)) end += gap
  return { start: time0, end }
}

/** What a person could see of a stream: its text and its reasoning, without what is only white space. */
export function visibleParts(stream: readonly StreamRecord[]): { readonly text: string; readonly reasoning: string } {
  const assembler = new StreamAssembler()
  for (const record of stream) for (const chunk of chunksOf(record)) assembler.push(chunk)
  const parts = { text: [] as string[], reasoning: [] as string[] }
  for (const block of assembler.interruptedPrefix()) {
    if (block.type === 'text' || block.type === 'reasoning') parts[block.type].push(block.text)
  }
  return { text: parts.text.join('\n\n'), reasoning: parts.reasoning.join('\n\n') }
}

/** The chunks of a record that say text or reasoning. */
function* chunksOf(record: unknown): Generator<StreamChunk> {
  if (!isRecord(record)) return
  const { type, index, texts, chunk } = record
  if (type === 'chunk') {
    if (isVisibleChunk(chunk)) yield chunk
  } else if ((type === 'text-chunks' || type === 'reasoning-chunks') && Array.isArray(texts)) {
    const delta = type === 'text-chunks' ? 'text-delta' : 'reasoning-delta'
    for (const text of texts) yield { type: delta, index: index as number, text: String(text) }
  }
}

function isVisibleChunk(chunk: unknown): chunk is StreamChunk {
  if (!isRecord(chunk)) return false
  const { type, text, block } = chunk
  if (type === 'text-delta' || type === 'reasoning-delta') return typeof text === 'string'
  return type === 'block-end' && isRecord(block) && typeof block['text'] === 'string'
}
