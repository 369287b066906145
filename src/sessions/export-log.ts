/** A session as a file: canonical JSON lines, or a transcript to read (SPEC F11–F13). */
import type { SessionEvent, SessionHeader } from '../core/events.ts'
import type { Redactor } from '../format/redact.ts'

export type ExportOptions = {
  /** `jsonl`, the default: the log, as any reader of the format opens it. `markdown`: a transcript for people. */
  readonly as?: 'jsonl' | 'markdown'
  /** Sees every text before it is written, and answers what is written instead. */
  readonly redact?: Redactor
  readonly compress?: 'gzip'
  /** Heading of a transcript. */
  readonly title?: string
}

export type ExportedLog = { readonly header: SessionHeader; readonly events: AsyncIterable<SessionEvent> }

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

async function* logLines({ header, events }: ExportedLog, { redact }: ExportOptions): AsyncGenerator<string, void> {
  const [{ eventLine, headerLine }, { redactEvent, redactHeader }] = await Promise.all([
    import('../format/write-log.ts'),
    import('../format/redact.ts'),
  ])
  yield headerLine(redact === undefined ? header : redactHeader(header, redact))
  for await (const event of events) yield eventLine(redact === undefined ? event : redactEvent(event, redact))
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
