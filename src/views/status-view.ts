/** The status of a session as a store. */
import type { PalimpsestError } from '../core/errors.ts'
import { Listeners } from './listeners.ts'
import type { SessionSource } from './source.ts'
import { deriveStatus, type StatusView } from './status.ts'
import type { ViewStore } from './store.ts'

const OPENING: StatusView = deriveStatus({ status: null, length: 0, ended: null })

/** The status of `source`, as it is whenever it is asked for. */
export function statusView(source: SessionSource): ViewStore<StatusView> {
  let ended: PalimpsestError | null = null
  let last: StatusView | null = null
  const current = () => (last = deriveStatus({ status: source.status, length: source.length, ended }, last))
  const listeners = new Listeners(() => {
    let told = current()
    return source.subscribe(update => {
      if (update.kind === 'ended') ended = update.error
      const now = current()
      if (now === told) return
      told = now
      listeners.tell()
    })
  })
  return { getSnapshot: current, getServerSnapshot: () => OPENING, subscribe: listeners.add }
}
