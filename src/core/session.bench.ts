import type { Bench, Contestant, Row } from '../../e2e/bench/harness.ts'
import type { Variant, WorkloadEvent } from '../../e2e/bench/workload.mjs'
import type { SessionEvent } from './events.ts'
import { Session } from './session.ts'

/** What is measured of a session, untyped: the workload is data, checked by `append` as it runs. */
export type Log = { append(type: string, data: unknown, intent?: unknown): unknown }

const surfaceIntent = { surfaceOp: 'append' } as const

export const appendAll = <Appended extends Log>(
  events: readonly WorkloadEvent[],
  create: () => Appended,
  afterEach?: (log: Appended) => void,
): Contestant => {
  return () => {
    const log = create()
    return () => {
      for (const { type, data, surfaceOp } of events) {
        if (surfaceOp === undefined) log.append(type, data)
        else log.append(type, data, surfaceIntent)
        afterEach?.(log)
      }
      return log
    }
  }
}

/** A session of stored events, ready for untyped appends. */
export function restore(events: readonly SessionEvent[]): Session & Log {
  let time = 0
  const header = { version: 3, id: 'a', createdAt: 0, isSeeded: false } as const
  return Session.fromRestore({ header, events, now: () => (time += 1) }) as unknown as Session & Log
}

const cloneAll = (events: readonly WorkloadEvent[]): Contestant => {
  return () => () => {
    const kept: unknown[] = []
    for (const { data } of events) kept.push(structuredClone(data))
    return kept
  }
}

/** Goal 10: what one `append` costs in memory, against the predecessor's and against a bare clone of the payload. */
export default async function (bench: Bench): Promise<Row[]> {
  const { Session: PeerSession } = await bench.peer()
  const n = bench.size(10_000)
  /** Ours beside each other contestant in turn, so that neither pays for the garbage of the third. */
  const measure = async (variant: Variant) => {
    const v0 = bench.workload.v0(n, variant)
    const v3 = bench.workload.v3(n, variant)
    let now = 0
    const ours = appendAll(v3, () => Session.create({ id: 'a', now: () => (now += 1) }) as unknown as Log)
    const options = { operations: n, rounds: variant === 'small' ? 25 : 9 }
    return {
      clone: await bench.measure({ ours, other: cloneAll(v3) }, options),
      peer: await bench.measure({ ours, other: appendAll(v0, () => PeerSession.create('a')) }, options),
    }
  }

  const small = await measure('small')
  const real = await measure('real')
  return [
    bench.row('append, small, against the predecessor, µs/event', small.peer.ours, small.peer.other, '≥ 5×'),
    bench.row('append, small, against structuredClone, µs/event', small.clone.ours, small.clone.other, '≤ 0.75×'),
    bench.row('append, real, against the predecessor, µs/event', real.peer.ours, real.peer.other, '≥ 3×'),
    bench.row('append, real, against structuredClone, µs/event', real.clone.ours, real.clone.other, '≤ 1×'),
  ]
}
