import type { Bench, Contestant, Row } from '../../e2e/bench/harness.ts'
import type { PeerEvent } from '../../e2e/bench/peer.ts'
import type { Variant, WorkloadEvent } from '../../e2e/bench/workload.mjs'
import type { SessionEvent } from './events.ts'
import { Session } from './session.ts'
import { appendAll, type Log, restore } from './session.bench.ts'

/** Stored events: a text for each page of them. */
type Pages = readonly string[]

function pagesOf(events: readonly unknown[]): Pages {
  const page = (index: number) => JSON.stringify(events.slice(index * 128, (index + 1) * 128))
  return Array.from({ length: Math.ceil(events.length / 128) }, (_, index) => page(index))
}

function parsed<Event>(pages: Pages): readonly Event[] {
  const events: Event[] = []
  for (const page of pages) for (const event of JSON.parse(page) as Event[]) events.push(event)
  return events
}

/** What `count` restores are without their text: nobody has looked at the events before. */
const opening = <Event>(pages: Pages, open: (events: readonly Event[]) => unknown, count = 1): Contestant => {
  return () => {
    const logs = Array.from({ length: count }, () => parsed<Event>(pages))
    return () => logs.map(open)
  }
}

/** A log is restored in a time that follows its length, is small beside that of parsing it, and freezes nothing. */
async function restoreRows(bench: Bench, variant: Variant): Promise<readonly Row[]> {
  const { Session: Peer } = await bench.peer()
  const [short, long] = [bench.size(10_000), bench.size(100_000)]
  const log = bench.workload.v3(long, variant)
  const [shortPages, longPages] = [pagesOf(log.slice(0, short)), pagesOf(log)]
  const peerPages = pagesOf(bench.workload.v0(long, variant))
  const times = await bench.measure(
    {
      short: opening<SessionEvent>(shortPages, events => restore(events), long / short),
      long: opening<SessionEvent>(longPages, events => restore(events)),
      frozen: opening<SessionEvent>(longPages, events => restore(bench.workload.deepFreeze(events))),
      peer: opening<PeerEvent>(peerPages, events =>
        Peer.fromRestore('a', events, { version: 0, id: 'a', createdAt: 0 }),
      ),
      parse: () => () => parsed(longPages),
    },
    { operations: long, rounds: 5, warmUp: 2 },
  )
  // Small events are soon parsed, and we check payloads, which the predecessor does not.
  const goals =
    variant === 'small' ? ({ parse: '≤ 0.5×', peer: '≥ 1×' } as const) : ({ parse: '≤ 0.3×', peer: '≥ 1.5×' } as const)
  const at = `restore, ${variant}, at ${long}, against`
  return [
    bench.row(`restore, ${variant}, at ${long} against ${short}, µs/event`, times.long, times.short, '≤ 1.2×'),
    bench.row(`${at} JSON.parse of the same bytes, µs/event`, times.long, times.parse, goals.parse),
    bench.row(`${at} one that freezes, µs/event`, times.long, times.frozen, '≥ 1.3×'),
    bench.row(`${at} the predecessor, µs/event`, times.long, times.peer, goals.peer),
  ]
}

/** A log with its end after a keyframe. */
type Kept = {
  readonly keyframe: ReturnType<Session['keyframe']>
  readonly surfaceEvents: readonly SessionEvent[]
  readonly tail: readonly SessionEvent[]
  readonly whole: readonly SessionEvent[]
}

/** The log of `events`, of whose surface a compaction leaves `left` nodes if that is said, then a keyframe and the `tail`. */
function kept(events: readonly WorkloadEvent[], tail: readonly WorkloadEvent[], left?: number): Kept {
  const session = restore(events as unknown as readonly SessionEvent[])
  if (left !== undefined) compact(session, left)
  const keyframe = JSON.parse(JSON.stringify(session.keyframe())) as ReturnType<Session['keyframe']>
  const surfaceEvents = session.surface.nodes.map(seq => session.eventAt(seq) as SessionEvent)
  appendAll(tail, () => session)()()
  const whole = session.snapshotEvents()
  return { keyframe, surfaceEvents, tail: whole.slice(keyframe.seq), whole }
}

