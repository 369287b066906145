/** What was deleted and can be brought back: out of the way, at the end of the list. */
import type { SessionSummary } from 'palimpsest'
import { type ReactElement, useState } from 'react'
import { dayAndTime } from '../app/format.ts'
import { Visible } from '../text/visible-text.tsx'
import { titleOf } from './titles.ts'

export type DeletedSessionsProps = {
  readonly sessions: readonly SessionSummary[]
  readonly hasMore: boolean
  readonly showMore: () => void
  readonly bringBack: (session: SessionSummary) => void
  readonly deleteForGood: (session: SessionSummary) => void
}

export function DeletedSessions(props: DeletedSessionsProps): ReactElement | null {
  const { sessions, hasMore, showMore, bringBack, deleteForGood } = props
  const [now, setNow] = useState(() => Date.now())
  if (sessions.length === 0) return null
  return (
    <details id="deleted" onToggle={() => setNow(Date.now())}>
      <summary>{`Deleted (${sessions.length}${hasMore ? '+' : ''})…`}</summary>
      <p className="about">Kept for a week, then deleted for good.</p>
      <ul className="plain">
        {sessions.map(session => (
          <DeletedItem
            key={session.id}
            session={session}
            now={now}
            bringBack={bringBack}
            deleteForGood={deleteForGood}
          />
        ))}
      </ul>
      {hasMore && (
        <button type="button" className="quiet" onClick={showMore}>
          Show more
        </button>
      )}
    </details>
  )
}

type DeletedItemProps = Pick<DeletedSessionsProps, 'bringBack' | 'deleteForGood'> & {
  readonly session: SessionSummary
  /** When the list was opened. */
  readonly now: number
}

function DeletedItem({ session, now, bringBack, deleteForGood }: DeletedItemProps): ReactElement {
  const title = titleOf(session)
  const deletedAt = session.deletedAt ?? session.updatedAt
  return (
    <li>
      <p className="deleted-title" title={title}>
        <Visible text={title} />
      </p>
      <p className="about">
        deleted <time dateTime={new Date(deletedAt).toISOString()}>{dayAndTime(deletedAt, now)}</time>
      </p>
      <p className="session-actions">
        <button type="button" className="quiet" aria-label={`Bring back ${title}`} onClick={() => bringBack(session)}>
          Bring back
        </button>
        <button
          type="button"
          className="quiet"
          aria-label={`Delete for good ${title}`}
          onClick={() => deleteForGood(session)}
        >
          Delete for good
        </button>
      </p>
    </li>
  )
}
