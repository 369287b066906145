/** A line that leaves another one: what began as something else. Decoration, the words beside it say so. */
import type { ReactElement } from 'react'

export function BranchMark(): ReactElement {
  return (
    <svg className="branch-mark" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M4 2v12M4 5c0 5 8 2 8 8" />
    </svg>
  )
}
