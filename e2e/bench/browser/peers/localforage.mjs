import localforage from 'localforage'
import { keyOf } from './keys.mjs'

export async function open(name) {
  const store = localforage.createInstance({ name, storeName: 'events', driver: localforage.INDEXEDDB })
  await store.ready()
  return {
    // It has no call for many values; all at once takes longer still.
    bulk: async events => {
      for (const event of events) await store.setItem(keyOf(event), event)
    },
    load: async () => {
      const events = []
      await store.iterate(event => {
        events.push(event)
      })
      return events.length
    },
  }
}
