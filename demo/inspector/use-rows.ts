/** What the lists of the inspector have in common: they follow their end, keep their place, and bring what is selected into sight. */
import { type RefObject, useEffect } from 'react'
import { useSelectedSeq } from '../app/selection.ts'
import { useFollow, useKeepPlace } from '../app/use-follow.ts'

export type RowsView = {
  readonly view: RefObject<HTMLDivElement | null>
  readonly content: RefObject<HTMLDivElement | null>
}

/** For the list of the session `id` whose first row is that of the event `first`. */
export function useRows(id: string, first: number | undefined): RowsView {
  const { view, content } = useFollow(id)
  useKeepPlace(view, first === undefined ? null : String(first))
  const selected = useSelectedSeq()
  useEffect(() => {
    if (selected === null) return
    view.current?.querySelector(`[data-seq="${selected}"]`)?.scrollIntoView({ block: 'nearest' })
  }, [selected, view])
  return { view, content }
}
