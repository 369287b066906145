/** Bytes to lines of text, wherever the pieces they come in end. */

const NEWLINE = 10
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Text of UTF-8 bytes; null when they are none. */
function textOf(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

/** Hands each line to `take` without its newline; null for one that is no UTF-8. */
export class LineCutter {
  readonly #take: (line: string | null) => void
  /** Pieces of a line that is not whole yet. */
  #pieces: Uint8Array[] = []

  constructor(take: (line: string | null) => void) {
    this.#take = take
  }

  /** Takes the next bytes; they may be changed afterwards. */
  push(bytes: Uint8Array): void {
    const last = bytes.lastIndexOf(NEWLINE)
    if (last === -1) {
      this.#pieces.push(bytes.slice())
      return
    }
    let from = 0
    if (this.#pieces.length > 0) {
      const first = bytes.indexOf(NEWLINE)
      this.#pieces.push(bytes.subarray(0, first))
      this.#take(textOf(this.#joined()))
      from = first + 1
    }
    if (from <= last) this.#lines(bytes.subarray(from, last))
    if (last + 1 < bytes.length) this.#pieces.push(bytes.slice(last + 1))
  }

  /** What stands behind the last newline; null when it is no UTF-8. */
  end(): string | null {
    return textOf(this.#joined())
  }

  /** Whole lines, without the last newline. One at a time: engines are quicker at short texts than at cutting long ones. */
  #lines(bytes: Uint8Array): void {
    let from = 0
    for (let to = bytes.indexOf(NEWLINE); to !== -1; to = bytes.indexOf(NEWLINE, from)) {
      this.#take(textOf(bytes.subarray(from, to)))
      from = to + 1
    }
    this.#take(textOf(bytes.subarray(from)))
  }

  #joined(): Uint8Array {
    const pieces = this.#pieces
    this.#pieces = []
    if (pieces.length === 1) return pieces[0] as Uint8Array
    const length = pieces.reduce((sum, { length: size }) => sum + size, 0)
    const line = new Uint8Array(length)
    let at = 0
    for (const piece of pieces) {
      line.set(piece, at)
      at += piece.length
    }
    return line
  }
}
