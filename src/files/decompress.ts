/** Compressed files: gzip by the platform, zstd (the predecessor's own) by a library that is loaded when one comes. */
import { FormatError } from '../format/errors.ts'
import { FrameCutter, isZstd } from './zstd-frames.ts'

export type Compression = 'none' | 'gzip' | 'zstd'

export type Decompressed = {
  readonly compression: Compression
  readonly chunks: AsyncIterable<Uint8Array>
  /** Why the chunks ended, or failed, before the file was whole: it ends there. Not so for damage. */
  readonly tear: () => string | null
}

/** Filled in while chunks are read. */
type Tear = { what: string | null }

/**
 * Looks at the first bytes, and takes the compression off. Errors come while the chunks are read: `compression`. A chunk
 * may be empty: then there was work, and nothing came of it so far.
 */
export async function decompress(source: AsyncIterable<Uint8Array>): Promise<Decompressed> {
  const iterator = source[Symbol.asyncIterator]()
  const first = await firstBytes(iterator)
  const chunks = rest(first, iterator)
  const tear: Tear = { what: null }
  const took = (compression: Compression, out: AsyncIterable<Uint8Array>) => ({
    compression,
    chunks: out,
    tear: () => tear.what,
  })
  if (first[0] === 0x1f && first[1] === 0x8b) return took('gzip', gunzip(chunks, tear))
  return isZstd(first) ? took('zstd', unzstd(chunks, tear)) : took('none', chunks)
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

/**
 * Takes one member. Not every platform reads on behind it, none tells where it ends, and some leave out silently what
 * they cannot read there: whatever follows is refused.
 */
async function* gunzip(chunks: AsyncIterable<Uint8Array>, tear: Tear): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new DecompressionStream('gzip')
  const writer = writable.getWriter()
  const reader = readable.getReader()
  /** What the source itself threw, which is no damage, whatever it is; and what kept bytes from going in. */
  const failed: { source?: { readonly error: unknown }; feed?: { readonly error: unknown } } = {}
  const watched = async function* () {
    try {
      yield* chunks
    } catch (error) {
      failed.source = { error }
      throw error
    }
  }
  /** The last bytes that went in, and whether they are the last of the file. */
  let last = new Uint8Array(0)
  let isAllIn = false
  const feed = async () => {
    for await (const piece of evenly(watched())) {
      last = piece.length < 4 ? Uint8Array.of(...last, ...piece).slice(-4) : piece.slice(-4)
      await writer.write(piece)
    }
    isAllIn = true
    await writer.close()
  }
  let fail = (_error: unknown): void => {}
  feed().catch((error: unknown) => {
    failed.feed = { error }
    fail(error)
  })
  // Not every platform tells a reader that waits that the writing end failed. Nothing outlives one reading: what a race
  // with a promise that never settles came to is held as long as that promise.
  const read = () =>
    new Promise<ReadableStreamReadResult<Uint8Array>>((resolve, reject) => {
      fail = reject
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- it is what was thrown
      if (failed.feed !== undefined) reject(failed.feed.error)
      else reader.read().then(resolve, reject)
    })
  let size = 0
  let isDone = false
  try {
    for (;;) {
      const { done, value } = await read()
      isDone = done
      if (done) break
      size += value.length
      yield value
    }
    // A member ends with its size, modulo 2^32.
    if (!isAllIn || last.length < 4 || new DataView(last.buffer).getUint32(0, true) !== size % 2 ** 32) throw surplus()
  } catch (error) {
    if (failed.source !== undefined) throw failed.source.error
    if (!isDamage(error)) throw error
    if (isSurplus(error)) throw surplus(error)
    if (isCutOff(error, isAllIn)) tear.what = 'The gzip file is cut off'
    throw new FormatError('compression', tear.what ?? 'The gzip file is damaged', {}, { cause: error })
  } finally {
    // Nobody waits for either end: on some platforms they never say that they stopped.
    if (!isDone || !isAllIn) for (const end of [reader.cancel(), writer.abort()]) end.catch(() => undefined)
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

/** Node has a code for a file that ends too soon; browsers find out when there is no more to come. */
const isCutOff = (error: unknown, isAllIn: boolean): boolean =>
  error instanceof Error && ('code' in error ? error.code === 'Z_BUF_ERROR' : isAllIn)

/** Browsers have words for what stands behind a member, and newer versions of Node a code. */
const isSurplus = (error: unknown): boolean =>
  error instanceof TypeError &&
  (('code' in error && /TRAILING/.test(String(error.code))) || /junk|trailing|extra|after the end/i.test(error.message))

const surplus = (cause?: unknown): FormatError =>
  new FormatError(
    'compression',
    'The gzip file goes on behind its first member: several in one file cannot be read',
    {},
    { cause },
  )

/** Most bytes that are held back until a frame's checksum was compared; of a longer one they come as they are. */
const HELD = 1 << 24

const NOTHING = new Uint8Array(0)

/**
 * Of a frame that does not match its checksum nothing comes out, unless it is longer than what is held back. Of one that
 * just ends all that is there does.
 */
async function* unzstd(chunks: AsyncIterable<Uint8Array>, tear: Tear): AsyncGenerator<Uint8Array> {
  const [{ Decompress }, { default: xxhash }] = await Promise.all([import('fzstd'), import('xxhashjs')])
  const cutter = new FrameCutter()
  let out: Uint8Array[] = []
  let size = 0
  let isHeld = false
  let decoder = new Decompress()
  let hash = xxhash.h64(0)
  const fail = (what: string, cause?: unknown): never => {
    throw new FormatError('compression', `Frame ${cutter.count} of the zstd file ${what}`, {}, { cause })
  }
  for await (const chunk of chunks) {
    const parts = cutter.push(chunk)
    let next = parts.next()
    for (; next.done !== true; next = parts.next()) {
      const { bytes, isFirst, isLast, hasChecksum, checksum, contentSize } = next.value
      if (isFirst) {
        size = 0
        isHeld = hasChecksum
        hash = xxhash.h64(0)
        decoder = new Decompress(data => {
          size += data.length
          if (hasChecksum) hash.update(data.slice().buffer)
          out.push(data)
        })
      }
      try {
        decoder.push(bytes, isLast)
      } catch (error) {
        fail('is damaged', error)
      }
      const isWrong = contentSize !== null && (isLast ? size !== contentSize : size > contentSize)
      if (isWrong) fail(`is damaged: it says it holds ${contentSize} bytes, and holds ${isLast ? size : 'more'}`)
      if (checksum !== undefined && hash.digest().toNumber() >>> 0 !== checksum) fail('does not match its checksum')
      if (isLast || size > HELD) isHeld = false
      if (isHeld || out.length === 0) yield NOTHING
      if (isHeld) continue
      yield* out
      out = []
    }
    if (next.value !== null) throw new FormatError('compression', next.value)
  }
  if (!cutter.isWhole) tear.what = 'The file ends in the middle of a zstd frame'
  yield* out
}
