/**
 * Measures contestants side by side: interleaved rounds in shuffled order, medians. A `*.bench.ts` file default-exports
 * a function from a `Bench` to rows; `npm run bench` runs each file in a process (and so a heap) of its own. Knows
 * neither Node nor the DOM.
 */
import type { Peer } from './peer.ts'
import type { Variant, WorkloadEvent } from './workload.mjs'

/** One line of the report. Figures are in the unit that `name` ends with; `ratio` points the way `goal` does. */
export type Row = {
  readonly name: string
  readonly ours: number
  /** The other contestant: the predecessor, or what `name` says. */
  readonly peer: number
  readonly ratio: number
  readonly goal: Goal
  readonly met: boolean
}

/** `≥ 5×`: at least 5 times as fast as the other. `≤ 0.75×`: at most 0.75 of its time. */
export type Goal = `≥ ${number}×` | `≤ ${number}×`

/** Prepares one round, unmeasured, and returns what is measured. What that returns is held until the next round of it. */
export type Contestant = () => () => unknown

export type MeasureOptions<Name extends string = string> = {
  /** How many operations one round does, of all contestants or of each: times are per operation. */
  readonly operations: number | Readonly<Record<Name, number>>
  /** Measured rounds; default 9. */
  readonly rounds?: number
  /** Rounds before that; default 4. */
  readonly warmUp?: number
}

export type Bench = {
  /** A look whether everything runs: less data, fewer rounds, no figures to quote. */
  readonly quick: boolean
  /** `n`, or a tenth of it for a quick look. */
  size(n: number): number
  readonly workload: {
    v0(n: number, variant: Variant): readonly WorkloadEvent[]
    v3(n: number, variant: Variant): readonly WorkloadEvent[]
    /** Freezes plain JSON data, all the way down. */
    deepFreeze<Value>(value: Value): Value
  }
  /** The predecessor. */
  peer(): Promise<Peer>
  /** Median time of one operation in µs, for each contestant. */
  measure<Name extends string>(
    contestants: Readonly<Record<Name, Contestant>>,
    options: MeasureOptions<Name>,
  ): Promise<Record<Name, number>>
  /** A row judged by its goal. */
  row(name: string, ours: number, peer: number, goal: Goal): Row
}

export type BenchModule = { readonly default: (bench: Bench) => Promise<readonly Row[]> }

type Parts = Pick<Bench, 'quick' | 'workload' | 'peer'>

const collect = (globalThis as { gc?: () => void }).gc
/**
 * The last result of each contestant. The engine's hidden classes live as long as their objects: were all of them
 * collected between rounds, each round would measure compiling anew, which no long-lived page does.
 */
const held = new Map<Contestant, unknown>()

/** A bench over its parts. */
export function createBench(parts: Parts): Bench {
  return {
    ...parts,
    size: n => (parts.quick ? Math.ceil(n / 10) : n),
    row: judge,
    async measure(contestants, { operations, rounds = 9, warmUp = 4 }) {
      const names = Object.keys(contestants) as (keyof typeof contestants)[]
      const times = Object.fromEntries(names.map(name => [name, [] as number[]])) as Record<string, number[]>
      const all = parts.quick ? 2 : warmUp + rounds
      for (let round = 0; round < all; round += 1) {
        for (const name of shuffled(names)) {
          const time = await timeOf(contestants[name])
          const count = typeof operations === 'number' ? operations : operations[name]
          if (round >= (parts.quick ? 1 : warmUp)) times[name]?.push((time * 1000) / count)
        }
      }
      held.clear()
      const medians = names.map(name => [name, median(times[name] ?? [])])
      return Object.fromEntries(medians) as Record<keyof typeof contestants, number>
    },
  }
}

/** Ms that one round takes. Garbage of the round before is collected first, where that can be asked for. */
async function timeOf(contestant: Contestant): Promise<number> {
  const run = contestant()
  collect?.()
  const start = performance.now()
  let result = run()
  if (result instanceof Promise) result = await result
  const time = performance.now() - start
  held.set(contestant, result)
  return time
}

/** A row judged by its goal. */
export function judge(name: string, ours: number, peer: number, goal: Goal): Row {
  const limit = Number(goal.slice(2, -1))
  const atLeast = goal.startsWith('≥')
  const ratio = atLeast ? peer / ours : ours / peer
  return { name, ours, peer, ratio, goal, met: atLeast ? ratio >= limit : ratio <= limit }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2
}

export function shuffled<Item>(items: readonly Item[]): Item[] {
  const left = [...items]
  const result: Item[] = []
  while (left.length > 0) result.push(...left.splice(Math.floor(Math.random() * left.length), 1))
  return result
}
