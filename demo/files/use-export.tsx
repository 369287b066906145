/** Exports sessions, and says what became of it. What makes the files is loaded when one is asked for. */
import type { ClientSessions, SessionSummary } from 'palimpsest'
import { type ReactNode, useCallback } from 'react'
import { errorFacts } from '../app/words.ts'
import { Visible } from '../text/visible-text.tsx'
import type { ExportAs } from './save-session.ts'

export function useExport(
  sessions: Pick<ClientSessions, 'export'>,
  say: (words: ReactNode) => void,
): (session: SessionSummary, as: ExportAs) => void {
  return useCallback(
    (session, as) => {
      say('Exporting…')
      import('./save-session.ts')
        .then(({ saveSession }) => saveSession(sessions, session, as))
        .then(
          name =>
            say(
              <>
                Exported as “<Visible text={name} />
                ”.
              </>,
            ),
          (error: unknown) => say(`Not exported: ${errorFacts(error).message}`),
        )
    },
    [sessions, say],
  )
}
