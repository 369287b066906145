/** What the page says of sessions by their names. */
import type { SessionSummary } from 'palimpsest'
import { useUnsavedSessions } from 'palimpsest/react'
import type { ReactElement, ReactNode } from 'react'
import { goTo } from '../sessions/address.ts'
import { titleOf } from '../sessions/titles.ts'
import { Visible } from '../text/visible-text.tsx'
import { unsavedWords } from './words.ts'

/** Which sessions that were left could not be saved, for as long as that is so. */
export function Unsaved({ titles }: { readonly titles: readonly SessionSummary[] | null }): ReactElement {
  const unsaved = useUnsavedSessions()
  return (
    <div role="status" id="unsaved">
      {unsaved.map(({ id, error, isKept }) => {
        const known = titles?.find(each => each.id === id)
        return (
          <div key={id} className="notice">
            {unsavedWords(known === undefined ? 'Untitled' : titleOf(known), error, isKept)}{' '}
            <button type="button" onClick={() => goTo(id)}>
              Open it
            </button>
          </div>
        )
      })}
    </div>
  )
}

/** What is said of a session, by its name. */
export function Named({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <>
      “<Visible text={title} />” {children}
    </>
  )
}
