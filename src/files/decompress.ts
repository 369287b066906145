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
  // A failure of either side shows where it is read; what the source threw is not called damage.
  let broken: { readonly error: unknown } | null = null
  const feed = async () => {
    try {
      for await (const chunk of chunks) await writer.write(chunk as Uint8Array<ArrayBuffer>)
    } catch (error) {
      broken ??= { error }
      await writer.abort(error).catch(() => undefined)
      return
    }
    await writer.close()
  }
  const feeding = feed().catch((error: unknown) => {
    broken ??= { error }
  })
  const reader = readable.getReader()
  let isDone = false
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw gzipError(broken?.error ?? error)
      })
      isDone = done
      if (done) return
      yield value
    }
  } finally {
    if (!isDone) await reader.cancel().catch(() => undefined)
    await feeding
  }
}

/** How platforms say that the bytes are no gzip: browsers by a TypeError, Node by codes of its own. Others are passed on. */
const isDamage = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))

const gzipError = (error: unknown): unknown =>
  isDamage(error) ? new FormatError('compression', 'The gzip file is damaged or cut off', {}, { cause: error }) : error

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
