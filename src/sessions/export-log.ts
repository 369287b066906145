/** A session as a file: canonical JSON lines, or a transcript to read (SPEC F11–F13). */
import type { SessionEvent, SessionHeader } from '../core/events.ts'
import type { BlobId } from '../core/ids.ts'
import type { Redactor } from '../format/redact.ts'
import { withBytes } from './blobs.ts'

export type ExportOptions = {
  /** `jsonl`, the default: the log, as any reader of the format opens it. `markdown`: a transcript for people. */
  readonly as?: 'jsonl' | 'markdown'
  /** Sees every text before it is written, and answers what is written instead. */
  readonly redact?: Redactor
  readonly compress?: 'gzip'
  /** Writes the bytes of attachments along, in place of references to them; `import` takes them out again. */
  readonly blobs?: boolean
  /** Heading of a transcript. */
  readonly title?: string
}

export type ExportedLog = {
  readonly header: SessionHeader
  readonly events: AsyncIterable<SessionEvent>
  readonly getBlob: (id: BlobId) => Promise<Uint8Array | null>
}

/** Characters handed on at once, about. */
const PIECE = 64_000

/** The bytes of a file, made as they are asked for. */
export function exportBytes(log: ExportedLog, options: ExportOptions): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const pieces = piecesOf(log, options)
  const bytes = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done === true) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await pieces.return()
    },
  })
  return options.compress === 'gzip' ? bytes.pipeThrough(new CompressionStream('gzip')) : bytes
}

async function* piecesOf(log: ExportedLog, options: ExportOptions): AsyncGenerator<string, void> {
  let piece = ''
  for await (const line of options.as === 'markdown' ? transcriptLines(log, options) : logLines(log, options)) {
    piece += line
    if (piece.length < PIECE) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

async function* logLines(
  { header, events, getBlob }: ExportedLog,
  { redact, blobs = false }: ExportOptions,
): AsyncGenerator<string, void> {
  const [{ eventLine, headerLine }, { redactEvent, redactHeader }] = await Promise.all([
    import('../format/write-log.ts'),
    import('../format/redact.ts'),
  ])
  yield headerLine(redact === undefined ? header : redactHeader(header, redact))
  for await (const event of events) {
    const line = eventLine(redact === undefined ? event : redactEvent(event, redact))
    yield blobs ? await withBytes(line, getBlob) : line
  }
}

/** A transcript needs all of its events: results stand with the calls they answer. */
async function* transcriptLines(log: ExportedLog, { redact, title }: ExportOptions): AsyncGenerator<string, void> {
  const [{ transcriptMarkdown }, { redactEvent }] = await Promise.all([
    import('../format/markdown.ts'),
    import('../format/redact.ts'),
  ])
  const events: SessionEvent[] = []
  for await (const event of log.events) events.push(redact === undefined ? event : redactEvent(event, redact))
  const heading =
    title === undefined ? undefined : (redact?.(title, { seq: null, type: 'session', path: '$.title' }) ?? title)
  yield* transcriptMarkdown({ header: log.header, events }, heading === undefined ? {} : { title: heading })
}
