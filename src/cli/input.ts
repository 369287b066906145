/** The file a command is about. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { CommandError, systemWords } from './errors.ts'
import type { CliIo } from './io.ts'

export type Input = {
  readonly chunks: AsyncIterable<Uint8Array>
  /** In bytes, where it is known. */
  readonly size: number | undefined
  /** Who may read it, where that is known. */
  readonly mode: number | undefined
}

/** Opens FILE; `-` is standard input. @throws {CommandError} `input`, here or while it is read. */
export async function openInput(file: string, io: CliIo): Promise<Input> {
  if (file === '-') return { chunks: bytesOf(io.stdin, 'standard input'), size: undefined, mode: undefined }
  const facts = await stat(file).catch((error: unknown) => {
    throw unreadable(file, error)
  })
  if (facts.isDirectory()) throw new CommandError('input', `Cannot read ${file}: it is a directory`)
  const size = facts.isFile() ? facts.size : undefined
  const mode = facts.isFile() ? facts.mode & 0o777 : undefined
  return { chunks: bytesOf(createReadStream(file, { highWaterMark: 1 << 18 }), file), size, mode }
}

async function* bytesOf(stream: AsyncIterable<Uint8Array | string>, file: string): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  const iterator = stream[Symbol.asyncIterator]()
  let isDone = false
  try {
    for (;;) {
      const next = await iterator.next().catch((error: unknown) => {
        isDone = true
        throw unreadable(file, error)
      })
      isDone = next.done === true
      if (next.done === true) return
      const chunk = next.value
      // A buffer of Node shares its memory when it is sliced; a plain array of bytes does not.
      yield typeof chunk === 'string'
        ? encoder.encode(chunk)
        : new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    }
  } finally {
    if (!isDone) await iterator.return?.()
  }
}

const unreadable = (file: string, error: unknown): CommandError =>
  new CommandError('input', `Cannot read ${file}: ${systemWords(error)}`, {}, { cause: error })
