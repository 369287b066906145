/** What is measured from a page: its calls to a worker, and what a worker tells it. */
import { wrap } from 'comlink'
import { type ClientSession, connect } from 'palimpsest'
import type { WorkloadEvent } from '../workload.mjs'
import type { DeltaConfig } from './agent.worker.ts'
import agentAddress from './agent.worker.ts?worker&url'
import type { BatchRemote } from './batch.worker.ts'
import batchAddress from './batch.worker.ts?worker&url'
import { eventsOf } from './log.ts'

type Named = { readonly database: string }

/** With the parameters of its address: each sample has a worker and a database of its own. */
const at = (address: string, parameters: Record<string, string>): Worker =>
  new Worker(`${address}?${new URLSearchParams(parameters)}`, { type: 'module' })
const agentWorker = (parameters: Record<string, string>): Worker => at(agentAddress, parameters)
const batchWorker = (parameters: Record<string, string>): Worker => at(batchAddress, parameters)

// ── Appends ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Appending = { append(type: string, data: unknown, intent?: unknown): Promise<unknown> }

function appendFromPage(session: ClientSession, { type, data, surfaceOp }: WorkloadEvent): Promise<unknown> {
  const log = session as unknown as Appending
  return surfaceOp === undefined ? log.append(type, data) : log.append(type, data, { surfaceOp })
}

/** One call for each event, none awaited before the next; until all have answered. ms. */
export async function singleAppends({ database, count }: Named & { readonly count: number }): Promise<number> {
  const events = eventsOf({ count, variant: 'small' })
  const palimpsest = connect(agentWorker({ database }))
  const appendAll = async (id: string): Promise<number> => {
    const session = await palimpsest.sessions.open(id)
    const start = performance.now()
    await Promise.all(events.map(event => appendFromPage(session, event)))
    const time = performance.now() - start
    await session.close()
    return time
  }
  await appendAll('warm-up')
  const time = await appendAll('measured')
  await palimpsest.close()
  return time
}

/** All events in one call by hand, over comlink; until it has answered. ms. */
export async function batchedAppends({ database, count }: Named & { readonly count: number }): Promise<number> {
  const events = eventsOf({ count, variant: 'small' })
  const worker = batchWorker({ database })
  const remote = wrap<BatchRemote>(worker)
  const appendAll = async (id: string): Promise<number> => {
    await remote.open(id)
    const start = performance.now()
    const length = await remote.appendAll(id, events)
    const time = performance.now() - start
    if (length !== events.length) throw new Error(`Expected ${events.length} events; found ${length}`)
    return time
  }
  await appendAll('warm-up')
  const time = await appendAll('measured')
  worker.terminate()
  return time
}

// ── Deltas ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export type DeltaOutcome = {
  /** From the first delta being allowed to the last being applied, ms. */
  readonly time: number
  /** Messages of the worker that brought deltas. */
  readonly messages: number
  /** Animation frames of the page meanwhile, the one it ended in included. */
  readonly frames: number
}

/** Deltas of a model, as a page gets them that watches the session. */
export async function modelDeltas({ database, ...config }: Named & DeltaConfig): Promise<DeltaOutcome> {
  const feed = countFeedMessages()
  const worker = agentWorker({ database })
  const palimpsest = connect(worker, { config })
  const session = await palimpsest.sessions.open('deltas')
  feed.stop()
  await oneTurn(session, worker, config.deltas)
  const before = feed.messages
  const frames = countFrames()
  const time = await oneTurn(session, worker, config.deltas)
  const outcome = { time, messages: feed.messages - before, frames: frames.stop() }
  await palimpsest.close()
  if (outcome.messages === 0) throw new Error('No feed message with frames was seen')
  return outcome
}

async function oneTurn(session: ClientSession, worker: Worker, deltas: number): Promise<number> {
  let arrived = 0
  let begin: () => void = () => undefined
  let end: () => void = () => undefined
  const begun = new Promise<void>(resolve => (begin = resolve))
  const ended = new Promise<void>(resolve => (end = resolve))
  const unsubscribe = session.subscribe(update => {
    if (update.kind === 'ended') throw update.error
    if (update.kind !== 'frames') return
    for (const frame of update.frames) {
      if (frame.kind !== 'chunk') continue
      if (frame.chunk.type === 'block-start') begin()
      if (frame.chunk.type === 'text-delta') arrived += 1
    }
    if (arrived === deltas) end()
  })
  const turn = session.send({ text: 'Say it' })
  await begun
  const start = performance.now()
  worker.postMessage('go')
  await ended
  const time = performance.now() - start
  unsubscribe()
  const reason = await turn.done
  if (reason.kind !== 'completed') throw new Error(`The turn ended with ${JSON.stringify(reason)}`)
  return time
}

type ByHand = Named & {
  readonly deltas: number
  /** Whether every frame is posted by itself, or only the last delta. */
  readonly post: 'each' | 'last'
}

/** The same deltas of the same agent, in a worker that tells the page by hand; ms. */
export async function deltasByHand({ database, deltas, post }: ByHand): Promise<number> {
  const worker = agentWorker({ database, hand: post, deltas: String(deltas) })
  const message = (isIt: (data: unknown) => boolean) =>
    new Promise<void>(resolve => {
      worker.onmessage = ({ data }: MessageEvent<unknown>) => {
        if (isIt(data)) resolve()
      }
    })
  const expected = post === 'each' ? deltas : 1
  const once = async (): Promise<number> => {
    const begun = message(data => chunkType(data) === 'block-start')
    worker.postMessage('send')
    await begun
    let arrived = 0
    const ended = message(data => {
      if (chunkType(data) === 'text-delta') arrived += 1
      return arrived === expected
    })
    const start = performance.now()
    worker.postMessage('go')
    await ended
    const time = performance.now() - start
    await message(data => (data as { kind?: unknown }).kind === 'completed')
    return time
  }
  await message(data => data === 'ready')
  await once()
  const time = await once()
  worker.terminate()
  return time
}

const chunkType = (frame: unknown): unknown => (frame as { chunk?: { type?: unknown } }).chunk?.type

/** Counts messages with frames on every channel that is made until `stop`. */
function countFeedMessages(): { readonly messages: number; stop(): void } {
  const original = globalThis.MessageChannel
  let messages = 0
  const count = ({ data }: MessageEvent<unknown>): void => {
    const { items } = data as { items?: readonly { readonly kind: string }[] }
    if (Array.isArray(items) && items.some(({ kind }) => kind === 'frames')) messages += 1
  }
  globalThis.MessageChannel = class extends original {
    constructor() {
      super()
      this.port1.addEventListener('message', count)
    }
  }
  return {
    get messages() {
      return messages
    },
    stop() {
      globalThis.MessageChannel = original
    },
  }
}

function countFrames(): { stop(): number } {
  let frames = 1
  let request = requestAnimationFrame(function next() {
    frames += 1
    request = requestAnimationFrame(next)
  })
  return {
    stop() {
      cancelAnimationFrame(request)
      return frames
    },
  }
}
