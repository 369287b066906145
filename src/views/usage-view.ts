/** Token counts of a session as a store. The source keeps them; this tells when they change. */
import { Listeners } from './listeners.ts'
import type { SessionSource } from './source.ts'
import type { ViewStore } from './store.ts'
import { type UsageState, usageFold } from './usage.ts'

const NOTHING: UsageState = usageFold.initial()

/** The usage of `source`. */
export function usageView(source: SessionSource): ViewStore<UsageState> {
  const listeners = new Listeners(() => {
    let told = source.usage
    return source.subscribe(() => {
      if (source.usage === told) return
      told = source.usage
      listeners.tell()
    })
  })
  return {
    getSnapshot: () => source.usage,
    getServerSnapshot: () => NOTHING,
    subscribe: listeners.add,
  }
}
