/** Which session the address names: `#session=ID`. The page follows its address, so that back and forward work. */
import { useSyncExternalStore } from 'react'
import { newId } from './new-id.ts'

const HASH = /^#session=(.+)$/

/** Id of the session the address names; null when it names none. */
export function addressedSession(hash: string = location.hash): string | null {
  const [, id] = HASH.exec(hash) ?? []
  try {
    return id === undefined ? null : decodeURIComponent(id)
  } catch {
    return null
  }
}

/** Leads to a session. */
export function goTo(id: string): void {
  location.hash = `session=${encodeURIComponent(id)}`
}

function subscribe(listener: () => void): () => void {
  const onChange = () => {
    if (addressedSession() === null) history.replaceState(null, '', `#session=${newId()}`)
    listener()
  }
  addEventListener('hashchange', onChange)
  return () => removeEventListener('hashchange', onChange)
}

/** The addressed session; an address without one gets a new one. */
export function useAddressedSession(): string {
  return useSyncExternalStore(subscribe, current)
}

function current(): string {
  const id = addressedSession()
  if (id !== null) return id
  const fresh = newId()
  history.replaceState(null, '', `#session=${fresh}`)
  return fresh
}
