import type { Bench, Row } from '../../e2e/bench/harness.ts'
import { readLog } from './read-log.ts'

const HEADER = { type: 'session', version: 3, id: 'bench', createdAt: 0, isSeeded: false, delegationDepth: 0 }
const V0_HEADER = { type: 'session', version: 0, id: 'bench', createdAt: 0, delegationDepth: 0 }

/** The bytes of a file, put together piece by piece: as one text they would be too long for some engines. */
function fileOf(header: unknown, events: readonly unknown[]): Uint8Array {
  const encoder = new TextEncoder()
  const pieces = [encoder.encode(`${JSON.stringify(header)}\n`)]
  for (let from = 0; from < events.length; from += 1_000) {
    const lines = events.slice(from, from + 1_000).map(event => `${JSON.stringify(event)}\n`)
    pieces.push(encoder.encode(lines.join('')))
  }
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

/** What reading cannot do without: every line decoded and parsed. */
function parseLines(bytes: Uint8Array): unknown[] {
  const decoder = new TextDecoder()
  const values: unknown[] = []
  for (let from = 0, to = bytes.indexOf(10); to !== -1; from = to + 1, to = bytes.indexOf(10, from)) {
    values.push(JSON.parse(decoder.decode(bytes.subarray(from, to))))
  }
  return values
}

/** A log of the oldest version, most of it deltas, as its writer left it. */
function oldLog(count: number): readonly unknown[] {
  const events: { readonly seq: number }[] = []
  const add = (type: string, data: unknown, more: object = {}) =>
    events.push({ type, seq: events.length, time: events.length, data, ...more } as { readonly seq: number })
  const config = { provider: 'p', model: 'm' }
  for (let turn = 1; events.length < count; turn += 1) {
    const place = { turn, step: 1 }
    add('turn/start', { turn })
    add('step/start', place)
    const said = {
      id: `u${turn}`,
      role: 'user',
      content: [{ type: 'text', text: 'And now?' }],
      source: { kind: 'user' },
    }
    add('user/message', said, { surfaceOp: 'append' })
    if (turn === 1) add('request/header', { header: { config, system: 'Be brief.' }, reason: 'initial' })
    const first = events.length
    const words = Array.from({ length: 60 }, (_, index) => `word${(turn * index) % 97} `)
    const chunk = (value: object) => add('assistant/chunk', { ...place, chunk: value })
    chunk({ type: 'block-start', index: 0, blockType: 'text' })
    for (const text of words) chunk({ type: 'text-delta', index: 0, text })
    const block = { type: 'text', text: words.join('') }
    chunk({ type: 'block-end', index: 0, block })
    chunk({ type: 'finish', reason: { kind: 'stop' } })
    const sourceEventSeqs = Array.from({ length: events.length - first }, (_, index) => first + index)
    const source = { kind: 'model', ...config }
    const message = { id: `a${turn}`, role: 'assistant', content: [block], source }
    add('assistant/message', { ...place, message }, { sourceEventSeqs, surfaceOp: 'append' })
    add('step/end', place)
    add('turn/end', { turn, reason: { kind: 'completed' } })
  }
  return events
}

/** What this process holds, in MB; bytes outside of the heap included. */
function held(): number {
  const { process } = globalThis as unknown as { process: { memoryUsage(): Record<string, number> } }
  const { heapUsed = 0, external = 0 } = process.memoryUsage()
  return (heapUsed + external) / 1e6
}
const collect = (): void => (globalThis as { gc?: () => void }).gc?.()

/** Most that reading a file ever held, and what is left of it when it is done, in MB. */
async function memoryOf(bytes: Uint8Array): Promise<{ readonly peak: number; readonly result: number }> {
  collect()
  const before = held()
  let peak = 0
  const log = await readLog(bytes, { onProgress: () => (peak = Math.max(peak, held() - before)) })
  collect()
  const result = held() - before
  return { peak: Math.max(peak, result), result: log.events.length > 0 ? result : 0 }
}

/** Reading a file is little more than parsing its lines, migrating one of the oldest version included. */
export default async function (bench: Bench): Promise<readonly Row[]> {
  const count = bench.size(100_000)
  const file = fileOf(HEADER, bench.workload.v3(count, 'real'))
  const oldEvents = oldLog(count)
  const old = fileOf(V0_HEADER, oldEvents)
  const current = await bench.measure(
    { parse: () => () => parseLines(file), read: () => () => readLog(file) },
    { operations: count, rounds: 5, warmUp: 2 },
  )
  const migrated = await bench.measure(
    { parse: () => () => parseLines(old), read: () => () => readLog(old) },
    { operations: oldEvents.length, rounds: 3, warmUp: 1 },
  )
  const { peak, result } = await memoryOf(file)
  const megabytes = Math.round(file.length / 1e6)
  return [
    bench.row(
      `read a file of ${megabytes} MB, ${count} events, against JSON.parse of its lines, µs/event`,
      current.read,
      current.parse,
      '≤ 1.6×',
    ),
    bench.row(
      `read and migrate ${count} events of version 0 against JSON.parse of their lines, µs/event`,
      migrated.read,
      migrated.parse,
      '≤ 2.5×',
    ),
    bench.row(
      `memory at most while it is read, against 1.2 times what is left and 32 MB, MB`,
      peak,
      1.2 * result + 32,
      '≤ 1×',
    ),
  ]
}
