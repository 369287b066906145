import type { Bench, Contestant, Row } from '../../e2e/bench/harness.ts'
import type { SessionEvent } from '../core/events.ts'
import { emptyTranscript, evolveTranscript, foldTranscript, type Transcript } from './transcript.ts'
import { prependHistory } from './transcript-history.ts'

/** Each round goes on from `base` by all of `events`; the first is not measured: from it on nobody shares the ends. */
const evolveAll = (base: Transcript, events: readonly SessionEvent[]): Contestant => {
  const [first, ...rest] = events
  return () => {
    const start = evolveTranscript(base, first as SessionEvent)
    return () => {
      let state = start
      for (const event of rest) state = evolveTranscript(state, event)
      return state
    }
  }
}

/** Turns whose answers ask for `count` calls that all run, `turns` of them, and the results of each. */
function callsAtOnce(count: number, turns: number): Contestant {
  const ids = Array.from({ length: count }, (_, index) => `call-${index}`)
  const calls = ids.map(id => ({ type: 'tool-call', id, name: 'read', arguments: '{}' }))
  const source = { kind: 'model', provider: 'p', model: 'm' }
  const message = { id: 'a', role: 'assistant', content: calls, source }
  const result = (callId: string) => ({
    id: `r-${callId}`,
    role: 'user',
    content: [{ type: 'tool-result', toolCallId: callId, content: [{ type: 'text', text: 'ok' }] }],
    source: { kind: 'tool', callId },
  })
  const drafts = [
    { type: 'turn/start', data: { turn: 1 } },
    { type: 'assistant/message', data: { turn: 1, step: 1, message, stream: [] }, surfaceOp: 'append' },
    ...ids.map(callId => ({ type: 'tool/call', data: { turn: 1, step: 1, callId, name: 'read', arguments: '{}' } })),
    ...ids.map(id => ({ type: 'tool/result', data: { turn: 1, step: 1, message: result(id) }, surfaceOp: 'append' })),
  ]
  const events = drafts.map((draft, seq) => ({ ...draft, seq, time: seq })) as unknown as SessionEvent[]
  const asked = events.slice(0, 2 + count)
  const results = events.slice(2 + count)
  return () => {
    const starts = Array.from({ length: turns }, () => foldTranscript(asked))
    return () => starts.map(start => foldTranscript(results, start))
  }
}

/** What one event costs a transcript, whatever it has behind it. */
export default async function (bench: Bench): Promise<Row[]> {
  const more = bench.size(2_000)
  const lengths = [1_000, 10_000, 100_000].map(n => bench.size(n))
  const longest = lengths.at(-1) as number
  const log = bench.workload.v3(longest + more, 'small') as unknown as SessionEvent[]
  const bases = lengths.map(length => foldTranscript(log.slice(0, length)))
  const contestants = bases.map((base, index) => {
    const length = lengths[index] as number
    return [String(length), evolveAll(base, log.slice(length, length + more))] as const
  })
  const events = await bench.measure(Object.fromEntries(contestants), { operations: more - 1 })
  const [short = NaN, middle = NaN, long = NaN] = lengths.map(length => events[length])

  const rounds = { rounds: 25 }
  const [few, many] = [bench.size(100), bench.size(1_000)]
  const results = await bench.measure(
    { many: callsAtOnce(many, 1), few: callsAtOnce(few, many / few) },
    { operations: many, ...rounds },
  )

  const page = log.slice(0, 256)
  const paged = (count: number): Contestant => {
    const base = foldTranscript(log.slice(256, count), emptyTranscript(256))
    return () => () => prependHistory(base, page)
  }
  const pages = await bench.measure(
    { short: paged(lengths[0] as number), long: paged(longest) },
    { operations: 1, ...rounds },
  )

  return [
    bench.row(`transcript, an event at ${lengths[1]} against ${lengths[0]}, µs/event`, middle, short, '≤ 1.5×'),
    bench.row(`transcript, an event at ${longest} against ${lengths[0]}, µs/event`, long, short, '≤ 1.5×'),
    bench.row(
      `transcript, a result in a turn of ${many} calls against ${few}, µs/event`,
      results.many,
      results.few,
      '≤ 2×',
    ),
    bench.row(
      `transcript, a page of 256 before ${longest} events against ${lengths[0]}, µs/page`,
      pages.long,
      pages.short,
      '≤ 2×',
    ),
  ]
}
