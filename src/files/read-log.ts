/** Reads a log from a file: bytes, compression, lines; what they mean is up to `format`. */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { FormatError } from '../format/errors.ts'
import { LogReader, type ReadLog } from '../format/log-reader.ts'

import { bytesOf, type LogSource } from './bytes.ts'
import { decompress } from './decompress.ts'
import { LineCutter } from './lines.ts'

export { locateError } from '../format/log-reader.ts'

/** How far reading got. */
export type ReadProgress = {
  /** Bytes of the file, as it is stored. */
  readonly bytes: number
  /** Size of the file in bytes, where it is known. */
  readonly size: number | undefined
  readonly events: number
}

export type ReadLogOptions = {
  /** Default `strict`; `recoverable` opens more, by repairs that it lists (SPEC F10). */
  readonly mode?: 'strict' | 'recoverable'
  readonly signal?: AbortSignal | undefined
  /** Told after each piece of the file. */
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined
}

/** Hex SHA-256 of a text's UTF-8. */
export const sha256Hex = (text: string): string => bytesToHex(sha256(utf8ToBytes(text)))

/** A reader for one log; it is of use after a refusal too: it knows how far it got. */
export const newLogReader = ({ mode = 'strict' }: Pick<ReadLogOptions, 'mode'> = {}): LogReader =>
  new LogReader({ mode, sha256: sha256Hex })

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
  const counted = async function* () {
    for await (const chunk of chunks) {
      signal?.throwIfAborted()
      bytes += chunk.length
      yield chunk
    }
  }
  const file = await decompress(counted())
  const lines = new LineCutter(line => reader.line(line))
  let damage: string | null = null
  try {
    for await (const chunk of file.chunks) {
      lines.push(chunk)
      onProgress?.({ bytes, size, events: reader.eventCount })
    }
  } catch (error) {
    const isDamage = error instanceof FormatError && error.code === 'compression'
    if (!isDamage || options.mode !== 'recoverable') throw error
    damage = error.message
  }
  signal?.throwIfAborted()
  if (file.isTorn()) damage ??= 'The file ends in the middle of a zstd frame'
  return reader.end(lines.end(), damage)
}
