/**
 * Deleting with a way back: a session is gone from the list at once and from the browser a little later. What is still
 * waiting when the page is reloaded is deleted then; when the tab is closed instead, it stays.
 */
import { useCallback, useEffect, useRef, useState } from 'react'

/** How long a deletion can be taken back, ms. */
export const UNDO_MS = 8_000

const STORED = 'palimpsest-demo-removals'

export type Removal = { readonly id: string; readonly title: string }

export type Removals = {
  /** Sessions that are not listed any more. */
  readonly waiting: readonly Removal[]
  readonly remove: (removal: Removal) => void
  readonly undo: (id: string) => void
}

/** `destroy` deletes for good; what it rejects with is told to `onError`, and the session is listed again. */
export function useRemovals(
  destroy: (id: string) => Promise<void>,
  onError: (removal: Removal, error: unknown) => void,
): Removals {
  const [waiting, setWaiting] = useState<readonly Removal[]>(readStored)
  const timers = useRef(new Map<string, ReturnType<typeof setTimeout>>())

  const finish = useCallback(
    async (removal: Removal) => {
      timers.current.delete(removal.id)
      try {
        await destroy(removal.id)
      } catch (error) {
        onError(removal, error)
      } finally {
        setWaiting(before => before.filter(each => each.id !== removal.id))
      }
    },
    [destroy, onError],
  )
  const start = useCallback(
    (removal: Removal, ms: number) => {
      if (timers.current.has(removal.id)) return
      timers.current.set(
        removal.id,
        setTimeout(() => void finish(removal), ms),
      )
    },
    [finish],
  )

  // Each waiting one has a timer of its own; those a reload left behind are not to be taken back any more.
  const first = useRef(true)
  useEffect(() => {
    for (const removal of waiting) start(removal, first.current ? 0 : UNDO_MS)
    first.current = false
    store(waiting)
  }, [waiting, start])
  useEffect(() => {
    const running = timers.current
    return () => {
      for (const timer of running.values()) clearTimeout(timer)
      running.clear()
      first.current = true
    }
  }, [])

  const remove = useCallback((removal: Removal) => {
    setWaiting(before => (before.some(each => each.id === removal.id) ? before : [...before, removal]))
  }, [])
  const undo = useCallback((id: string) => {
    clearTimeout(timers.current.get(id))
    timers.current.delete(id)
    setWaiting(before => before.filter(each => each.id !== id))
  }, [])
  return { waiting, remove, undo }
}

function store(waiting: readonly Removal[]): void {
  try {
    if (waiting.length === 0) sessionStorage.removeItem(STORED)
    else sessionStorage.setItem(STORED, JSON.stringify(waiting))
  } catch {
    // Without the store a deletion that is not finished before the page is closed does not happen: nothing is lost.
  }
}

function readStored(): readonly Removal[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? '[]')
    return Array.isArray(stored) ? stored.filter(isRemoval) : []
  } catch {
    return []
  }
}

const isRemoval = (value: unknown): value is Removal =>
  typeof value === 'object' &&
  value !== null &&
  'id' in value &&
  typeof value.id === 'string' &&
  'title' in value &&
  typeof value.title === 'string'
