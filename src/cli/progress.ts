/** How far reading a big file got: one line of a terminal, written over and over, and taken away at the end. */
import { basename } from 'node:path'
import type { ReadProgress } from '../files/read-log.ts'
import type { CliIo } from './io.ts'
import { say } from './io.ts'
import { brief, bytesInWords, count } from './text.ts'

/** A file below this is read before anybody looks. */
const SMALL = 8_000_000
const EVERY_MS = 100

export type Progress = {
  readonly show: (progress: ReadProgress) => void
  readonly clear: () => void
}

/** Shows nothing unless the error output is a terminal. */
export function newProgress(io: CliIo, file: string, isWanted: boolean): Progress {
  let shownAt = 0
  let isShown = false
  const name = file === '-' ? 'standard input' : brief(basename(file), 40)
  return {
    show({ bytes, size, events }) {
      if (!isWanted || io.stderr.isTTY !== true || (size ?? bytes) < SMALL) return
      const now = performance.now()
      if (isShown && now - shownAt < EVERY_MS) return
      shownAt = now
      isShown = true
      const part = size === undefined ? '' : ` ${Math.min(100, Math.floor((100 * bytes) / size))} %`
      say(io, `\r\x1b[KReading ${name}${part}, ${bytesInWords(bytes)}, ${count(events, 'event')}`)
    },
    clear() {
      if (isShown) say(io, '\r\x1b[K')
    },
  }
}
