/** Whether a recorded answer is a well-formed stream, and whether its message is what the stream yields (SPEC L13, L14). */
import { SessionError } from './errors.ts'
import type { AssistantMessage, ContentBlock, EventData, StreamChunk } from './events.ts'
import { isSafeNonNegativeInteger } from './ids.ts'
import { equalJson, type JsonValue } from './json.ts'
import { StreamAssembler } from './stream.ts'
import { expandStream } from './stream-records.ts'
import { wellFormedBlock } from './well-formed.ts'

type Check = (value: unknown) => boolean
type Shape = Readonly<Record<string, unknown>>

const isString: Check = value => typeof value === 'string'
const isShape = (value: unknown): value is Shape => typeof value === 'object' && value !== null && !Array.isArray(value)
const isBlock: Check = value => {
  if (!isShape(value)) return false
  const { type, id, name, arguments: text } = value
  if (type === 'tool-call') return [id, name, text].every(isString)
  return isString(type) && ((type !== 'text' && type !== 'reasoning') || isString(value['text']))
}

const index: Check = isSafeNonNegativeInteger
const SHAPES: ReadonlyMap<unknown, Readonly<Record<string, Check>>> = new Map<unknown, Record<string, Check>>([
  ['block-start', { index, blockType: isString }],
  ['text-delta', { index, text: isString }],
  ['reasoning-delta', { index, text: isString }],
  [
    'tool-call-delta',
    { index, id: isString, name: value => value === undefined || isString(value), argumentsDelta: isString },
  ],
  ['block-end', { index, block: isBlock }],
  ['usage', { usage: isShape }],
  ['finish', { reason: value => isShape(value) && isString(value['kind']) }],
])

/** What is wrong with a chunk by itself; null when nothing is, or when its type is not known. */
export function chunkProblem(chunk: unknown): string | null {
  if (!isShape(chunk)) return 'is no object'
  return SHAPES.has(chunk['type']) ? shapeProblem(chunk) : null
}

function shapeProblem(chunk: unknown): string | null {
  const shape = isShape(chunk) ? SHAPES.get(chunk['type']) : undefined
  if (shape === undefined) return 'is of no known type'
  const wrong = Object.entries(shape).find(([key, check]) => !check((chunk as Shape)[key]))
  return wrong === undefined ? null : `has no valid ${wrong[0]}`
}

/**
 * What is wrong with the order of chunks, and at which of them (from 0); null when nothing is. Each block opens once and
 * is written in its kind until its one end; usage comes once; one finish comes last and leaves no block open, unless it
 * broke off: `error`, `aborted`, or `max-tokens`, whose calls are dropped. A block may open by its first delta, or come as its end alone, as assembly takes it.
 *
 * `settled` says what the chunks settled as: a `message` needs a finish that is not `error` or `aborted`; the others need
 * none. No chunks are fine for all.
 */
export function streamProblem(
  chunks: readonly StreamChunk[],
  { settled }: { readonly settled: 'message' | 'interrupted' | 'attempt' },
): string | null {
  /** Kinds of the blocks seen; null for one that has ended. */
  const blocks = new Map<number, string | null>()
  let hasUsage = false
  let finish = null as string | null

  const place = (chunk: StreamChunk): string | null => {
    if (chunk.type === 'usage') {
      if (hasUsage) return 'reports usage again'
      hasUsage = true
      return null
    }
    if (chunk.type === 'finish') {
      finish = chunk.reason.kind
      const open = mayBreakOff(finish) ? undefined : [...blocks].find(([, kind]) => kind !== null)
      return open === undefined ? null : `finishes while block ${open[0]} is open`
    }
    const { index } = chunk
    const known = blocks.get(index)
    if (chunk.type === 'block-start') {
      if (known !== undefined) return `opens block ${index} again`
      blocks.set(index, chunk.blockType)
      return null
    }
    if (known === null) return `belongs to block ${index}, which has ended`
    if (chunk.type === 'block-end') {
      blocks.set(index, null)
      return null
    }
    const kind = chunk.type.slice(0, -'-delta'.length)
    if (known !== undefined && known !== kind) return `writes ${kind} into block ${index} of kind ${known}`
    blocks.set(index, kind)
    return null
  }

  for (const [at, chunk] of chunks.entries()) {
    const problem = finish === null ? (shapeProblem(chunk) ?? place(chunk)) : 'comes after the finish'
    if (problem !== null) return `Chunk ${at} ${problem}`
  }
  if (settled !== 'message' || chunks.length === 0) return null
  if (finish === null) return `Chunk ${chunks.length} is missing: a message needs a finish`
  return isFailed(finish) ? `Chunk ${chunks.length - 1} finishes a message with ${finish}` : null
}

