/** The sessions of this browser: open, start, import, export, rename, pin, delete with a way back. */
import type { SessionSummary } from 'palimpsest'
import { type ReactElement, type ReactNode, useEffect, useRef, useState } from 'react'
import type { ExportAs } from '../files/save-session.ts'
import { newId } from './new-id.ts'
import { BranchMark } from './branch-mark.tsx'
import { Visible } from '../text/visible-text.tsx'
import { goTo } from './address.ts'
import { titleOf } from './titles.ts'

export type SessionsPanelProps = {
  readonly sessions: readonly SessionSummary[] | null
  /** There are more than these. */
  readonly hasMore: boolean
  readonly showMore: () => void
  /** The session on the page. */
  readonly current: string
  /** Nothing was said in it. */
  readonly isNew: boolean
  readonly rename: (id: string, title: string) => Promise<void>
  readonly pin: (session: SessionSummary, isPinned: boolean) => void
  readonly remove: (session: SessionSummary) => void
  /** Has a person choose files that become sessions. */
  readonly importFiles: () => void
  readonly exportAs: (session: SessionSummary, as: ExportAs) => void
  /** What it branched off from, in words; null for what is no branch. */
  readonly originOf: (session: SessionSummary) => string | null
  /** What was done, or could not be. */
  readonly said: ReactNode
  /** What was done and can be seen: for those who do not see it. */
  readonly heard: ReactNode
  /** Stands at the end of the list. */
  readonly deleted: ReactNode
}

export function SessionsPanel(props: SessionsPanelProps): ReactElement {
  const { sessions, hasMore, showMore, current, isNew, importFiles, said, heard, deleted } = props
  const isListed = sessions?.some(each => each.id === current) ?? false
  const list = useRef<HTMLUListElement>(null)
  // Whoever asked for more goes on with the first of them.
  const shown = useRef<HTMLElement[] | null>(null)
  const items = () => [...(list.current?.querySelectorAll<HTMLElement>('.session') ?? [])]
  useEffect(() => {
    const before = shown.current
    const next = before === null ? undefined : items().find(each => !before.includes(each))
    if (next === undefined) return
    shown.current = null
    next.focus({ preventScroll: true })
  }, [sessions])
  return (
    <nav className="sessions" aria-labelledby="sessions-title">
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
      <ul id="sessions" className="plain" ref={list}>
        {/* A session nothing was said in is listed until it is left. */}
        {sessions !== null && !isListed && isNew && (
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
            rename={props.rename}
            pin={props.pin}
            remove={props.remove}
            exportAs={props.exportAs}
            origin={props.originOf(session)}
          />
        ))}
      </ul>
      {hasMore && (
        <button
          type="button"
          className="quiet show-more"
          onClick={() => {
            shown.current = items()
            showMore()
          }}
        >
          Show more
        </button>
      )}
      <p id="sessions-said" className="about" role="status">
        {said}
      </p>
      <p id="sessions-heard" className="unseen" role="status">
        {heard}
      </p>
      {deleted}
    </nav>
  )
}

type SessionItemProps = Pick<SessionsPanelProps, 'rename' | 'pin' | 'remove' | 'exportAs'> & {
  readonly session: SessionSummary
  readonly isCurrent: boolean
  readonly origin: string | null
}

function SessionItem({ session, isCurrent, origin, rename, pin, remove, exportAs }: SessionItemProps): ReactElement {
  const { id, eventCount, isPinned } = session
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
        {isPinned && <PinMark />}
        {origin !== null && (
          <span className="origin">
            <BranchMark />
            <Visible text={origin} />
          </span>
        )}
      </button>
      {eventCount > 0 && (
        <span className="session-actions">
          {/* Of others there is room for one button beside the name. */}
          {isCurrent && (
            <button
              type="button"
              className="quiet"
              aria-pressed={isPinned}
              aria-label={`Pin ${title}`}
              title={isPinned ? 'Pinned: listed first' : 'List it first'}
              onClick={() => pin(session, !isPinned)}
            >
              Pin
            </button>
          )}
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

function PinMark(): ReactElement {
  return (
    <svg className="pin-mark" viewBox="0 0 16 16" role="img" aria-label="pinned">
      <path d="M5 1.5h6L10.3 7l2.7 2.4V11H8.7v4H7.3v-4H3V9.4L5.7 7z" />
    </svg>
  )
}
