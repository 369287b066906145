/**
 * The worker of an application: serves sessions, and answers each prompt with as many deltas as the page's configuration
 * says. The answer begins to flow when the page posts `go`.
 */
import type { StreamChunk } from 'palimpsest/core'
import { type Gate, gate, type ScriptedItem, scriptedModel } from 'palimpsest/testing'
import { indexedDbStorage, serve } from 'palimpsest/worker'

export type DeltaConfig = {
  readonly deltas: number
  /** After how many deltas the model waits for 1 ms; null: never. */
  readonly pauseEach: number | null
}

const TEXT = 'a word, '
let next: Gate = gate()

addEventListener('message', ({ data }: MessageEvent<unknown>) => {
  if (data === 'go') next.open()
  if (data === 'raw') for (let index = 0; index < rawCount(); index += 1) postMessage(delta)
})

const search = new URL(location.href).searchParams
const rawCount = (): number => Number(search.get('raw'))
const delta: StreamChunk = { type: 'text-delta', index: 0, text: TEXT }

/** A pause that begins when it is come to. */
const pause: PromiseLike<void> = {
  then: onDone => new Promise<void>(resolve => setTimeout(resolve, 1)).then(onDone),
}

function* answer({ deltas, pauseEach }: DeltaConfig): Generator<ScriptedItem> {
  next = gate()
  yield { type: 'block-start', index: 0, blockType: 'text' }
  yield next
  for (let index = 0; index < deltas; index += 1) {
    yield delta
    if (pauseEach !== null && index % pauseEach === pauseEach - 1) yield pause
  }
  yield { type: 'block-end', index: 0, block: { type: 'text', text: TEXT.repeat(deltas) } }
  yield { type: 'finish', reason: { kind: 'stop' } }
}

serve<DeltaConfig>({
  storage: indexedDbStorage({ name: search.get('database') ?? 'palimpsest-agent' }),
  agent: ({ config }) => ({ model: scriptedModel([[...answer(config)]]) }),
})
