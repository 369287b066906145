/** For tests only: a log of format 0 as the lines of a file, spelled every way its writers spelled it. */
import type { StoredEvent } from '../format/stored.ts'

type Members = Readonly<Record<string, unknown>>
type Chunk = Members & { readonly type: string; readonly index: number }
type ChunkData = { readonly turn: number; readonly step: number; readonly chunk: Chunk }

/** What a run of deltas has in common; null for what is no plain delta. */
function runOf(event: StoredEvent | undefined): { readonly key: string; readonly part: string } | null {
  if (event?.type !== 'assistant/chunk') return null
  const { turn, step, chunk } = event.data as ChunkData
  const { type, index, text, id, name, argumentsDelta, ...rest } = chunk as Chunk & Record<string, string>
  const part = type === 'tool-call-delta' ? argumentsDelta : /^(text|reasoning)-delta$/.test(type) ? text : undefined
  if (part === undefined || Object.keys(rest).length > 0) return null
  const row = { turn, step, index, ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }) }
  return { key: JSON.stringify([type, row]), part }
}

/** Deltas in columns. */
function rowOf(events: readonly StoredEvent[]): Members {
  const [first] = events as readonly [StoredEvent]
  const parts = events.map(event => runOf(event)?.part)
  const [type, row] = JSON.parse(runOf(first)?.key ?? '') as [string, Members]
  const dt = events.slice(1).map(({ time }, before) => time - (events[before]?.time ?? 0))
  const column = type === 'tool-call-delta' ? { args: parts } : { texts: parts }
  const kind = type.replace('-delta', '-chunks')
  return { type: kind, seq0: first.seq, time0: first.time, data: { ...row, dt, ...column } }
}

/** The list with runs as `[first, last]`; the list as it is where it is not in order. */
function withRuns(seqs: readonly number[]): readonly unknown[] {
  if (seqs.some((seq, at) => at > 0 && seq <= (seqs[at - 1] as number))) return seqs
  const runs: [number, number][] = []
  for (const seq of seqs) {
    const last = runs.at(-1)
    if (last?.[1] === seq - 1) last[1] = seq
    else runs.push([seq, seq])
  }
  return runs.map(([first, last]) => (first === last ? first : [first, last]))
}

/** The lines of a log, header first, each without newline. `choices` say what is packed; without any nothing is. */
export function linesOf(header: Members, events: readonly StoredEvent[], choices: readonly number[] = []): string[] {
  let next = 0
  const pick = (below: number) => (choices[next++ % Math.max(choices.length, 1)] ?? 0) % below
  const lines: unknown[] = [{ type: 'session', ...header }]
  for (let at = 0; at < events.length; ) {
    const key = runOf(events[at])?.key
    const most = key === undefined ? 0 : pick(5)
    let length = 0
    while (length < most && runOf(events[at + length])?.key === key) length += 1
    if (length > 0) lines.push(rowOf(events.slice(at, at + length)))
    else {
      const event = events[at] as StoredEvent
      const { sourceEventSeqs: list } = event
      const isPacked = Array.isArray(list) && pick(2) === 1
      lines.push(isPacked ? { ...event, sourceEventSeqs: withRuns(list as number[]) } : event)
    }
    at += Math.max(length, 1)
  }
  return lines.map(line => JSON.stringify(line))
}
