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

/** The bytes of `source`, in pieces. Reading stops, and the source is let go, when the loop over them is left. */
export function bytesOf(source: LogSource): Bytes {
  if (typeof source === 'string') return bytesOf(new TextEncoder().encode(source))
  if (source instanceof Uint8Array) return { chunks: slices(source), size: source.length }
  if (isBlob(source)) return { chunks: readAll(source.stream()), size: source.size }
  return { chunks: Symbol.asyncIterator in source ? cut(source) : readAll(source), size: undefined }
}

// Not `instanceof`: a file of another realm is one as well.
const isBlob = (source: object): source is Blob => 'size' in source && 'stream' in source

function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += MOST) yield bytes.subarray(at, at + MOST)
}

async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield* pieces(bytes)
}

async function* cut(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield* pieces(chunk)
}

/** Not every browser can loop over a stream. */
async function* readAll(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  let isDone = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      isDone = done
      if (done) return
      yield* pieces(value)
    }
  } finally {
    // Whoever left the loop early wants no more of it; a source that fails to stop must not hide why.
    if (!isDone) await reader.cancel().catch(() => undefined)
  }
}
