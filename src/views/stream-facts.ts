/**
 * What a recorded stream says at a glance. Admission does not look into streams, so nothing here trusts their shape
 * (SPEC V14).
 */
import type { StreamRecord, Usage } from '../core/events.ts'

type Shape = Record<string, unknown>

const isRecord = (value: unknown): value is Shape => typeof value === 'object' && value !== null
const isCount = (value: unknown): value is number => Number.isFinite(value)

const TOKENS = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'reasoningTokens',
] as const satisfies readonly (keyof Usage)[]

/** No less than none, and not so many that a sum of them is no number. */
const isTokens = (value: unknown): value is number => isCount(value) && value >= 0 && value <= Number.MAX_SAFE_INTEGER

/** The token counts in `value`, those of them that are counts; null without input or output. */
export function asUsage(value: unknown): Usage | null {
  if (!isRecord(value) || !isTokens(value['inputTokens']) || !isTokens(value['outputTokens'])) return null
  // JSON has no −0.
  return Object.fromEntries(
    TOKENS.filter(key => isTokens(value[key])).map(key => [key, Number(value[key]) + 0]),
  ) as Usage
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

/** Text of a block: some more of it, or, of a block that is closed, all. */
type Piece = { readonly index: unknown; readonly kind: unknown; readonly text: string; readonly isAll: boolean }

/** What a person could see of a stream: its text and its reasoning, without what is only white space. */
export function visibleParts(stream: readonly StreamRecord[]): { readonly text: string; readonly reasoning: string } {
  const blocks = new Map<unknown, Piece>()
  for (const record of stream) {
    for (const piece of piecesOf(record)) {
      const known = blocks.get(piece.index)
      if (known === undefined || (piece.isAll && !known.isAll)) blocks.set(piece.index, piece)
      else if (!known.isAll) blocks.set(piece.index, { ...known, text: known.text + piece.text })
    }
  }
  const seen = [...blocks.values()].filter(({ text }) => text.trim() !== '')
  const all = (kind: string) => seen.flatMap(each => (each.kind === kind ? [each.text] : [])).join('\n\n')
  return { text: all('text'), reasoning: all('reasoning') }
}

/** What a record says of text and reasoning. */
function* piecesOf(record: unknown): Generator<Piece> {
  if (!isRecord(record)) return
  const { type, index, texts, chunk } = record
  if (type !== 'chunk') {
    const kind = kindOf(type, '-chunks')
    if (kind !== null && Array.isArray(texts))
      for (const text of texts) yield { index, kind, text: String(text), isAll: false }
  } else if (isRecord(chunk)) {
    const isAll = chunk['type'] === 'block-end'
    const said = isAll ? chunk['block'] : chunk
    const kind = isAll && isRecord(said) ? said['type'] : kindOf(chunk['type'], '-delta')
    if (kind !== null && isRecord(said) && typeof said['text'] === 'string') {
      yield { index: chunk['index'], kind, text: said['text'], isAll }
    }
  }
}

const kindOf = (type: unknown, suffix: string): string | null =>
  ['text', 'reasoning'].find(kind => type === kind + suffix) ?? null
