/** Deleting with a way back: a session is gone at once, everywhere, and for a while the way back is right at hand. */
import type { SessionsActions } from 'palimpsest/react'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { tellChange } from '../app/channel.ts'

/** How long the way back is at hand, ms. After that, deleted sessions are listed apart. */
export const UNDO_MS = 8_000

export type Deletion = { readonly id: string; readonly title: string }

export type Deletions = {
  /** What the list may still have, but not for long. */
  readonly leaving: ReadonlySet<string>
  /** What was deleted here lately, the last one last. */
  readonly latest: readonly Deletion[]
  readonly start: (deletion: Deletion) => Promise<void>
  /** The way back was taken, or is none any more. */
  readonly settle: (id: string) => void
}

/** `refresh` resolves when the list does not have what was removed; failures are told to `onError`. */
export function useDeletions(
  remove: SessionsActions['remove'],
  refresh: () => Promise<void>,
  onError: (deletion: Deletion, error: unknown) => void,
): Deletions {
  const [leaving, setLeaving] = useState<ReadonlySet<string>>(new Set())
  const [latest, setLatest] = useState<readonly Deletion[]>([])
  const timers = useRef(new Map<string, ReturnType<typeof setTimeout>>())
  useEffect(() => {
    const running = timers.current
    return () => {
      for (const timer of running.values()) clearTimeout(timer)
      running.clear()
    }
  }, [])

  const settle = useCallback((id: string) => {
    clearTimeout(timers.current.get(id))
    timers.current.delete(id)
    setLatest(before => before.filter(each => each.id !== id))
  }, [])
  const start = useCallback(
    async (deletion: Deletion) => {
      const { id } = deletion
      settle(id)
      setLeaving(before => new Set(before).add(id))
      setLatest(before => [...before, deletion])
      timers.current.set(
        id,
        setTimeout(() => settle(id), UNDO_MS),
      )
      try {
        await remove(id, { undoable: true })
        tellChange('sessions')
        await refresh()
      } catch (error) {
        settle(id)
        onError(deletion, error)
      } finally {
        setLeaving(before => new Set([...before].filter(each => each !== id)))
      }
    },
    [remove, refresh, onError, settle],
  )
  return useMemo(() => ({ leaving, latest, start, settle }), [leaving, latest, start, settle])
}
