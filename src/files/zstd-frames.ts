/**
 * Where the frames of a zstd file begin and end. The decompressor knows neither: what it gives out cannot be told apart
 * by frames, and checksums are not compared by it. Follows RFC 8878, section 3.1.
 */

/** Consecutive bytes of one frame; `checksum` comes with the last ones, when the frame has one. */
export type FramePart = {
  readonly bytes: Uint8Array
  readonly isFirst: boolean
  readonly isLast: boolean
  /** Whether its last part has a checksum. */
  readonly hasChecksum: boolean
  /** Lower 32 bits of the XXH64 of the content. */
  readonly checksum?: number
}

const MAGIC = 0xfd2fb528
const isSkippable = (magic: number): boolean => magic >>> 4 === 0x0184d2a5

/** True for the first four bytes of a zstd file. */
export const isZstd = (bytes: Uint8Array): boolean => {
  const magic = uint32(bytes, 0)
  return bytes.length >= 4 && (magic === MAGIC || isSkippable(magic))
}

/** Cuts a file into parts of frames, whatever pieces it comes in. Skippable frames are left out. */
export class FrameCutter {
  #rest = new Uint8Array(0)
  #skip = 0
  /** Inside a frame: whether it has a checksum. */
  #frame: { readonly hasChecksum: boolean } | null = null

  /** Whether what was pushed so far ends between frames. */
  get isWhole(): boolean {
    return this.#frame === null && this.#rest.length === 0 && this.#skip === 0
  }

  /** The parts that are complete with `bytes`; a text that says what is wrong when there is no frame where one should be. */
  *push(bytes: Uint8Array): Generator<FramePart, string | null> {
    let data = joined(this.#rest, bytes)
    this.#rest = EMPTY
    for (;;) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, data.length)
        this.#skip -= skipped
        data = data.subarray(skipped)
        if (this.#skip > 0) return null
      }
      if (data.length === 0) return null
      if (this.#frame === null) {
        if (data.length >= 4 && isSkippable(uint32(data, 0))) {
          if (data.length < 8) break
          this.#skip = uint32(data, 4)
          data = data.subarray(8)
          continue
        }
        if (data.length >= 4 && uint32(data, 0) !== MAGIC) return 'Expected the beginning of a zstd frame'
        const length = headerLength(data)
        if (length === null) break
        const hasChecksum = ((data[4] as number) & 4) !== 0
        this.#frame = { hasChecksum }
        yield { bytes: data.slice(0, length), isFirst: true, isLast: false, hasChecksum }
        data = data.subarray(length)
        continue
      }
      const block = blockOf(data, this.#frame.hasChecksum)
      if (block === null) break
      yield block
      data = data.subarray(block.bytes.length)
      if (block.isLast) this.#frame = null
    }
    this.#rest = data.slice()
    return null
  }
}

const EMPTY = new Uint8Array(0)

function joined(left: Uint8Array, right: Uint8Array): Uint8Array {
  if (left.length === 0) return right
  const both = new Uint8Array(left.length + right.length)
  both.set(left)
  both.set(right, left.length)
  return both
}

function uint32(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(at, at + 4)
  return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0
}

/** Bytes of a frame's header; null while it is not there as a whole. */
function headerLength(data: Uint8Array): number | null {
  const descriptor = data[4]
  if (descriptor === undefined) return null
  const isSingle = (descriptor & 32) !== 0
  const dictionary = [0, 1, 2, 4][descriptor & 3] as number
  const size = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] as number
  const length = 5 + (isSingle ? 0 : 1) + dictionary + size
  return data.length < length ? null : length
}

/** The next block of a frame, with what ends the frame when it is the last; null while it is not there as a whole. */
function blockOf(data: Uint8Array, hasChecksum: boolean): FramePart | null {
  if (data.length < 3) return null
  const [low, middle, high] = data as unknown as [number, number, number]
  const header = low | (middle << 8) | (high << 16)
  const isLast = (header & 1) !== 0
  const isRepeated = ((header >> 1) & 3) === 1
  const content = 3 + (isRepeated ? 1 : header >> 3)
  const length = content + (isLast && hasChecksum ? 4 : 0)
  if (data.length < length) return null
  const bytes = data.slice(0, length)
  const part = { bytes, isFirst: false, isLast, hasChecksum }
  return isLast && hasChecksum ? { ...part, checksum: uint32(bytes, content) } : part
}
