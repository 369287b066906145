/** The sessions of this browser: open, start, import, export, rename, delete with a way back. */
import type { SessionSummary } from 'palimpsest'
import { type ReactElement, type ReactNode, useState } from 'react'
import type { ExportAs } from '../files/save-session.ts'
import { newId } from './new-id.ts'
import { Visible } from '../text/visible-text.tsx'
import { goTo } from './address.ts'
import { titleOf } from './titles.ts'

export type SessionsPanelProps = {
  readonly sessions: readonly SessionSummary[] | null
  /** The session on the page. */
  readonly current: string
  readonly rename: (id: string, title: string) => Promise<void>
  readonly remove: (session: SessionSummary) => void
  /** Has a person choose files that become sessions. */
  readonly importFiles: () => void
  readonly exportAs: (session: SessionSummary, as: ExportAs) => void
  /** What was done, or could not be. */
  readonly said: ReactNode
}

export function SessionsPanel(props: SessionsPanelProps): ReactElement {
  const { sessions, current, rename, remove, importFiles, exportAs, said } = props
  const isListed = sessions?.some(each => each.id === current) ?? false
  return (
    <nav aria-labelledby="sessions-title">
      <div className="heading">
        <h2 id="sessions-title">Sessions</h2>
        <button type="button" id="new-session" onClick={() => goTo(newId())}>
          New session
        </button>
        <p className="about import-line">
          <button type="button" id="import" onClick={importFiles}>
            Import…
          </button>
          or drop files on the page
        </p>
      </div>
      <ul id="sessions" className="plain">
        {/* A session nothing was said in is listed until it is left. */}
        {sessions !== null && !isListed && (
          <li>
            <button type="button" className="session" aria-current="true">
              New session
            </button>
          </li>
        )}
        {sessions?.map(session => (
          <SessionItem
            key={session.id}
            session={session}
            isCurrent={session.id === current}
            rename={rename}
            remove={remove}
            exportAs={exportAs}
          />
        ))}
      </ul>
      <p id="sessions-said" className="about" role="status">
        {said}
      </p>
    </nav>
  )
}

type SessionItemProps = Pick<SessionsPanelProps, 'rename' | 'remove' | 'exportAs'> & {
  readonly session: SessionSummary
  readonly isCurrent: boolean
}

function SessionItem({ session, isCurrent, rename, remove, exportAs }: SessionItemProps): ReactElement {
  const { id, eventCount } = session
  const title = titleOf(session)
  const [edited, setEdited] = useState<string | null>(null)
  if (edited !== null) {
    const save = () => {
      setEdited(null)
      if (edited.trim() !== '' && edited !== title) void rename(id, edited.trim())
    }
    return (
      <li>
        <form
          className="rename"
          onSubmit={event => {
            event.preventDefault()
            save()
          }}
        >
          <input
            aria-label={`New name of ${title}`}
            value={edited}
            maxLength={200}
            autoFocus
            onFocus={event => event.target.select()}
            onChange={event => setEdited(event.target.value)}
            onBlur={save}
            onKeyDown={event => {
              if (event.key !== 'Escape') return
              event.stopPropagation()
              setEdited(null)
            }}
          />
        </form>
      </li>
    )
  }
  return (
    <li>
      <button
        type="button"
        className="session"
        title={title}
        aria-current={isCurrent ? 'true' : undefined}
        onClick={() => goTo(id)}
        onDoubleClick={() => setEdited(title)}
        onKeyDown={event => {
          if (event.key === 'F2') setEdited(title)
          if (event.key === 'Delete' && eventCount > 0) remove(session)
        }}
      >
        <Visible text={title} />
      </button>
      {eventCount > 0 && (
        <span className="session-actions">
          {/* Of others there is room for one button beside the name. */}
          {isCurrent && (
            <button type="button" className="quiet" aria-label={`Rename ${title}`} onClick={() => setEdited(title)}>
              Rename
            </button>
          )}
          <button type="button" className="quiet" aria-label={`Delete ${title}`} onClick={() => remove(session)}>
            Delete
          </button>
          {isCurrent && (
            <span className="session-exports">
              <button
                type="button"
                className="quiet"
                aria-label={`Export log of ${title}`}
                onClick={() => exportAs(session, 'jsonl')}
              >
                Export log
              </button>
              <button
                type="button"
                className="quiet"
                aria-label={`Export transcript of ${title}`}
                onClick={() => exportAs(session, 'markdown')}
              >
                Export transcript
              </button>
            </span>
          )}
        </span>
      )}
    </li>
  )
}
