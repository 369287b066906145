/**
 * An immutable list for values that are shown: its successors share all they can with it, so that what did not change
 * keeps its reference and nothing costs as much as the whole (SPEC V1).
 */

/** Most values of a chunk. */
const CHUNK = 32

/** Values of consecutive positions; never changed once it is part of a sequence. */
type Chunk<Value> = { readonly start: number; readonly values: readonly Value[] }

/**
 * Full chunks and a tail. Sequences that extend one another share both: the longest one pushes at their ends, and a
 * shorter one never looks beyond its own length. Appending, and setting near the end, costs the same at every length.
 */
export class Sequence<Value> implements Iterable<Value> {
  readonly length: number
  readonly #chunks: Chunk<Value>[]
  /** How many of the chunks are part of this sequence. */
  readonly #full: number
  readonly #tail: Value[]
  readonly #tailStart: number

  private constructor(chunks: Chunk<Value>[], full: number, tail: Value[], tailStart: number, length: number) {
    this.#chunks = chunks
    this.#full = full
    this.#tail = tail
    this.#tailStart = tailStart
    this.length = length
  }

  static readonly empty: Sequence<never> = new Sequence<never>([], 0, [], 0, 0)

  /** The sequence of `values`, in their order. */
  static from<Value>(values: Iterable<Value>): Sequence<Value> {
    let sequence: Sequence<Value> = Sequence.empty
    for (const value of values) sequence = sequence.append(value)
    return sequence
  }

