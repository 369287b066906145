/** Something that is told and not said: one quiet line, which may open to more. */
import type { ReactElement, ReactNode } from 'react'
import { Seq, useLit } from '../app/seq.tsx'
import { Visible } from '../text/visible-text.tsx'

export type AsideProps = {
  readonly seq: number
  readonly kin?: readonly number[]
  /** What the handle is of. */
  readonly of: string
  readonly words: string
  /** What the line opens to; without it, it does not. */
  readonly children?: ReactNode
}

export function Aside({ seq, kin = [], of, words, children }: AsideProps): ReactElement {
  const lit = useLit(seq)
  return (
    <div className="row aside" tabIndex={-1} data-row="" {...lit}>
      <div className="who">
        <Seq seq={seq} kin={kin} of={of} />
      </div>
      <div className="body">
        {children === undefined ? (
          <p className="remark">
            <Visible text={words} />
          </p>
        ) : (
          <details>
            <summary className="remark">
              <Visible text={words} />
            </summary>
            {children}
          </details>
        )}
      </div>
    </div>
  )
}
