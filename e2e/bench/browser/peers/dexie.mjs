import Dexie from 'dexie'

export async function open(name) {
  const db = new Dexie(name)
  db.version(1).stores({ events: 'seq' })
  await db.open()
  return {
    bulk: events => db.events.bulkAdd(events),
    load: async () => (await db.events.toArray()).length,
  }
}
