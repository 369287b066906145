/** The wire shapes of an answer: OpenAI chat completion chunks with their pacing, or one completion object. */
import { hashText } from './chat-request.ts'
import type { Failure } from './directives.ts'
import type { Answer } from './script.ts'

/** One thing to send after waiting: an object goes out as an SSE event, a string goes out as it is. */
export type Piece = { readonly delayMs: number; readonly data: string | object }

/** How a stream ends: with `[DONE]`, with a cut connection, or closed in good order but unfinished. */
export type StreamEnd = 'done' | 'cut' | 'close'

/** Everything about an answer besides its words. */
export type AnswerFacts = {
  readonly model: string
  /** Number of the history: ids and pacing come from it. */
  readonly seed: number
  readonly promptTokens: number
  readonly includesUsage: boolean
  readonly pace: 'normal' | 'slow' | 'fast'
  readonly failure: Failure | null
  /** Call ids the history holds already; new ones differ from them. */
  readonly takenIds: ReadonlySet<string>
}

/** A fixed time stands in for a clock. */
export const created = 1_764_547_200
/** How long a stalled stream is silent. */
export const stallMs = 600_000

/** The answer as a stream of pieces, broken off where its failure says so. */
export function toPieces(
  answer: Answer,
  facts: AnswerFacts,
): { readonly pieces: readonly Piece[]; readonly end: StreamEnd } {
  const { failure } = facts
  const text = words(answer.text)
  const isCutInText = failure === 'cut' || failure === 'close' || (failure === 'cut-tool' && answer.calls.length === 0)
  const isHalf = isCutInText || failure === 'length'
  const deltas: object[] = [
    { role: 'assistant', content: '' },
    ...words(answer.reasoning).map(word => ({ reasoning_content: word })),
    ...(isHalf ? text.slice(0, Math.ceil(text.length / 2)) : text).map(word => ({ content: word })),
  ]
  if (!isHalf) deltas.push(...callDeltas(answer, facts))
  if (failure === 'cut-tool' && !isHalf) deltas.length -= 2

  const chunk = (delta: object, finish: string | null): object =>
    chunkOf(facts, [{ index: 0, delta, logprobs: null, finish_reason: finish }])
  const pieces: Piece[] = deltas.map((delta, index) => ({
    delayMs: failure === 'stall' && index === 4 ? stallMs : delayOf(facts, index),
    data: chunk(delta, null),
  }))
  if (isCutInText || failure === 'cut-tool') {
    // What was on its way when the line broke: the front half of an event.
    if (failure !== 'close') pieces.push({ delayMs: 0, data: `data: ${JSON.stringify(chunk({}, null)).slice(0, 40)}` })
    return { pieces, end: failure === 'close' ? 'close' : 'cut' }
  }
  pieces.push({ delayMs: delayOf(facts, 1), data: chunk({}, finishOf(answer, failure)) })
  if (facts.includesUsage) pieces.push({ delayMs: 0, data: { ...chunkOf(facts, []), usage: usageOf(answer, facts) } })
  return { pieces, end: 'done' }
}

/** The answer as one chat completion, for requests that do not stream. Failures of the line do not apply to it. */
export function toCompletion(answer: Answer, facts: AnswerFacts): object {
  const spoken = words(answer.text)
  const text = (facts.failure === 'length' ? spoken.slice(0, Math.ceil(spoken.length / 2)) : spoken).join('')
  const calls = facts.failure === 'length' ? [] : callsOf(answer, facts)
  const message = {
    role: 'assistant',
    content: text,
    ...(answer.reasoning ? { reasoning_content: answer.reasoning } : {}),
    refusal: null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
  return {
    id: idOf(facts),
    object: 'chat.completion',
    created,
    model: facts.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(answer, facts.failure) }],
    usage: usageOf(answer, facts),
  }
}

function chunkOf(facts: AnswerFacts, choices: readonly object[]): object {
  return {
    id: idOf(facts),
    object: 'chat.completion.chunk',
    created,
    model: facts.model,
    choices,
    ...(facts.includesUsage ? { usage: null } : {}),
  }
}

const idOf = ({ seed }: AnswerFacts): string => `chatcmpl-${seed.toString(36)}`

function finishOf(answer: Answer, failure: Failure | null): string {
  return failure === 'length' ? 'length' : answer.calls.length > 0 ? 'tool_calls' : 'stop'
}

function callsOf(
  answer: Answer,
  { seed, takenIds }: AnswerFacts,
): {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}[] {
  return answer.calls.map((call, index) => {
    let id = `call_${seed.toString(36)}_${index}`
    while (takenIds.has(id)) id += 'x'
    return { id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.arguments) } }
  })
}

/** Each call opens with its id and name; its arguments follow in fragments. */
function callDeltas(answer: Answer, facts: AnswerFacts): object[] {
  return callsOf(answer, facts).flatMap(({ id, type, function: { name, arguments: json } }, index) => [
    { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] },
    ...fragments(json).map(fragment => ({ tool_calls: [{ index, function: { arguments: fragment } }] })),
  ])
}

/** Words with the space before each, so that joined they are the text again. */
const words = (text: string): string[] => text.match(/\s*\S+/g) ?? []

/** At least three fragments, so that there is a middle to be cut in. */
function fragments(json: string): string[] {
  const characters = Array.from(json)
  const size = Math.max(1, Math.min(12, Math.floor(characters.length / 3)))
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, at) =>
    characters.slice(at * size, (at + 1) * size).join(''),
  )
}

function delayOf({ pace, seed }: AnswerFacts, index: number): number {
  const hash = hashText(String(index), seed)
  if (pace === 'fast') return hash % 3
  if (pace === 'slow') return 400
  return index === 0 ? 180 + (hash % 41) : 20 + (hash % 41)
}

function usageOf(answer: Answer, { promptTokens }: AnswerFacts): object {
  const reasoning = Math.ceil(answer.reasoning.length / 4)
  const calls = answer.calls.map(call => call.name + JSON.stringify(call.arguments)).join('')
  const completion = Math.ceil((answer.text.length + calls.length) / 4) + reasoning
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completion,
    total_tokens: promptTokens + completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}
