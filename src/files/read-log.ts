/** Reads a log from a file: bytes, compression, lines; what they mean is up to `format`. */
import { FormatError } from '../format/errors.ts'
import { type FileDamage, LogReader, type ReadLog, type ReadOptions } from '../format/log-reader.ts'

import { bytesOf, type LogSource } from './bytes.ts'
import { decompress } from './decompress.ts'
import { LineCutter } from './lines.ts'
import { sha256Hex } from './sha256.ts'

export { sha256Hex }

export { locateError } from '../format/log-reader.ts'
export { admitLog } from './admit-log.ts'

/** How far reading got. */
export type ReadProgress = {
  /** Bytes of the file, as it is stored. */
  readonly bytes: number
  /** Size of the file in bytes, where it is known. */
  readonly size: number | undefined
  readonly events: number
}

export type ReadLogOptions = Pick<ReadOptions, 'mode' | 'purpose'> & {
  readonly signal?: AbortSignal | undefined
  /** Told now and then, not after each piece of the file, and when all of it was read. */
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined
}

/** A reader for one log; it is of use after a refusal too: it knows how far it got. */
export const newLogReader = (options: Pick<ReadLogOptions, 'mode' | 'purpose'> = {}): LogReader =>
  new LogReader({ ...options, sha256: sha256Hex })

/**
 * Reads a log of any version, plain, gzip or zstd, as a stream: only its events are kept.
 *
 * @throws {FormatError} with line and seq in the file.
 * @throws the reason of `signal` once it is aborted; whatever reading the source throws.
 */
export async function readLog(
  source: LogSource,
  options: ReadLogOptions = {},
  reader: LogReader = newLogReader(options),
): Promise<ReadLog> {
  const { signal, onProgress } = options
  signal?.throwIfAborted()
  const { chunks, size } = bytesOf(source, signal)
  let bytes = 0
  let since = performance.now()
  const tell = () => onProgress?.({ bytes, size, events: reader.eventCount })
  const isDue = () => performance.now() - since >= SLICE_MS
  const pause = async () => {
    tell()
    await macrotask()
    since = performance.now()
    signal?.throwIfAborted()
  }
  const counted = async function* () {
    for await (const chunk of chunks) {
      signal?.throwIfAborted()
      bytes += chunk.length
      // Much may be read before anything comes of it.
      if (isDue()) await pause()
      yield chunk
    }
  }
  const file = await decompress(counted())
  const lines = new LineCutter(line => reader.line(line))
  let damage: FileDamage | null = null
  let isTold = false
  try {
    for await (const chunk of file.chunks) {
      signal?.throwIfAborted()
      lines.push(chunk)
      if (isDue()) await pause()
      else if (!isTold) tell()
      isTold = true
    }
  } catch (error) {
    const isDamage = error instanceof FormatError && (error.code === 'compression' || error.code === 'too-long')
    if (!isDamage || options.mode !== 'recoverable' || reader.version === null) throw error
    damage = { what: error.message, isTorn: file.tear() !== null }
  }
  tell()
  signal?.throwIfAborted()
  const tear = file.tear()
  if (tear !== null) damage ??= { what: tear, isTorn: true }
  return reader.end(lines.end(), damage)
}

/** Most milliseconds of work at a time: then messages, timers and the page have their turn. */
const SLICE_MS = 16

// Timers would do as well, were they not made to wait.
const macrotask = (): Promise<void> =>
  new Promise(resolve => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })
