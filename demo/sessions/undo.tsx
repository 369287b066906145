/** The way back from a deletion, while it is at hand. */
import type { ReactElement } from 'react'
import { Visible } from '../text/visible-text.tsx'
import type { Deletion } from './use-deletions.ts'

export type UndoProps = {
  readonly latest: readonly Deletion[]
  /** What was deleted here last: its button takes the focus. */
  readonly focused: string | null
  readonly undo: (deletion: Deletion) => void
}

export function Undo({ latest, focused, undo }: UndoProps): ReactElement {
  const last = latest.at(-1)
  return (
    <div className="undo" role="status">
      {last !== undefined && (
        <p>
          <span>
            “<Visible text={last.title} />” was deleted.
          </span>{' '}
          <button key={last.id} type="button" autoFocus={last.id === focused} onClick={() => undo(last)}>
            Undo
          </button>
        </p>
      )}
    </div>
  )
}
