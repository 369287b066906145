/** The bytes of a file, wherever it comes from. */

/** A file of the user (`File` is a `Blob`), a stream of bytes, bytes, or text. */
export type LogSource = Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | Uint8Array | string

export type Bytes = {
  readonly chunks: AsyncIterable<Uint8Array>
  /** In bytes, where it is known. */
  readonly size: number | undefined
}

/** Most bytes handed on at once: the text of so many is in memory at one time. */
const MOST = 1 << 20

/**
 * The bytes of `source`, in pieces. Reading stops, and the source is let go, when the loop over them is left. Once
 * `signal` is aborted the loop throws its reason at once, whether or not the source has anything to say.
 */
export function bytesOf(source: LogSource, signal?: AbortSignal): Bytes {
  if (typeof source === 'string') return bytesOf(new TextEncoder().encode(source), signal)
  if (source instanceof Uint8Array) return { chunks: slices(source), size: source.length }
  if (isBlob(source)) return { chunks: readAll(source.stream(), signal), size: source.size }
  // A stream that can be looped over as well is read by its reader, which can be stopped while it waits.
  return { chunks: 'getReader' in source ? readAll(source, signal) : cut(source, signal), size: undefined }
}

// Not `instanceof`: a file of another realm is one as well.
const isBlob = (source: object): source is Blob => 'size' in source && 'stream' in source

function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += MOST) yield bytes.subarray(at, at + MOST)
}

async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield* pieces(bytes)
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
