/** The handle of an event, `#42`: the same in every view. */
import type { ReactElement } from 'react'
import { select, useLight } from './selection.ts'

export type SeqProps = {
  readonly seq: number
  /** Events that belong to it. */
  readonly kin?: readonly number[]
  /** What the handle is of, for those who do not see where it stands. */
  readonly of?: string
}

/** A button that lights the event and its kin in every view. */
export function Seq({ seq, kin = [], of = 'Event' }: SeqProps): ReactElement {
  const isSelected = useLight(seq) === 'selected'
  return (
    <button
      type="button"
      className="seq"
      aria-pressed={isSelected}
      aria-label={`${of} #${seq}`}
      onClick={event => {
        event.preventDefault() // a handle in a summary selects, it does not open
        event.stopPropagation()
        select(seq, kin)
      }}
    >
      #{seq}
    </button>
  )
}

/** Attributes of a row that is lit with its events. */
export function useLit(...seqs: readonly (number | null)[]): {
  readonly 'data-seq'?: number
  readonly 'data-lit'?: string
} {
  const light = useLight(...seqs)
  const own = seqs.find(seq => seq !== null)
  return { ...(typeof own === 'number' ? { 'data-seq': own } : {}), ...(light === null ? {} : { 'data-lit': light }) }
}