  /** The value at `index`; negative counts from the end; `undefined` outside. */
  at(index: number): Value | undefined {
    const wanted = index < 0 ? this.length + index : index
    if (!(wanted >= 0 && wanted < this.length)) return undefined
    if (wanted >= this.#tailStart) return this.#tail[wanted - this.#tailStart]
    const { start, values } = this.#chunks[this.#chunkAt(wanted)] as Chunk<Value>
    return values[wanted - start]
  }

  /** This sequence with `value` at its end. */
  append(value: Value): Sequence<Value> {
    const used = this.length - this.#tailStart
    if (used < CHUNK) {
      const owned = this.#tail.length === used && this.length > 0
      const tail = owned ? this.#tail : this.#tail.slice(0, used)
      tail.push(value)
      return new Sequence(this.#chunks, this.#full, tail, this.#tailStart, this.length + 1)
    }
    const chunks = this.#chunks.length === this.#full ? this.#chunks : this.#chunks.slice(0, this.#full)
    chunks.push({ start: this.#tailStart, values: this.#tail })
    return new Sequence(chunks, this.#full + 1, [value], this.length, this.length + 1)
  }

  /** This sequence with `value` at `index`; negative counts from the end. @throws {RangeError} outside. */
  set(index: number, value: Value): Sequence<Value> {
    const wanted = index < 0 ? this.length + index : index
    this.#demand(wanted)
    if (this.at(wanted) === value) return this
    if (wanted >= this.#tailStart) {
      const tail = this.#tail.slice(0, this.length - this.#tailStart)
      tail[wanted - this.#tailStart] = value
      return new Sequence(this.#chunks, this.#full, tail, this.#tailStart, this.length)
    }
    const position = this.#chunkAt(wanted)
    const { start, values } = this.#chunks[position] as Chunk<Value>
    const copy = values.slice()
    copy[wanted - start] = value
    const chunks = this.#chunks.slice(0, this.#full)
    chunks[position] = { start, values: copy }
    return new Sequence(chunks, this.#full, this.#tail, this.#tailStart, this.length)
  }

  /** This sequence with all `changes` made; each chunk they touch is copied once. @throws {RangeError} outside. */
  setAll(changes: Iterable<readonly [index: number, value: Value]>): Sequence<Value> {
    let chunks: Chunk<Value>[] | null = null
    let tail: Value[] | null = null
    const copies = new Map<number, Value[]>()
    for (const [index, value] of changes) {
      this.#demand(index)
      if (index >= this.#tailStart) {
        tail ??= this.#tail.slice(0, this.length - this.#tailStart)
        tail[index - this.#tailStart] = value
        continue
      }
      chunks ??= this.#chunks.slice(0, this.#full)
      const position = this.#chunkAt(index)
      const { start, values } = chunks[position] as Chunk<Value>
      let copy = copies.get(position)
      if (copy === undefined) {
        copy = values.slice()
        copies.set(position, copy)
        chunks[position] = { start, values: copy }
      }
      copy[index - start] = value
    }
    if (chunks === null && tail === null) return this
    return new Sequence(chunks ?? this.#chunks, this.#full, tail ?? this.#tail, this.#tailStart, this.length)
  }

  /**
   * This sequence with the values at positions `from` to `to` (both included) replaced by `values`.
   *
   * @throws {RangeError} when that is no range of it.
   */
  splice(from: number, to: number, values: readonly Value[]): Sequence<Value> {
    if (!(this.#has(from) && this.#has(to) && from <= to)) {
      throw new RangeError(`Expected a range of ${this.length} values; found ${from} to ${to}`)
    }
    const old = this.#allChunks()
    const first = lastAtMost(old, from)
    const last = lastAtMost(old, to)
    const { start: firstStart, values: firstValues } = old[first] as Chunk<Value>
    const { start: lastStart, values: lastValues } = old[last] as Chunk<Value>
    const before = firstValues.slice(0, from - firstStart)
    const after = lastValues.slice(to - lastStart + 1)
    const chunks = old.slice(0, first)
    cut([...before, ...values, ...after], firstStart, chunks)
    shifted(old.slice(last + 1), values.length - (to - from + 1), chunks)
    return Sequence.#of(chunks)
  }

  /** This sequence with `values` before its first. */
  prepend(values: readonly Value[]): Sequence<Value> {
    if (values.length === 0) return this
    if (this.length === 0) return Sequence.from(values)
    const chunks: Chunk<Value>[] = []
    cut(values, 0, chunks)
    shifted(this.#allChunks(), values.length, chunks)
    return Sequence.#of(chunks)
  }

  /** Values `start` (inclusive) to `end` (exclusive) as a new array; negative counts from the end. */
  slice(start = 0, end: number = this.length): Value[] {
    const position = (index: number) => Math.min(Math.max(0, index < 0 ? this.length + index : index), this.length)
    const [from, to] = [position(start), position(end)]
    const result: Value[] = []
    if (from >= to) return result
    for (let index = this.#chunkAt(from); index < this.#full; index += 1) {
      const chunk = this.#chunks[index] as Chunk<Value>
      if (chunk.start >= to) return result
      for (const value of chunk.values.slice(Math.max(0, from - chunk.start), to - chunk.start)) result.push(value)
    }
    const inTail = this.#tail.slice(Math.max(0, from - this.#tailStart), Math.max(0, to - this.#tailStart))
    for (const value of inTail) result.push(value)
    return result
  }

  *[Symbol.iterator](): Iterator<Value> {
    for (let index = 0; index < this.#full; index += 1) yield* (this.#chunks[index] as Chunk<Value>).values
    const used = this.length - this.#tailStart
    for (let index = 0; index < used; index += 1) yield this.#tail[index] as Value
  }

  #has(index: number): boolean {
    return Number.isInteger(index) && index >= 0 && index < this.length
  }

  #demand(index: number): void {
    if (!this.#has(index)) throw new RangeError(`Expected an index below ${this.length}; found ${index}`)
  }

  /** Position of the chunk that holds `index`; the number of chunks when the tail does. */
  #chunkAt(index: number): number {
    return index >= this.#tailStart ? this.#full : lastAtMost(this.#chunks, index, this.#full)
  }

  /** All chunks, the tail as the last one: a copy that nobody pushes to. */
  #allChunks(): Chunk<Value>[] {
    const chunks = this.#chunks.slice(0, this.#full)
    const tail = this.#tail.slice(0, this.length - this.#tailStart)
    if (tail.length > 0) chunks.push({ start: this.#tailStart, values: tail })
    return chunks
  }

  /** The sequence of `chunks`, which it takes over. */
  static #of<Value>(chunks: Chunk<Value>[]): Sequence<Value> {
    const last = chunks.pop()
    if (last === undefined) return Sequence.empty
    const { start, values } = last
    return new Sequence(chunks, chunks.length, values.slice(), start, start + values.length)
  }
}

/** Adds `values` to `chunks` as chunks that begin at `start`. */
function cut<Value>(values: readonly Value[], start: number, chunks: Chunk<Value>[]): void {
  for (let index = 0; index < values.length; index += CHUNK) {
    chunks.push({ start: start + index, values: values.slice(index, index + CHUNK) })
  }
}

/** Adds `old` to `chunks`, moved by `distance`. */
function shifted<Value>(old: readonly Chunk<Value>[], distance: number, chunks: Chunk<Value>[]): void {
  for (const chunk of old) {
    chunks.push(distance === 0 ? chunk : { start: chunk.start + distance, values: chunk.values })
  }
}

/** Position of the last of the first `count` chunks that starts at or before `wanted`. */
function lastAtMost(chunks: readonly Chunk<unknown>[], wanted: number, count: number = chunks.length): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((chunks[middle] as Chunk<unknown>).start <= wanted) low = middle + 1
    else high = middle
  }
  return low - 1
}
