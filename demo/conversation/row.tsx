/** The frame of a row in the conversation: who, which event, and what. */
import type { ReactElement, ReactNode } from 'react'
import { Seq, useLit } from '../app/seq.tsx'

export type RowProps = {
  readonly kind: string
  readonly who: string
  /** Null for an answer that is arriving: it has no event yet. */
  readonly seq: number | null
  readonly kin?: readonly number[]
  readonly busy?: boolean
  readonly children: ReactNode
  /** What can be done about it: a quiet line, in sight when it is pointed at. */
  readonly after?: ReactNode
}

/** One thing that was said. */
export function Row({ kind, who, seq, kin = [], busy = false, children, after }: RowProps): ReactElement {
  const lit = useLit(seq)
  return (
    <article className={`row ${kind}`} aria-busy={busy || undefined} tabIndex={-1} data-row="" {...lit}>
      <header className="who">
        <h3>{who}</h3> {/* The place of the handle is kept, so that nothing moves when it comes. */}
        {seq === null ? <span className="seq-space">&nbsp;</span> : <Seq seq={seq} kin={kin} of={who} />}
      </header>
      <div className="body">{children}</div>
      {after !== undefined && <div className="row-actions">{after}</div>}
    </article>
  )
}
