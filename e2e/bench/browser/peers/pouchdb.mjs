import PouchDB from 'pouchdb-browser'
import { keyOf } from './keys.mjs'

export async function open(name) {
  const db = new PouchDB(name)
  await db.info()
  return {
    bulk: async events => {
      const results = await db.bulkDocs(events.map(event => ({ _id: keyOf(event), ...event })))
      const failed = results.filter(result => 'error' in result).length
      if (failed > 0) throw new Error(`PouchDB did not store ${failed} documents`)
    },
    load: async () => (await db.allDocs({ include_docs: true })).rows.length,
  }
}
