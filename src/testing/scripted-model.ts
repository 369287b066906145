/** A model that says what a test tells it to, and remembers what it was asked. */
import { AgentError } from '../agent/errors.ts'
import type { Model, ModelRequest } from '../agent/model.ts'
import type { FinishReason, LlmFailure, StreamChunk, Usage } from '../core/events.ts'
import { CallId } from '../core/ids.ts'

/** A chunk, or something to wait for before the next one: a `gate()`, or any promise. */
export type ScriptedItem = StreamChunk | Gate | PromiseLike<unknown>

export type ScriptedCall = { readonly id: string; readonly name: string; readonly arguments?: string }

/** What the model does with one request. */
export type ScriptedStep =
  | readonly ScriptedItem[]
  /** An answer: reasoning, text, then calls, each as one block; `usage` and `finish` if they matter. */
  | {
      readonly text?: string
      readonly reasoning?: string
      readonly toolCalls?: readonly ScriptedCall[]
      readonly usage?: Usage
      readonly finish?: FinishReason
    }
  /** Ends with a failure, after what came before it. */
  | { readonly fail: LlmFailure; readonly after?: readonly ScriptedItem[] }
  /** The iteration throws. */
  | { readonly throws: unknown; readonly after?: readonly ScriptedItem[] }
  /** Yields nothing more until the signal aborts; with `stubborn` not even then. */
  | { readonly hang: true; readonly stubborn?: true; readonly after?: readonly ScriptedItem[] }
  /** Decides when it is asked. */
  | ((request: ModelRequest) => ScriptedStep)

export type ScriptedModel = Model & {
  /** The requests so far, in order. */
  readonly requests: readonly ModelRequest[]
}

export type ScriptedModelOptions = Partial<Omit<Model, 'stream'>>

/** A model for tests: the n-th request gets the n-th step; one more than there are steps is a failure `SCRIPT_ENDED`. */
export function scriptedModel(steps: Iterable<ScriptedStep>, options: ScriptedModelOptions = {}): ScriptedModel {
  const script = steps[Symbol.iterator]()
  const requests: ModelRequest[] = []
  return {
    config: { provider: 'scripted', model: 'scripted-1' },
    ...options,
    requests,
    stream(request) {
      requests.push(request)
      const next = script.next()
      const step = next.done === true ? { fail: scriptEnded(requests.length) } : next.value
      return play(step, request)
    },
  }
}

export type Gate = { readonly kind: 'gate'; readonly opened: Promise<void>; open(): void }

/** A pause in a script: the stream waits there until `open` is called. */
export function gate(): Gate {
  let open: () => void = () => undefined
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { kind: 'gate', opened, open: () => open() }
}

const scriptEnded = (request: number): LlmFailure => ({
  code: 'SCRIPT_ENDED',
  message: `The script has no step for request ${request}.`,
})

async function* play(step: ScriptedStep, request: ModelRequest): AsyncGenerator<StreamChunk, void, void> {
  if (typeof step === 'function') return yield* play(step(request), request)
  if ('fail' in step) {
    yield* playItems(step.after ?? [])
    yield { type: 'finish', reason: { kind: 'error', failure: step.fail } }
  } else if ('throws' in step) {
    yield* playItems(step.after ?? [])
    throw step.throws
  } else if ('hang' in step) {
    yield* playItems(step.after ?? [])
    await new Promise((_resolve, reject) => {
      if (step.stubborn === true) return
      const stop = () => reject(new AgentError('model', 'The request was aborted'))
      if (request.signal.aborted) stop()
      else request.signal.addEventListener('abort', stop, { once: true })
    })
  } else yield* playItems(isItems(step) ? step : answerChunks(step))
}

const isItems = (step: ScriptedStep): step is readonly ScriptedItem[] => Array.isArray(step)

async function* playItems(items: readonly ScriptedItem[]): AsyncGenerator<StreamChunk, void, void> {
  for (const item of items) {
    if ('then' in item) await item
    else if ('kind' in item) await item.opened
    else yield item
  }
}

/** The chunks of a whole answer. */
export function answerChunks(answer: {
  readonly text?: string
  readonly reasoning?: string
  readonly toolCalls?: readonly ScriptedCall[]
  readonly usage?: Usage
  readonly finish?: FinishReason
}): readonly StreamChunk[] {
  const { text, reasoning, toolCalls = [], usage, finish } = answer
  const chunks: StreamChunk[] = []
  let index = -1
  for (const [type, said] of [['reasoning', reasoning] as const, ['text', text] as const]) {
    if (said === undefined) continue
    index += 1
    chunks.push({ type: 'block-start', index, blockType: type }, { type: `${type}-delta`, index, text: said })
    chunks.push({ type: 'block-end', index, block: { type, text: said } })
  }
  for (const { id, name, arguments: args = '{}' } of toolCalls) {
    index += 1
    chunks.push({ type: 'block-start', index, blockType: 'tool-call' })
    chunks.push({ type: 'tool-call-delta', index, id, name, argumentsDelta: args })
    chunks.push({ type: 'block-end', index, block: { type: 'tool-call', id: CallId(id), name, arguments: args } })
  }
  if (usage !== undefined) chunks.push({ type: 'usage', usage })
  chunks.push({ type: 'finish', reason: finish ?? { kind: toolCalls.length > 0 ? 'tool-calls' : 'stop' } })
  return chunks
}
