/** Bytes to lines of text, wherever the pieces they come in end. */
import { FormatError } from '../format/errors.ts'
import { JoinedBytes } from './bytes.ts'

const NEWLINE = 10
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Most bytes of a line, its newline left out: 256 MiB. Not every engine can hold a text of twice as many. */
export const LONGEST_LINE: number = 1 << 28

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
  readonly #longest: number
  /** The beginning of a line that is not whole yet. */
  readonly #begun = new JoinedBytes()
  /** Lines that were taken. */
  #count = 0

  constructor(take: (line: string | null) => void, longest: number = LONGEST_LINE) {
    this.#take = take
    this.#longest = longest
  }

  /**
   * Takes the next bytes; they may be changed afterwards.
   *
   * @throws {FormatError} `too-long` as soon as a line is, and what `take` throws.
   */
  push(bytes: Uint8Array): void {
    let from = 0
    for (let to = bytes.indexOf(NEWLINE); to !== -1; to = bytes.indexOf(NEWLINE, from)) {
      if (from === to && this.#begun.length === 0) this.#give('')
      else this.#line(bytes.subarray(from, to))
      from = to + 1
    }
    if (from < bytes.length) this.#begin(bytes.subarray(from))
  }

  /** What stands behind the last newline; null when it is no UTF-8. */
  end(): string | null {
    const rest = textOf(this.#begun.bytes)
    this.#begun.clear()
    return rest
  }

  /** One at a time: engines are quicker at short texts than at cutting long ones. */
  #line(end: Uint8Array): void {
    let line = end
    if (this.#begun.length > 0) {
      this.#begin(end)
      line = this.#begun.bytes
    } else if (end.length > this.#longest) this.#refuse()
    const text = textOf(line)
    this.#begun.clear()
    this.#give(text)
  }

  #give(line: string | null): void {
    this.#count += 1
    this.#take(line)
  }

  #begin(bytes: Uint8Array): void {
    if (this.#begun.length + bytes.length > this.#longest) this.#refuse()
    this.#begun.push(bytes)
  }

  #refuse(): never {
    this.#begun.clear()
    const line = this.#count + 1
    throw new FormatError('too-long', `Line ${line} is longer than the ${this.#longest} bytes a line may have`, {
      line,
    })
  }
}
