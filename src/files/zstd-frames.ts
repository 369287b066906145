/**
 * Where the frames of a zstd file begin and end. The decompressor knows neither: what it gives out cannot be told apart
 * by frames, checksums and sizes are not compared by it, and it makes room for whatever a header asks for. Follows RFC
 * 8878, section 3.1.
 */
import { JoinedBytes } from './bytes.ts'

type Frame = {
  /** Whether its last part has a checksum. */
  readonly hasChecksum: boolean
  /** Bytes of its content, where it says so. */
  readonly contentSize: number | null
}

/** Consecutive bytes of one frame; `checksum` comes with the last ones, when the frame has one. */
export type FramePart = Frame & {
  readonly bytes: Uint8Array
  readonly isFirst: boolean
  readonly isLast: boolean
  /** Lower 32 bits of the XXH64 of the content. */
  readonly checksum?: number
}

const MAGIC = 0xfd2fb528
/** The first of sixteen. */
const SKIPPABLE = 0x184d2a50
const isSkippable = (magic: number): boolean => magic >>> 4 === SKIPPABLE >>> 4

/** Most bytes of content a frame may refer back to, 32 MiB: the decompressor cannot follow references much farther. */
const LARGEST_WINDOW = 1 << 25
/** Most bytes of a block, and of its content. */
const LARGEST_BLOCK = 1 << 17

/** True for the first four bytes of a zstd file. */
export const isZstd = (bytes: Uint8Array): boolean => {
  const magic = uint32(bytes, 0)
  return bytes.length >= 4 && (magic === MAGIC || isSkippable(magic))
}

/** Whether these bytes, fewer than four, may begin a frame. */
function mayBegin(bytes: Uint8Array): boolean {
  const magic = uint32(bytes, 0)
  const mask = (1 << (8 * bytes.length)) - 1
  return ((magic ^ MAGIC) & mask) === 0 || ((magic ^ SKIPPABLE) & mask & ~15) === 0
}

/** Cuts a file into parts of frames, whatever pieces it comes in. Skippable frames are left out. */
export class FrameCutter {
  readonly #rest = new JoinedBytes()
  /** Bytes there must be before anything can be done with them. */
  #wanted = 0
  #skip = 0
  #frame: Frame | null = null
  #count = 0

  /** Whether what was pushed so far ends between frames. */
  get isWhole(): boolean {
    return this.#frame === null && this.#rest.length === 0 && this.#skip === 0
  }

  /** Which frame it is at, the first one being 1. */
  get count(): number {
    return this.#count
  }

  /** The parts that are complete with `bytes`; a text that says what is wrong once the file cannot be read on. */
  *push(bytes: Uint8Array): Generator<FramePart, string | null> {
    let data = bytes
    if (this.#rest.length > 0) {
      this.#rest.push(bytes)
      if (this.#rest.length < this.#wanted) return null
      data = this.#rest.bytes
      this.#rest.clear()
    }
    for (;;) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, data.length)
        this.#skip -= skipped
        data = data.subarray(skipped)
      }
      if (data.length === 0) return null
      if (this.#frame === null) {
        if (data.length < 4) {
          if (!mayBegin(data)) return NO_FRAME
          this.#wanted = data.length + 1
          break
        }
        const magic = uint32(data, 0)
        if (isSkippable(magic)) {
          this.#wanted = 8
          if (data.length < 8) break
          this.#skip = uint32(data, 4)
          data = data.subarray(8)
          continue
        }
        if (magic !== MAGIC) return NO_FRAME
        const length = headerLength(data)
        this.#wanted = length
        if (data.length < length) break
        this.#count += 1
        const frame = frameOf(data)
        if (typeof frame === 'string') return this.#says(frame)
        this.#frame = frame
        yield { ...frame, bytes: data.slice(0, length), isFirst: true, isLast: false }
        data = data.subarray(length)
        continue
      }
      const { length, size, isLast } = blockOf(data, this.#frame.hasChecksum)
      if (size > LARGEST_BLOCK) return this.#says('is damaged: a block is longer than blocks can be')
      this.#wanted = length
      if (data.length < length) break
      if (hasEndlessWeights(data.subarray(0, length))) return this.#says('is damaged: a table of weights never ends')
      const part = { ...this.#frame, bytes: data.slice(0, length), isFirst: false, isLast }
      yield isLast && part.hasChecksum ? { ...part, checksum: uint32(data, length - 4) } : part
      data = data.subarray(length)
      if (isLast) this.#frame = null
    }
    this.#rest.push(data)
    return null
  }

