/** Sessions as hooks: hold one open, list them, and know what could not be stored. */
import { useCallback, useMemo, useSyncExternalStore } from 'react'
import type { DeleteHow, SessionSummary } from './client.ts'
import { useClientContext } from './provider.tsx'
import type { SessionState, UnsavedSession } from './session-holds.ts'
import type { SessionList, SessionListActions, SessionListState } from './session-list.ts'

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

/** The sessions of this browser, pinned ones first, then last changed first, with what can be done to them. */
export function useSessions(): SessionListState & SessionListActions & SessionsActions {
  const { client, holds, list } = useClientContext()
  const listed = useList(list)
  const actions = useMemo(
    (): SessionsActions => ({
      rename: (id, title) => client.sessions.rename(id, title),
      pin: (id, isPinned) => client.sessions.pin(id, isPinned),
      remove: (id, how) => client.sessions.delete(id, how),
      bringBack: async id => {
        await client.sessions.undelete(id)
        holds.retry(id)
      },
    }),
    [client, holds],
  )
  return useMemo(() => ({ ...listed, ...actions }), [listed, actions])
}

/** Sessions that were removed as `undoable` and can be brought back, last removed first. */
export function useDeletedSessions(): SessionListState & SessionListActions {
  return useList(useClientContext().deleted)
}

function useList(list: SessionList): SessionListState & SessionListActions {
  const state = useSyncExternalStore(list.subscribe, list.getSnapshot, list.getServerSnapshot)
  return useMemo(() => ({ ...state, ...list.actions }), [state, list])
}

export type SessionsActions = {
  /** Names a session; null takes the name away. */
  readonly rename: (id: string, title: string | null) => Promise<void>
  /** Lists a session before all that are not pinned, or no more. */
  readonly pin: (id: string, isPinned: boolean) => Promise<void>
  /** Deletes a session, open or not: for good, unless it is to be `undoable`. */
  readonly remove: (id: string, how?: DeleteHow) => Promise<void>
  /** Brings a session back that was removed as `undoable`; who holds it has it open again. */
  readonly bringBack: (id: string) => Promise<void>
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
