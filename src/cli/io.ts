/** Where a command reads and writes: what `process` has, as far as it is needed. */
import { CommandError, systemCode, systemWords } from './errors.ts'

/** A stream that takes text; `done` is called when it was handed on, or could not be. */
export type CliOutput = {
  write(text: string, done: (error?: Error | null) => void): unknown
  readonly isTTY?: boolean
}

/** The streams of a command; `process` is one. */
export type CliIo = {
  readonly stdin: AsyncIterable<Uint8Array | string>
  readonly stdout: CliOutput
  readonly stderr: CliOutput
}

/** Characters handed on at once, about. */
const PIECE = 64_000

/** Whoever reads has left, as `head` does: there is nobody to tell. */
const hasLeft = (error: unknown): boolean =>
  ['EPIPE', 'EOF', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ECONNRESET'].includes(systemCode(error))

/** Hands text on; resolves to whether there is still somebody who reads. @throws {CommandError} `output`. */
function hand(output: CliOutput, text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    output.write(text, error => {
      if (!error) resolve(true)
      else if (hasLeft(error)) resolve(false)
      else reject(new CommandError('output', `Cannot write: ${systemWords(error)}`, {}, { cause: error }))
    })
  })
}

/**
 * Writes texts one after another as fast as they are taken, and stops quietly when nobody reads any more.
 *
 * @throws {CommandError} `output`.
 */
export async function print(output: CliOutput, texts: Iterable<string>): Promise<void> {
  let piece = ''
  for (const text of texts) {
    piece += text
    if (piece.length < PIECE) continue
    if (!(await hand(output, piece))) return
    piece = ''
  }
  if (piece !== '') await hand(output, piece)
}

/** Says something about the work on the error output. What cannot be said is no reason to fail. */
export function say(io: CliIo, text: string): void {
  io.stderr.write(text, () => undefined)
}
