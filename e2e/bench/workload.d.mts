export type Variant = 'small' | 'real'
/** One event of the workload: what to append, and how. */
export type WorkloadEvent = {
  readonly type: string
  readonly seq: number
  readonly time: number
  readonly data: unknown
  readonly surfaceOp?: 'append'
}
/** A pseudo-random sequence of numbers from 0 to 1, the same for the same seed. */
export declare function rng(seed: number): () => number
/** `n` events of an agent's session in format v0. */
export declare function makeEvents(n: number, variant?: Variant, seed?: number): WorkloadEvent[]
/** The same session in format v3, `n` events. */
export declare function makeV3Events(n: number, variant?: Variant, seed?: number): WorkloadEvent[]
/** A detached copy of plain JSON data. */
export declare function snapshot<Value>(value: Value): Value
export declare function deepFreeze<Value>(value: Value): Value
/** A detached, deep-frozen copy of plain JSON data, in one walk. */
export declare function snapFreeze<Value>(value: Value): Value
/** The median. */
export declare function med(values: readonly number[]): number
/** The value below which the fraction `p` of the values lies. */
export declare function pct(values: readonly number[], p: number): number
