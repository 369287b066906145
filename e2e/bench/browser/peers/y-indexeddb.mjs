import { IndexeddbPersistence } from 'y-indexeddb'
import { Doc } from 'yjs'

/** How many events one change of the document adds. */
const PUSH = 1000

export async function open(name) {
  const doc = new Doc()
  const persistence = new IndexeddbPersistence(name, doc)
  await persistence.whenSynced
  return {
    bulk: async events => {
      const array = doc.getArray('events')
      for (let from = 0; from < events.length; from += PUSH) array.push(events.slice(from, from + PUSH))
      // It does not tell when something is stored; a read that comes after the writes does.
      await new Promise((resolve, reject) => {
        const request = persistence.db.transaction('updates').objectStore('updates').count()
        request.onsuccess = resolve
        request.onerror = () => reject(request.error)
      })
    },
    load: async () => doc.getArray('events').toArray().length,
  }
}
