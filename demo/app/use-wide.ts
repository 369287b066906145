/** Whether the page has room for its three columns. */
import { useSyncExternalStore } from 'react'

const query = '(min-width: 1100px)'

function subscribe(listener: () => void): () => void {
  const list = matchMedia(query)
  list.addEventListener('change', listener)
  return () => list.removeEventListener('change', listener)
}

export const useWide = (): boolean => useSyncExternalStore(subscribe, () => matchMedia(query).matches)