/** Summaries of 1,000 nodes, each with the summary before it, until `left` nodes are left with the system head. */
function compact(session: Session & Log, left: number): void {
  for (let round = 0; session.surface.length > left; round += 1) {
    const end = Math.min(1_000, session.surface.length - left + 1)
    const sourceEventSeqs = session.surface.nodes.slice(1, 1 + end)
    const surfaceOp = { op: 'replace', startSeq: sourceEventSeqs[0], endSeq: sourceEventSeqs.at(-1) }
    const content = [{ type: 'text', text: 'Summary' }]
    const data = { id: `summary-${round}`, role: 'user', source: { kind: 'user' }, content }
    session.append('user/message', data, { surfaceOp, sourceEventSeqs })
  }
}

const times = (count: number, open: () => unknown): Contestant => {
  return () => () => {
    let session: unknown
    for (let time = 0; time < count; time += 1) session = open()
    return session
  }
}

/** From a keyframe a session opens in a time that follows what is on its surface, and not how long its log is. */
async function keyframeRows(bench: Bench, variant: Variant): Promise<readonly Row[]> {
  const [short, long] = [bench.size(10_000), bench.size(100_000)]
  const log = bench.workload.v3(long + 100, variant)
  const keptAt = (length: number, left?: number) => kept(log.slice(0, length), log.slice(length, length + 100), left)
  const fromKeyframe = ({ keyframe, surfaceEvents, tail: events }: Kept) => {
    const header = { version: 3, id: 'a', createdAt: 0, isSeeded: false } as const
    return () => Session.fromKeyframe({ header, keyframe, surfaceEvents, events, now: () => 0 })
  }
  const left = bench.size(200)
  const [compacted, uncompacted] = [keptAt(long, left), keptAt(long)]
  const many = 200
  const opens = await bench.measure(
    {
      short: times(many, fromKeyframe(keptAt(short, left))),
      long: times(many, fromKeyframe(compacted)),
      whole: times(1, () => restore(compacted.whole)),
      uncompacted: times(1, fromKeyframe(uncompacted)),
      uncompactedWhole: times(1, () => restore(uncompacted.whole)),
    },
    { operations: { short: many, long: many, whole: 1, uncompacted: 1, uncompactedWhole: 1 }, rounds: 11 },
  )
  const name = `keyframe, ${variant}, ${left} nodes`
  return [
    bench.row(`${name}, at ${long}, against a restore, µs`, opens.long, opens.whole, '≥ 50×'),
    bench.row(`${name}, at ${long} against ${short}, µs`, opens.long, opens.short, '≤ 1.2×'),
    bench.row(
      `keyframe, ${variant}, all ${uncompacted.surfaceEvents.length} nodes, at ${long}, against a restore, µs`,
      opens.uncompacted,
      opens.uncompactedWhole,
      '≥ 1×',
    ),
  ]
}

/** A fork at an earlier seq folds what it inherits. */
async function forkRows(bench: Bench): Promise<readonly Row[]> {
  const lengths = [bench.size(10_000), bench.size(100_000)] as const
  const log = bench.workload.v3(lengths[1], 'small') as unknown as readonly SessionEvent[]
  const forking = (length: number): Contestant => {
    const session = restore(log.slice(0, length))
    const boundary = log.findLastIndex(({ type }, index) => index < length && type === 'turn/end')
    return () => () => session.fork({ id: 'b', boundary })
  }
  const [short, long] = lengths
  const forks = await bench.measure(
    { short: forking(short), long: forking(long) },
    { operations: { short, long }, rounds: 7, warmUp: 1 },
  )
  return [bench.row(`fork, small, at ${long} against ${short}, µs/event`, forks.long, forks.short, '≤ 1.5×')]
}

/** Goals of opening a stored session, without its storage. */
export default async function (bench: Bench): Promise<Row[]> {
  const rows: Row[] = []
  for (const variant of ['small', 'real'] as const) {
    rows.push(...(await restoreRows(bench, variant)), ...(await keyframeRows(bench, variant)))
  }
  return [...rows, ...(await forkRows(bench))]
}
