/**
 * What the model says to which request: worked out of the request alone, so that whoever reads the log later knows what
 * each answer was going to be.
 */
import type { Message, StreamChunk } from 'palimpsest/core'
import { CallId } from 'palimpsest/core'
import type { Gate, ScriptedCall, ScriptedItem } from 'palimpsest/testing'
import { hashOf, randomOf } from './random.ts'

export type Answer = {
  readonly reasoning: string | null
  readonly text: string
  readonly calls: readonly ScriptedCall[]
  /** Where each delta of reasoning and text begins and ends. */
  readonly reasoningPieces: readonly string[]
  readonly textPieces: readonly string[]
  /** Pause before each delta, ms. */
  readonly pauseMs: number
  /** It breaks off with an error in the middle of its text. */
  readonly fails: boolean
}

/** What a prompt may ask for, written in it as `[long]`, `[calls 2]`, `[fails]`. */
export type Wish = { readonly long?: boolean; readonly calls?: number; readonly fails?: boolean }

/** The text of a prompt. No two are the same. */
export function promptOf(name: string, { long = false, calls = 0, fails = false }: Wish = {}): string {
  return `Prompt ${name}: what of the tide?${long ? ' [long]' : ''}${calls > 0 ? ` [calls ${calls}]` : ''}${fails ? ' [fails]' : ''}`
}

/** The answer to a request with these messages. */
export function answerTo(messages: readonly Message[]): Answer {
  const at = messages.findLastIndex(({ source }) => source.kind === 'user')
  const prompt = messages[at] === undefined ? '' : textOf(messages[at])
  const step = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length + 1
  const key = `${prompt}#${step}`
  const random = randomOf(key)
  const isLong = prompt.includes('[long]')
  const hasCalls = step <= Number(/\[calls (\d+)\]/.exec(prompt)?.[1] ?? 0)
  const reasoning = random.chance(0.4) ? wordsOf(random.between(5, 25), random) : null
  const length = isLong ? random.between(200, 400) : random.between(10, 60)
  const text = `${hashOf(key).toString(36)} ${wordsOf(length, random)}`
  const calls = hasCalls ? Array.from({ length: random.between(1, 2) }, (_, index) => call(key, index)) : []
  return {
    reasoning,
    text,
    calls,
    reasoningPieces: piecesOf(reasoning ?? '', key),
    textPieces: piecesOf(text, key),
    pauseMs: isLong ? random.between(4, 12) : random.between(1, 8),
    fails: prompt.includes('[fails]') && !hasCalls,
  }
}

const WORDS = 'tide ferry lamp harbour 🌊 salt net gull ébb 潮 rope buoy chart noon ⛵️ reef swell keel 👩‍🚀 mast'.split(
  ' ',
)

const wordsOf = (count: number, random: ReturnType<typeof randomOf>): string =>
  Array.from({ length: count }, () => random.pick(WORDS)).join(' ')

/** Cut by UTF-16 units, as some providers do: a character may be cut in two. */
function piecesOf(text: string, key: string): readonly string[] {
  const random = randomOf(`pieces of ${key}`)
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += pieces.at(-1)?.length ?? 1) {
    pieces.push(text.slice(at, at + random.between(1, 9)))
  }
  return pieces
}

function call(key: string, index: number): ScriptedCall {
  const id = `c${hashOf(`${key} call ${index}`).toString(36)}_${hashOf(`${index} of ${key}`).toString(36)}`
  const random = randomOf(id)
  return random.chance(0.6)
    ? { id, name: 'work', arguments: JSON.stringify({ ms: random.between(20, 400) }) }
    : { id, name: random.pick(['look', 'break']), arguments: '{}' }
}

/** The answer as a stream. `isFast`: without pauses. `onDelta` is called before each delta of reasoning and text. */
export function chunksOf(answer: Answer, onDelta: (index: number) => void, isFast: boolean): readonly ScriptedItem[] {
  const items: ScriptedItem[] = []
  let deltas = 0
  let index = -1
  const say = (kind: 'reasoning' | 'text', whole: string, pieces: readonly string[], isCut: boolean) => {
    index += 1
    items.push({ type: 'block-start', index, blockType: kind })
    for (const text of pieces) {
      const number = (deltas += 1)
      if (!isFast) items.push(pause(answer.pauseMs, () => onDelta(number)))
      items.push({ type: `${kind}-delta`, index, text })
    }
    if (!isCut) items.push({ type: 'block-end', index, block: { type: kind, text: whole } })
  }
  if (answer.reasoning !== null) say('reasoning', answer.reasoning, answer.reasoningPieces, false)
  const { text, textPieces, fails } = answer
  say('text', text, fails ? textPieces.slice(0, Math.ceil(textPieces.length / 2)) : textPieces, fails)
  if (fails) {
    const failure = { code: 'OVERLOADED', message: 'The model had enough.' }
    return [...items, { type: 'finish', reason: { kind: 'error', failure } }]
  }
  for (const { id, name, arguments: args = '{}' } of answer.calls) {
    index += 1
    items.push({ type: 'block-start', index, blockType: 'tool-call' })
    for (let at = 0; at < args.length; at += 4) {
      if (!isFast) items.push(pause(answer.pauseMs, () => undefined))
      items.push({ type: 'tool-call-delta', index, id, name, argumentsDelta: args.slice(at, at + 4) })
    }
    items.push({ type: 'block-end', index, block: { type: 'tool-call', id: CallId(id), name, arguments: args } })
  }
  const finish: StreamChunk = { type: 'finish', reason: { kind: answer.calls.length > 0 ? 'tool-calls' : 'stop' } }
  return [...items, { type: 'usage', usage: { inputTokens: 1, outputTokens: deltas } }, finish]
}

/** Waits from the moment the stream gets there. */
function pause(ms: number, onEnd: () => void): Gate {
  return {
    kind: 'gate',
    get opened() {
      return new Promise<void>(resolve => {
        setTimeout(() => {
          onEnd()
          resolve()
        }, ms)
      })
    },
    open: () => undefined,
  }
}

export const textOf = ({ content }: Message): string =>
  content.map(block => (block.type === 'text' ? block.text : '')).join('')