const isFailed = (kind: string): boolean => kind === 'error' || kind === 'aborted'
const mayBreakOff = (kind: string): boolean => isFailed(kind) || kind === 'max-tokens'

/**
 * How a message differs from what its stream yields; null when it does not, or when there is no stream. Content, usage
 * and replay state count, also when they are missing. Never throws.
 *
 * With `exact` they are equal, as the format has it, but for half surrogate pairs: the message may have them as they came
 * or as assembly mends them, since no request can carry them. Otherwise all that this library changes on purpose is passed
 * over: blank text left out, calls without a name or with a used id named anew.
 */
export function streamMismatch(
  { stream, message, usage, interrupted }: EventData['assistant/message'],
  { exact }: { readonly exact: boolean },
): string | null {
  const assembler = new StreamAssembler()
  try {
    const timed = expandStream(stream)
    if (timed.length === 0) return null
    for (const [at, { chunk }] of timed.entries()) {
      const problem = shapeProblem(chunk)
      if (problem !== null) return `Chunk ${at} ${problem}`
      assembler.push(chunk)
    }
    if (!equalJson(usage, assembler.usage)) return differs('usage')
    const same = exact ? isMendedBlock : isSameBlock
    if (interrupted === true) {
      const problem = difference(message, { blocks: assembler.interruptedPrefix() }, same)
      return problem && difference(message, { blocks: assembler.interruptedPrefix({ wellFormed: true }) }, same)
    }
    const problem = difference(message, assembler.assemble(), same)
    return exact ? problem : problem && difference(message, assembler.assemble({ dropBlankText: true }), same)
  } catch (error) {
    if (error instanceof SessionError) return error.message
    throw error
  }
}

const differs = (what: string): string => `${what} differs from what the stream yields`

function difference(
  { content, source }: AssistantMessage,
  { blocks, replayState }: { readonly blocks: readonly ContentBlock[]; readonly replayState?: JsonValue },
  same: (said: ContentBlock, streamed: ContentBlock) => boolean,
): string | null {
  if (!equalJson(source.replayState, replayState)) return differs('message.source.replayState')
  if (content.length !== blocks.length) {
    return `message.content has ${content.length} blocks; the stream yields ${blocks.length}`
  }
  const wrong = content.findIndex((block, position) => !same(block, blocks[position] as ContentBlock))
  return wrong === -1 ? null : differs(`message.content[${wrong}]`)
}

/** Whether `said` is the streamed block, as it came or as assembly mends it. */
const isMendedBlock = (said: ContentBlock, streamed: ContentBlock): boolean =>
  equalJson(said, streamed) || equalJson(said, wellFormedBlock(streamed))

/** Whether `said` is the streamed block, as it came or as the loop commits it. */
function isSameBlock(said: ContentBlock, streamed: ContentBlock): boolean {
  if (isMendedBlock(said, streamed)) return true
  const block = wellFormedBlock(streamed)
  if (said.type !== 'tool-call' || block.type !== 'tool-call') return false
  const wanted = block.id === '' ? 'call' : block.id
  const isRenamed = said.id.startsWith(wanted) && /^(_([2-9]|[1-9]\d+))?$/.test(said.id.slice(wanted.length))
  return isRenamed && equalJson(said, { ...block, id: said.id, name: block.name === '' ? 'unknown' : block.name })
}
