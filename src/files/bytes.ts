/** The bytes of a file, wherever it comes from. */
import { FormatError } from '../format/errors.ts'

/** A file of the user (`File` is a `Blob`), a stream of bytes, bytes, or text. */
export type LogSource =
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | Uint8Array
  | ArrayBuffer
  | string

export type Bytes = {
  readonly chunks: AsyncIterable<Uint8Array>
  /** In bytes, where it is known. */
  readonly size: number | undefined
}

/** Most bytes handed on at once: reading stops for others between two pieces. */
const MOST = 1 << 18

/**
 * The bytes of `source`, in pieces. Reading stops, and the source is let go, when the loop over them is left. Once
 * `signal` is aborted the loop throws its reason at once, whether or not the source has anything to say.
 *
 * @throws {FormatError} `source` for what is none, here or in the loop.
 */
export function bytesOf(source: LogSource, signal?: AbortSignal): Bytes {
  if (typeof source === 'string') return { chunks: encoded(source), size: encodedSize(source) }
  const bytes = bytesIn(source)
  if (bytes !== null) return { chunks: slices(bytes), size: bytes.length }
  if (isBlob(source)) return { chunks: readAll(source.stream(), signal), size: source.size }
  // A stream that can be looped over as well is read by its reader, which can be stopped while it waits.
  if (isStream(source)) {
    if (source.locked)
      throw new FormatError('source', 'The stream to read a log from is locked: somebody else reads it')
    return { chunks: readAll(source, signal), size: undefined }
  }
  if (isLoop(source)) return { chunks: cut(source, signal), size: undefined }
  const expected = 'A log is read from a file, a stream or an async iterable of bytes, bytes, or text'
  throw new FormatError('source', `${expected}, not from ${kindOf(source)}`)
}

// None by `instanceof`: those of another realm are theirs as well.
const tagOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1)
const isObject = (source: unknown): source is object => typeof source === 'object' && source !== null
const isBlob = (source: unknown): source is Blob => isObject(source) && 'size' in source && 'stream' in source
const isStream = (source: unknown): source is ReadableStream<Uint8Array> => isObject(source) && 'getReader' in source
const isLoop = (source: unknown): source is AsyncIterable<Uint8Array> =>
  isObject(source) && Symbol.asyncIterator in source

function bytesIn(value: unknown): Uint8Array | null {
  const tag = tagOf(value)
  if (tag === 'Uint8Array') return value as Uint8Array
  return tag === 'ArrayBuffer' ? new Uint8Array(value as ArrayBuffer) : null
}

const kindOf = (value: unknown): string =>
  value === null || typeof value === 'undefined'
    ? String(value)
    : `a value of type ${typeof value === 'object' ? tagOf(value) : typeof value}`

/** @throws {FormatError} `source` for a chunk that is no bytes. */
function* pieces(chunk: unknown): Generator<Uint8Array> {
  const bytes = bytesIn(chunk)
  if (bytes === null) {
    throw new FormatError('source', `A source gives its bytes as Uint8Array; this one gave ${kindOf(chunk)}`)
  }
  for (let at = 0; at < bytes.length; at += MOST) yield bytes.subarray(at, at + MOST)
  // Whoever reads counts time, not bytes: it is to hear of chunks that are empty as well.
  if (bytes.length === 0) yield bytes
}

async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield* pieces(bytes)
}

const isHigh = (unit: number): boolean => unit >>> 10 === 0x36
const isLow = (unit: number): boolean => unit >>> 10 === 0x37

/** Bytes of a text as UTF-8. Encoding a long one at once takes too long. */
function encodedSize(text: string): number {
  let size = text.length
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) continue
    size += unit < 0x800 ? 1 : 2
    // Two units that are one character have four bytes.
    if (isLow(unit) && at > 0 && isHigh(text.charCodeAt(at - 1))) size -= 2
  }
  return size
}

async function* encoded(text: string): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let to = 0
  for (let from = 0; from < text.length; from = to) {
    to = Math.min(from + MOST, text.length)
    // A character is not cut in two.
    if (to < text.length && isHigh(text.charCodeAt(to - 1))) to -= 1
    yield* pieces(encoder.encode(text.slice(from, to)))
  }
}

async function* cut(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  let isDone = false
  try {
    for (;;) {
      const next = await unlessAborted(iterator.next(), signal)
      if (next.done === true) {
        isDone = true
        return
      }
      yield* pieces(next.value)
    }
  } finally {
    if (!isDone) letGo(() => iterator.return?.())
  }
}

/** What `work` comes to, or the reason of `signal`, whichever is first. */
async function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return work
  let stop = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason is the caller's own
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Nobody waits for a source to stop, and one that fails to must not hide why it was left. */
function letGo(stop: () => Promise<unknown> | undefined): void {
  Promise.resolve(stop()).catch(() => undefined)
}

/** Not every browser can loop over a stream. */
async function* readAll(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  let isDone = false
  try {
    for (;;) {
      const { done, value } = await unlessAborted(reader.read(), signal)
      isDone = done
      if (done) return
      yield* pieces(value)
    }
  } finally {
    if (!isDone) letGo(() => reader.cancel())
  }
}

/** Bytes put together, in time that grows with their number, however small the pieces are they come in. */
export class JoinedBytes {
  #buffer = new Uint8Array(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** All that was pushed; good until the next call. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }

  /** Takes a copy. */
  push(bytes: Uint8Array): void {
    const length = this.#length + bytes.length
    if (length > this.#buffer.length) {
      const buffer = new Uint8Array(Math.max(length, 2 * this.#buffer.length, 1 << 10))
      buffer.set(this.bytes)
      this.#buffer = buffer
    }
    this.#buffer.set(bytes, this.#length)
    this.#length = length
  }

  clear(): void {
    this.#length = 0
    if (this.#buffer.length > MOST) this.#buffer = new Uint8Array(0)
  }
}
