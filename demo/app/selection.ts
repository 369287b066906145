/**
 * One event, many views: what is selected, and its kin – what it stands for, what stands for it, the call of a result.
 * A seq is lit wherever it is shown. Rows ask for their own seqs only, so that a selection costs two rows, not all.
 */
import { useCallback, useSyncExternalStore } from 'react'

export type Selection = { readonly seq: number; readonly kin: ReadonlySet<number> }

let selection: Selection | null = null
const listeners = new Set<() => void>()

/** Selects the event `seq` and lights its kin; selecting it again lets go. */
export function select(seq: number, kin: Iterable<number> = []): void {
  set(selection?.seq === seq ? null : { seq, kin: new Set(kin) })
}

export function clearSelection(): void {
  if (selection !== null) set(null)
}

export const getSelection = (): Selection | null => selection

export function subscribeSelection(listener: () => void): () => void {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

function set(next: Selection | null): void {
  selection = next
  for (const listener of [...listeners]) listener()
}

/** `selected` for the event itself, `kin` for what belongs to it, null otherwise: the best of `seqs` counts. */
export function useLight(...seqs: readonly (number | null)[]): 'selected' | 'kin' | null {
  const light = () => {
    if (selection === null) return null
    if (seqs.includes(selection.seq)) return 'selected'
    return seqs.some(seq => seq !== null && selection?.kin.has(seq) === true) ? 'kin' : null
  }
  return useSyncExternalStore(subscribeSelection, light)
}

/** The seq that is selected; null for none. */
export function useSelectedSeq(): number | null {
  return useSyncExternalStore(
    subscribeSelection,
    useCallback(() => selection?.seq ?? null, []),
  )
}
