/** Files for a page: what it brings, with progress and a way to stop, and what it takes away. */
import { SessionId } from '../core/ids.ts'
import type { Redactor } from '../format/redact.ts'
import type { ImportResult } from '../sessions/import-log.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { WorkerError } from './errors.ts'
import type { ExportHow, ImportHow } from './protocol.ts'

/** Over `port` it tells its progress; any message stops it. @throws {WorkerError} `cancelled`; as `Sessions.import`. */
export async function importFor(
  sessions: Sessions,
  source: Blob | ReadableStream<Uint8Array>,
  { id, mode = 'strict' }: ImportHow,
  port: MessagePort,
): Promise<ImportResult> {
  const cancel = new AbortController()
  port.onmessage = () => cancel.abort()
  try {
    return await sessions.import(source, {
      mode,
      signal: cancel.signal,
      onProgress: progress => port.postMessage(progress),
      ...(id === undefined ? {} : { id: SessionId(id) }),
    })
  } catch (error) {
    if (!cancel.signal.aborted || error !== cancel.signal.reason) throw error
    throw new WorkerError('cancelled', 'The import was cancelled; nothing was stored', {}, { cause: error })
  } finally {
    port.close()
  }
}

/** @throws {WorkerError} `argument` when there is nothing to redact with; as `Sessions.export`. */
export async function exportFor(
  sessions: Sessions,
  id: string,
  { redact = false, ...how }: ExportHow,
  redactor: Redactor | undefined,
): Promise<Blob> {
  if (redact && redactor === undefined) {
    throw new WorkerError('argument', 'This worker has nothing to redact with: give serve() a redact')
  }
  const bytes = await sessions.export(SessionId(id), {
    ...how,
    ...(redact && redactor !== undefined ? { redact: redactor } : {}),
  })
  const type = how.compress === 'gzip' ? 'application/gzip' : MEDIA_TYPES[how.as ?? 'jsonl']
  return new Response(bytes, { headers: { 'content-type': type } }).blob()
}

const MEDIA_TYPES = { jsonl: 'application/jsonl', markdown: 'text/markdown;charset=utf-8' }
