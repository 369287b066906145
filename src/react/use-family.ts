/** The family of a session as a hook: where it comes from, and what branched off. */
import { useEffect, useState } from 'react'
import type { FamilyMember } from './client.ts'
import { useClientContext } from './provider.tsx'

export type FamilyState = {
  /** The first ancestor first, each before its own children; null until it was read for the first time. */
  readonly members: readonly FamilyMember[] | null
  /** Why the last read failed; null when it did not. What was read before stays. */
  readonly error: unknown
}

type ReadState = FamilyState & { readonly id: string }

const unread = (id: string): ReadState => ({ id, members: null, error: null })

/** The family of session `id`, read again when it may have changed through this page. */
export function useFamily(id: string): FamilyState {
  const { client } = useClientContext()
  const [state, setState] = useState(() => unread(id))
  useEffect(() => {
    let isWanted = true
    const read = async () => {
      try {
        const members = await client.sessions.family(id)
        if (isWanted) setState({ id, members, error: null })
      } catch (error) {
        if (isWanted) setState(before => ({ ...(before.id === id ? before : unread(id)), error }))
      }
    }
    void read()
    const unsubscribe = client.sessions.subscribe(() => void read())
    return () => {
      isWanted = false
      unsubscribe()
    }
  }, [client, id])
  // That of another session is not shown for this one.
  return state.id === id ? state : unread(id)
}
