/** Sessions as hooks: hold one open, list them all, and know what could not be stored. */
import { useCallback, useMemo, useSyncExternalStore } from 'react'
import type { SessionSummary } from './client.ts'
import { useClientContext } from './provider.tsx'
import type { SessionState, UnsavedSession } from './session-holds.ts'
import type { SessionListState } from './session-list.ts'

/**
 * Session `id`, held open as long as the component is mounted: restored and, when its last turn was cut off, repaired; or
 * created. Components that hold the same session share it. After the last one is gone the session is closed, once an
 * answer that is on its way has come to its end.
 */
export function useSession(id: string): SessionState & { readonly retry: () => void } {
  const { holds } = useClientContext()
  const subscribe = useCallback((listener: () => void) => holds.hold(id, listener), [holds, id])
  const state = useSyncExternalStore(
    subscribe,
    () => holds.get(id),
    () => holds.get(id),
  )
  return useMemo(() => ({ ...state, retry: () => holds.retry(id) }), [state, holds, id])
}

/** All sessions of this browser, last changed first, with what can be done to them. */
export function useSessions(): SessionListState & SessionsActions {
  const { client, list } = useClientContext()
  const state = useSyncExternalStore(list.subscribe, list.getSnapshot, list.getServerSnapshot)
  const actions = useMemo(
    (): SessionsActions => ({
      refresh: list.refresh,
      rename: (id, title) => client.sessions.rename(id, title),
      remove: id => client.sessions.delete(id),
    }),
    [client, list],
  )
  return useMemo(() => ({ ...state, ...actions }), [state, actions])
}

export type SessionsActions = {
  /** Reads the list again: other tabs do not tell of their changes. */
  readonly refresh: () => void
  /** Names a session; null takes the name away. */
  readonly rename: (id: string, title: string | null) => Promise<void>
  /** Forgets a session for good, open or not. */
  readonly remove: (id: string) => Promise<void>
}

/** Sessions that were left and could not be stored: they stay in the worker's memory and are tried again. */
export function useUnsavedSessions(): readonly UnsavedSession[] {
  const { holds } = useClientContext()
  return useSyncExternalStore(
    holds.subscribeUnsaved,
    () => holds.unsaved,
    () => holds.unsaved,
  )
}

export type { SessionSummary }
