/** Tells the page, and this page in other tabs, that something stored has changed. */

export type Change = 'notes' | 'sessions'

const channel = new BroadcastChannel('palimpsest-demo')

/** Tells every other holder of the channel. */
export function tellChange(change: Change): void {
  channel.postMessage(change)
}

/** Calls `listener` for changes made elsewhere; returns its remover. */
export function onChange(change: Change, listener: () => void): () => void {
  const own = (event: MessageEvent<Change>) => {
    if (event.data === change) listener()
  }
  channel.addEventListener('message', own)
  return () => channel.removeEventListener('message', own)
}
