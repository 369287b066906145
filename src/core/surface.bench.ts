import type { Bench, Contestant, Row } from '../../e2e/bench/harness.ts'
import type { PeerSession } from '../../e2e/bench/peer.ts'
import type { Variant, WorkloadEvent } from '../../e2e/bench/workload.mjs'
import type { SessionEvent } from './events.ts'
import type { Session } from './session.ts'
import { appendAll, type Log, restore } from './session.bench.ts'
import { isSurfaceEventType } from './vocabulary.ts'

/** Whatever was read last. Kept where others could see it, so that no engine may leave a read out. */
const seen = { read: null as unknown, last: null as unknown, count: 0 }

function readOurs(session: Session): void {
  const { messages } = session
  seen.read = messages
  seen.last = messages.at(-1)
  seen.count += messages.length
}

function readPeer(session: PeerSession): void {
  const messages = session.deriveMessages()
  seen.read = messages
  seen.last = messages.at(-1)
  seen.count += messages.length
}

const readAll = <Read>(session: Read, read: (session: Read) => void, times: number): Contestant => {
  read(session)
  return () => () => {
    for (let time = 0; time < times; time += 1) read(session)
  }
}

type Replacement = { readonly data: unknown; readonly intent: unknown }

type Plan = { readonly count: number; readonly size: number; readonly keys: readonly [start: string, end: string] }

/** `count` replacements of `size` nodes each, all over the surface of `events` and apart from one another. */
function replacements(events: readonly WorkloadEvent[], { count, size, keys }: Plan): readonly Replacement[] {
  const nodes = events.filter(({ type }) => isSurfaceEventType(type)).map(({ seq }) => seq)
  // The first node is the system head, which a user message may not replace.
  const apart = Math.floor((nodes.length - 1) / count)
  return Array.from({ length: count }, (_, index) => {
    const sourceEventSeqs = nodes.slice(1 + index * apart, 1 + index * apart + size)
    const surfaceOp = { op: 'replace', [keys[0]]: sourceEventSeqs[0], [keys[1]]: sourceEventSeqs.at(-1) }
    const content = [{ type: 'text', text: `Summary ${index}` }]
    const data = { id: `summary-${index}`, role: 'user', source: { kind: 'user' }, content }
    return { data, intent: { surfaceOp, sourceEventSeqs } }
  })
}

const replaceAll = <Replaced extends Log>(
  planned: readonly Replacement[],
  create: () => Replaced,
  read: (session: Replaced) => void,
): Contestant => {
  return () => {
    const session = create()
    read(session)
    return () => {
      for (const { data, intent } of planned) {
        session.append('user/message', data, intent)
        read(session)
      }
      return session
    }
  }
}

/** Goals 11 and 12: what the model reads, read again, after an append and after a replacement, however long the log is. */
async function rowsOf(bench: Bench, variant: Variant): Promise<readonly Row[]> {
  const { Session: Peer } = await bench.peer()
  const [short, long] = [bench.size(10_000), bench.size(100_000)]
  const more = bench.size(10_000)
  const plan: Plan = { count: 10, size: bench.size(200), keys: ['startSeq', 'endSeq'] }
  const peerPlan: Plan = { ...plan, keys: ['start', 'end'] }
  const log = bench.workload.v3(long + more, variant)
  const [shortLog, longLog] = [log.slice(0, short), log.slice(0, long)] as const
  const peerLog = bench.workload.v0(long, variant)
  const ours = (events: readonly WorkloadEvent[]) => restore(events as unknown as readonly SessionEvent[])
  const peer = (): PeerSession => Peer.fromRestore('a', peerLog, { version: 0, id: 'a', createdAt: 0 })

  const [many, few] = [bench.size(1_000_000), bench.size(200)]
  const reads = await bench.measure(
    {
      short: readAll(ours(shortLog), readOurs, many),
      long: readAll(ours(longLog), readOurs, many),
      peer: readAll(peer(), readPeer, few),
    },
    { operations: { short: many, long: many, peer: few } },
  )

  const next = (length: number) => log.slice(length, length + more)
  const appends = await bench.measure(
    {
      short: appendAll(next(short), () => ours(shortLog)),
      long: appendAll(next(long), () => ours(longLog)),
      shortRead: appendAll(next(short), () => ours(shortLog), readOurs),
      longRead: appendAll(next(long), () => ours(longLog), readOurs),
    },
    { operations: more, rounds: 9 },
  )

  const replaces = await bench.measure(
    {
      short: replaceAll(replacements(shortLog, plan), () => ours(shortLog), readOurs),
      long: replaceAll(replacements(longLog, plan), () => ours(longLog), readOurs),
      peer: replaceAll(replacements(peerLog, peerPlan), peer, readPeer),
    },
    { operations: plan.count, rounds: 11 },
  )

  const growth = `${variant}, at ${long} against ${short}`
  const beside = `${variant}, at ${long}, against the predecessor`
  return [
    bench.row(`messages read again, ${beside}, µs/read`, reads.long, reads.peer, '≥ 100×'),
    bench.row(`messages read again, ${growth}, µs/read`, reads.long, reads.short, '≤ 1.2×'),
    bench.row(`append, ${growth}, µs/event`, appends.long, appends.short, '≤ 1.2×'),
    bench.row(`append and read, ${growth}, µs/event`, appends.longRead, appends.shortRead, '≤ 1.2×'),
    bench.row(`replace ${plan.size} nodes and read, ${beside}, µs/replacement`, replaces.long, replaces.peer, '≥ 20×'),
    bench.row(
      `replace ${plan.size} nodes and read, ${growth}, µs/replacement`,
      replaces.long,
      replaces.short,
      '≤ 1.5×',
    ),
  ]
}

export default async function (bench: Bench): Promise<Row[]> {
  return [...(await rowsOf(bench, 'small')), ...(await rowsOf(bench, 'real'))]
}
