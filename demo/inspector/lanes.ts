/**
 * Lines of provenance beside the log: from an event that stands for others to each of them. Every replacement has a lane
 * of its own as far as there is room; a line that leaves the window runs to its edge.
 */
import { isReplaceSurfaceEvent, type SessionEvent } from 'palimpsest/core'

export type LanePart = {
  readonly lane: number
  /** `end`: the event that replaces; `source`: one it replaces; `through`: the line passes by. */
  readonly kind: 'end' | 'source' | 'through'
  /** Whether the line goes on upwards. */
  readonly up: boolean
  /** Whether the line goes on downwards. */
  readonly down: boolean
  /** Seq of the event that replaces. */
  readonly of: number
}

/** Lanes there is room for. */
export const LANES = 4

type Line = { readonly seq: number; readonly sources: ReadonlySet<number>; readonly first: number }

/** The parts of lines beside each event, by seq. `events` are consecutive. */
export function lanesOf(events: readonly SessionEvent[]): ReadonlyMap<number, readonly LanePart[]> {
  const parts = new Map<number, LanePart[]>()
  const start = events[0]?.seq ?? 0
  /** Seq up to which a lane is taken. */
  const taken: number[] = []
  for (const line of linesOf(events)) {
    const lane = freeLane(taken, line.first)
    if (lane === null) continue
    taken[lane] = line.seq
    for (let seq = Math.max(start, line.first); seq <= line.seq; seq += 1) {
      const kind = seq === line.seq ? 'end' : line.sources.has(seq) ? 'source' : 'through'
      const part: LanePart = { lane, kind, up: seq > line.first, down: seq < line.seq, of: line.seq }
      const beside = parts.get(seq)
      if (beside === undefined) parts.set(seq, [part])
      else beside.push(part)
    }
  }
  return parts
}

function linesOf(events: readonly SessionEvent[]): readonly Line[] {
  return events.flatMap(event => {
    if (!isReplaceSurfaceEvent(event)) return []
    const sources = new Set<number>(event.sourceEventSeqs ?? [])
    return sources.size === 0 ? [] : [{ seq: event.seq, sources, first: Math.min(...sources) }]
  })
}

function freeLane(taken: readonly number[], first: number): number | null {
  for (let lane = 0; lane < LANES; lane += 1) {
    const until = taken[lane]
    if (until === undefined || until < first) return lane
  }
  return null
}
