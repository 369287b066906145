/** The workload as whole turns a session takes, and the compactions that keep its surface short. */
import type { Session } from 'palimpsest/core'
import { makeV3Events, type Variant, type WorkloadEvent } from '../workload.mjs'

/** `append` untyped: the workload is data, checked as it is appended. */
type Appending = { append(type: string, data: unknown, intent?: unknown): unknown }

export type WorkloadRange = { readonly count: number; readonly variant: Variant }

/** How many events are made at once, so that a long log is never in memory twice. */
const CHUNK = 10_000

/**
 * A session of `count` events in chunks, less what its last turn would have beyond that. Each chunk begins where the
 * turns of the one before ended.
 */
export function* chunksOf({ count, variant }: WorkloadRange): Generator<readonly WorkloadEvent[]> {
  let turns = 0
  let length = 0
  for (let seed = 1; length < count; seed += 1) {
    const wanted = Math.min(CHUNK, count - length)
    const events = wholeTurns(makeV3Events(wanted, variant, seed)).filter(
      ({ type }) => seed === 1 || type !== 'system/message',
    )
    // A turn does not fit any more.
    if (events.length === 0) return
    const before = turns
    yield events.map((event, index) => {
      const data = event.data as { turn?: number; reason?: unknown }
      if (event.type === 'turn/end') turns += 1
      const turn = data.turn === undefined ? {} : { turn: data.turn + before }
      const reason = seed > 1 && event.type === 'request/header' ? { reason: 'series' } : {}
      return { ...event, seq: length + index, data: { ...data, ...turn, ...reason } }
    })
    length += events.length
  }
}

/** All of `chunksOf` at once. */
export const eventsOf = (range: WorkloadRange): readonly WorkloadEvent[] => [...chunksOf(range)].flat()

/** Events that are written to a database. */
export type Writing = WorkloadRange & {
  readonly database: string
  /** Writes as much to another database first: a worker that writes much has written before. */
  readonly warmUp: boolean
}

/** Writes the events, after warming up if that is wanted; answers what `write` answers for all of them. */
export async function writing<Result>(
  { database, warmUp, ...range }: Writing,
  write: (database: string, events: readonly WorkloadEvent[]) => Promise<Result>,
): Promise<Result> {
  const events = eventsOf(range)
  if (warmUp) await write(`${database}-warm-up`, events)
  return write(database, events)
}

const wholeTurns = (events: readonly WorkloadEvent[]): readonly WorkloadEvent[] =>
  events.slice(0, events.findLastIndex(({ type }) => type === 'turn/end') + 1)

const onSurface = { surfaceOp: 'append' } as const

export function appendTo(session: Session, { type, data, surfaceOp }: WorkloadEvent): void {
  const log = session as unknown as Appending
  if (surfaceOp === undefined) log.append(type, data)
  else log.append(type, data, onSurface)
}

/** Puts a summary in the place of the earliest nodes, so that `left` nodes are left; the first one stays. */
export function compact(session: Session, left: number): void {
  const { nodes } = session.surface
  if (nodes.length <= left) return
  const sourceEventSeqs = [...nodes].slice(1, nodes.length - left + 2)
  const surfaceOp = { op: 'replace', startSeq: sourceEventSeqs[0], endSeq: sourceEventSeqs.at(-1) }
  const content = [{ type: 'text', text: 'What was said until now, in a few words. '.repeat(20) }]
  const data = { id: `summary-${session.length}`, role: 'user', source: { kind: 'user' }, content }
  const log = session as unknown as Appending
  log.append('user/message', data, { surfaceOp, sourceEventSeqs })
}
