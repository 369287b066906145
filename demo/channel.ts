/** Tells the page, and this page in other tabs, that something stored has changed. */

export type Change = 'notes' | 'sessions'

const channel = new BroadcastChannel('palimpsest-demo')

/** Tells every other holder of the channel. */
export function tellChange(change: Change): void {
  channel.postMessage(change)
}

/** Calls `listener` for changes made elsewhere. */
export function onChange(change: Change, listener: () => void): void {
  channel.addEventListener('message', event => {
    if ((event as MessageEvent<Change>).data === change) listener()
  })
}
