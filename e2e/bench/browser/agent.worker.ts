/**
 * The worker of an application: serves sessions, and answers each prompt with as many deltas as the page's configuration
 * says. The answer begins to flow when the page posts `go`.
 *
 * With `hand` in its address it runs the same agent without `serve`, and what the page learns is written by hand: `each`
 * posts every frame by itself, `last` only says when the last delta was there.
 */
import { SessionId, type StreamChunk } from 'palimpsest/core'
import { imageOffloading, sessionInvariant } from 'palimpsest/plugins'
import { type Gate, gate, type ScriptedItem, scriptedModel } from 'palimpsest/testing'
import { Agent, type AssistantStreamFrame, indexedDbStorage, serve, Sessions, webLease } from 'palimpsest/worker'

export type DeltaConfig = {
  readonly deltas: number
  /** After how many deltas the model waits for 1 ms; null: never. */
  readonly pauseEach: number | null
}

const TEXT = 'a word, '
let next: Gate = gate()

addEventListener('message', ({ data }: MessageEvent<unknown>) => {
  if (data === 'go') next.open()
})

const search = new URL(location.href).searchParams
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

const storage = indexedDbStorage({ name: search.get('database') ?? 'palimpsest-agent' })
const setup = (config: DeltaConfig) => ({ model: scriptedModel([[...answer(config)]]) })

async function serveByHand(hand: string, config: DeltaConfig): Promise<void> {
  const newId = () => crypto.randomUUID()
  const sessions = new Sessions({
    storage,
    lease: webLease(),
    now: Date.now,
    newId,
    projections: [imageOffloading],
    liveInvariants: [sessionInvariant],
  })
  let arrived = 0
  const onFrame = (frame: AssistantStreamFrame): void => {
    if (hand === 'each') return postMessage(frame)
    if (frame.kind !== 'chunk') return
    const { type } = frame.chunk
    if (type === 'text-delta') arrived += 1
    if (type === 'block-start' || (type === 'text-delta' && arrived === config.deltas)) postMessage(frame)
  }
  const live = await sessions.open(SessionId('deltas'))
  const agent = new Agent({ live, setup: () => setup(config), newId, onFrame })
  addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (data !== 'send') return
    arrived = 0
    const { done } = agent.send({ text: 'Say it' })
    void done.then(reason => postMessage(reason))
  })
  postMessage('ready')
}

const hand = search.get('hand')
if (hand === null) serve<DeltaConfig>({ storage, agent: ({ config }) => setup(config) })
else void serveByHand(hand, { deltas: Number(search.get('deltas')), pauseEach: null })
