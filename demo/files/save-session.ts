/** A session as a file of the person's: made by the worker, kept by the browser where downloads are kept. */
import type { ClientSessions, SessionSummary } from 'palimpsest'
import { fileNameOf } from './file-name.ts'

export type ExportAs = 'jsonl' | 'markdown'

/** How long the browser may take to begin with it, ms. */
const KEPT_MS = 10_000

/** Answers the name it was given. */
export async function saveSession(
  sessions: Pick<ClientSessions, 'export'>,
  { id, title }: Pick<SessionSummary, 'id' | 'title'>,
  as: ExportAs,
): Promise<string> {
  const blob = await sessions.export(id, { as })
  const name = fileNameOf(title, id, as === 'markdown' ? 'md' : 'jsonl')
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS)
  return name
}