  #says(what: string): string {
    return `Frame ${this.#count} of the zstd file ${what}`
  }
}

const NO_FRAME = 'Expected the beginning of a zstd frame'

function uint32(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(at, at + 4)
  return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0
}

/** How long the fields of a frame's header are, by the byte that describes it. */
const fieldsOf = (descriptor: number) => {
  const isSingle = (descriptor & 32) !== 0
  return {
    isSingle,
    dictionary: [0, 1, 2, 4][descriptor & 3] as number,
    size: [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] as number,
  }
}

/** Bytes of a frame's header, or those it takes to know. */
function headerLength(data: Uint8Array): number {
  const descriptor = data[4]
  if (descriptor === undefined) return 5
  const { isSingle, dictionary, size } = fieldsOf(descriptor)
  return 5 + (isSingle ? 0 : 1) + dictionary + size
}

/** What a whole header says; a text for a frame that cannot be read. */
function frameOf(data: Uint8Array): Frame | string {
  const descriptor = data[4] as number
  const { isSingle, dictionary, size } = fieldsOf(descriptor)
  const at = isSingle ? 5 : 6
  const id = uint32(data.subarray(at, at + dictionary), 0)
  if (id !== 0) return `was compressed with a dictionary (${id}), which is not there`
  const field = data.subarray(at + dictionary, at + dictionary + size)
  const contentSize = size === 0 ? null : uint32(field, 0) + uint32(field, 4) * 2 ** 32 + (size === 2 ? 256 : 0)
  const window = isSingle ? (contentSize ?? 0) : windowOf(data[5] as number)
  if (window > LARGEST_WINDOW) {
    return `needs a window of ${Math.ceil(window / 2 ** 20)} MiB; at most ${LARGEST_WINDOW / 2 ** 20} MiB can be read`
  }
  return { hasChecksum: (descriptor & 4) !== 0, contentSize }
}

const windowOf = (descriptor: number): number => 2 ** (10 + (descriptor >> 3)) * (1 + (descriptor & 7) / 8)

/** The next block of a frame: its bytes with what ends the frame when it is the last, or those it takes to know. */
function blockOf(data: Uint8Array, hasChecksum: boolean): { length: number; size: number; isLast: boolean } {
  if (data.length < 3) return { length: 3, size: 0, isLast: false }
  const [low, middle, high] = data as unknown as [number, number, number]
  const header = low | (middle << 8) | (high << 16)
  const isLast = (header & 1) !== 0
  const isRepeated = ((header >> 1) & 3) === 1
  const size = header >> 3
  return { length: 3 + (isRepeated ? 1 : size) + (isLast && hasChecksum ? 4 : 0), size, isLast }
}

/**
 * Whether a block begins with Huffman weights that are compressed with a table of one symbol (RFC 8878, 4.2.1.2). Reading
 * one takes no bits, so that the end, which is that the bits are used up, never comes: the decompressor does not notice.
 */
function hasEndlessWeights(block: Uint8Array): boolean {
  const [first = 0, , , literals = 0] = block
  const isCompressed = ((first >> 1) & 3) === 2 && (literals & 3) === 2
  if (!isCompressed) return false
  // Behind the block's header, the sizes of the literals; their weights are compressed when they take less than 128 bytes.
  const weights = 3 + ([3, 3, 4, 5][(literals >> 2) & 3] as number)
  if ((block[weights] ?? 255) >= 128) return false
  const table = block.subarray(weights + 1)
  let at = 4
  const bits = (count: number): number => {
    const value = (uint32(table, at >> 3) >>> (at & 7)) & ((1 << count) - 1)
    at += count
    return value
  }
  const all = 1 << (((table[0] ?? 0) & 15) + 5)
  // What is left over is shared by the symbols in order; each says its part plus one, in as few bits as that may need.
  for (;;) {
    const largest = all + 1
    const count = 32 - Math.clz32(largest)
    const short = (1 << count) - 1 - largest
    const low = bits(count - 1)
    let value = low
    if (low >= short) {
      value = low + (bits(1) << (count - 1))
      if (value >= 1 << (count - 1)) value -= short
    }
    const part = value - 1
    if (part !== 0) return part === all
    // A symbol that does not occur says how many after it do not either, three at a time.
    let repeats = 3
    while (repeats === 3 && at < 8 * table.length) repeats = bits(2)
    if (at >= 8 * table.length) return false
  }
}
