/** Opens a log from a file as `open` of a session does: read, admitted, and closed where a turn was cut off. */
import { SessionError } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import type { ExtensionOptions } from '../core/extensions.ts'
import { imageOffloading } from '../core/interpreters/image-offload.ts'
import type { Session } from '../core/session.ts'
import { admitLog, readLog, sha256Hex } from '../files/read-log.ts'
import { FormatError } from '../format/errors.ts'
import { LogReader, type ReadLog } from '../format/log-reader.ts'
import { openInput } from './input.ts'
import type { CliIo } from './io.ts'
import { newProgress } from './progress.ts'

export type OpenOptions = {
  /** Open more than the format takes, by repairs that are listed. */
  readonly recover: boolean
  readonly progress: boolean
  /** `store` asks what a log that is written anew has to keep. */
  readonly purpose: 'read' | 'store'
}

type Facts = {
  readonly file: string
  /** As the header says it, whether this build reads it or not; null when there is none. */
  readonly version: number | null
  /** Events of the file that were read; of a refused log those before what it was refused for. */
  readonly events: number
  /** Size of the file as it is stored. */
  readonly bytes: number
  /** Who may read the file, where that is known. */
  readonly mode: number | undefined
}

export type Opened = Facts & {
  readonly refusal: null
  readonly log: ReadLog
  readonly session: Session
  /** Events that close a turn that was cut off; the session has them, `log` does not. */
  readonly closers: readonly SessionEvent[]
  /** Seq in the opened log of each event of the file. */
  readonly seqMap: readonly (number | null)[]
  /** Number of the last line that says something. */
  readonly lastLine: number
}

export type Refused = Facts & {
  readonly refusal: FormatError | SessionError
}

export type Opening = Opened | Refused

/** What a session of the command line has besides the format. */
export const extensions: ExtensionOptions = { projections: [imageOffloading] }

/** Reads FILE. A log that is refused is an answer; a file that cannot be read is an error. */
export async function openFile(file: string, options: OpenOptions, io: CliIo): Promise<Opening> {
  const { chunks, size, mode } = await openInput(file, io)
  const readMode = options.recover ? 'recoverable' : 'strict'
  const reader = new FileReader({ mode: readMode, purpose: options.purpose, sha256: sha256Hex })
  const progress = newProgress(io, file, options.progress)
  let bytes = 0
  const counted = async function* () {
    for await (const chunk of chunks) {
      bytes += chunk.length
      yield chunk
    }
  }
  const facts = () => ({ file, version: reader.statedVersion, bytes, mode })
  try {
    const onProgress = (read: { readonly bytes: number; readonly events: number }) =>
      progress.show({ bytes: read.bytes, size, events: read.events })
    const read = await readLog(counted(), { mode: readMode, onProgress }, reader)
    const { log, session } = admitLog(read, reader, { ...extensions, now: Date.now, repair: true })
    const closers: SessionEvent[] = []
    for (let seq = log.events.length; seq < session.firstLiveSeq; seq += 1) {
      closers.push(session.eventAt(seq) as SessionEvent)
    }
    const { lastLine } = reader
    return {
      ...facts(),
      events: log.eventCount,
      refusal: null,
      log,
      session,
      closers,
      seqMap: reader.seqMap(log.events.length),
      lastLine,
    }
  } catch (error) {
    if (!(error instanceof FormatError) && !(error instanceof SessionError)) throw error
    const { eventCount } = reader
    return { ...facts(), events: Math.min(error.seq ?? eventCount, eventCount), refusal: error }
  } finally {
    progress.clear()
  }
}

/** A reader that also knows what its caller needs of a log it refuses. */
class FileReader extends LogReader {
  /** The version in the header, whatever it is. */
  statedVersion: number | null = null
  lastLine = 0
  #count = 0

  override line(text: string | null): void {
    this.#count += 1
    if (text !== null && (text.startsWith('{') || text.trim() !== '')) {
      if (this.lastLine === 0) this.statedVersion = versionIn(text)
      this.lastLine = this.#count
    }
    super.line(text)
  }
}

function versionIn(line: string): number | null {
  try {
    const header = JSON.parse(line.replace(/^\ufeff/, '')) as { readonly version?: unknown } | null
    return typeof header?.version === 'number' ? header.version : null
  } catch {
    return null
  }
}
