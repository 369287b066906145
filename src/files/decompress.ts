/** Compressed files: gzip by the platform, zstd (the predecessor's own) by a library that is loaded when one comes. */
import { FormatError } from '../format/errors.ts'
import { FrameCutter, isZstd } from './zstd-frames.ts'

export type Compression = 'none' | 'gzip' | 'zstd'

export type Decompressed = {
  readonly compression: Compression
  readonly chunks: AsyncIterable<Uint8Array>
  /** True once the file turned out to end in the middle of a frame. */
  readonly isTorn: () => boolean
}

/** Looks at the first bytes, and takes the compression off. Errors come while the chunks are read: `compression`. */
export async function decompress(source: AsyncIterable<Uint8Array>): Promise<Decompressed> {
  const iterator = source[Symbol.asyncIterator]()
  const first = await firstBytes(iterator)
  const chunks = rest(first, iterator)
  if (first[0] === 0x1f && first[1] === 0x8b)
    return { compression: 'gzip', chunks: gunzip(chunks), isTorn: () => false }
  if (!isZstd(first)) return { compression: 'none', chunks, isTorn: () => false }
  const cutter = new FrameCutter()
  return { compression: 'zstd', chunks: unzstd(chunks, cutter), isTorn: () => !cutter.isWhole }
}

/** At least the four bytes that say what a file is, unless it is shorter. */
async function firstBytes(iterator: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let bytes = new Uint8Array(0)
  while (bytes.length < 4) {
    const next = await iterator.next()
    if (next.done === true) break
    const both = new Uint8Array(bytes.length + next.value.length)
    both.set(bytes)
    both.set(next.value, bytes.length)
    bytes = both
  }
  return bytes
}

async function* rest(first: Uint8Array, iterator: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  let isDone = false
  try {
    yield first
    for (;;) {
      const next = await iterator.next()
      if (next.done === true) {
        isDone = true
        return
      }
      yield next.value
    }
  } finally {
    if (!isDone) await iterator.return?.()
  }
}

async function* gunzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new DecompressionStream('gzip')
  const writer = writable.getWriter()
  const reader = readable.getReader()
  /** What the source itself threw: that is no damage, whatever it is. */
  let sourceFailure: { readonly error: unknown } | null = null
  const watched = async function* () {
    try {
      yield* chunks
    } catch (error) {
      sourceFailure = { error }
      throw error
    }
  }
  const feed = async () => {
    for await (const piece of evenly(watched())) await writer.write(piece)
    await writer.close()
  }
  // Not every platform tells a reader that waits that the writing end failed.
  const failure = feed().then(() => new Promise<never>(() => {}))
  let isDone = false
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), failure])
      isDone = done
      if (done) return
      yield value
    }
  } catch (error) {
    throw gzipError(error, sourceFailure)
  } finally {
    // Nobody waits for either end: on some platforms they never say that they stopped.
    const ends = isDone ? [failure] : [failure, reader.cancel(), writer.abort()]
    for (const end of ends) end.catch(() => undefined)
  }
}

/** What comes out before damage is found depends on the pieces that went in: they are the same whatever the source's are. */
const PIECE = 1 << 14

async function* evenly(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let piece = new Uint8Array(PIECE)
  let length = 0
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + PIECE - length)
      piece.set(part, length)
      at += part.length
      length += part.length
      if (length < PIECE) continue
      yield piece
      piece = new Uint8Array(PIECE)
      length = 0
    }
  }
  if (length > 0) yield piece.subarray(0, length)
}

/** How platforms say that the bytes are no gzip: browsers by a TypeError, Node by codes of its own. */
const isDamage = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))

function gzipError(error: unknown, source: { readonly error: unknown } | null): unknown {
  if (source !== null) return source.error
  return isDamage(error)
    ? new FormatError('compression', 'The gzip file is damaged or cut off', {}, { cause: error })
    : error
}

async function* unzstd(chunks: AsyncIterable<Uint8Array>, cutter: FrameCutter): AsyncGenerator<Uint8Array> {
  const [{ Decompress }, { default: xxhash }] = await Promise.all([import('fzstd'), import('xxhashjs')])
  let frame = 0
  let out: Uint8Array[] = []
  let decoder = new Decompress()
  let hash = xxhash.h64(0)
  const fail = (what: string, cause?: unknown): never => {
    throw new FormatError('compression', `Frame ${frame} of the zstd file ${what}`, {}, { cause })
  }
  for await (const chunk of chunks) {
    const parts = cutter.push(chunk)
    let next = parts.next()
    for (; next.done !== true; next = parts.next()) {
      const { bytes, isFirst, isLast, hasChecksum, checksum } = next.value
      if (isFirst) {
        frame += 1
        hash = xxhash.h64(0)
        decoder = new Decompress(data => out.push(data))
      }
      try {
        decoder.push(bytes, isLast)
      } catch (error) {
        fail('is damaged', error)
      }
      if (hasChecksum) for (const data of out) hash.update(data.slice().buffer)
      if (checksum !== undefined && hash.digest().toNumber() >>> 0 !== checksum) fail('does not match its checksum')
      yield* out
      out = []
    }
    if (next.value !== null) throw new FormatError('compression', next.value)
  }
}
