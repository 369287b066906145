import { createRxDatabase } from 'rxdb/plugins/core'
import { getRxStorageDexie } from 'rxdb/plugins/storage-dexie'
import { keyOf } from './keys.mjs'

const schema = {
  version: 0,
  type: 'object',
  primaryKey: 'id',
  properties: {
    id: { type: 'string', maxLength: 8 },
    type: { type: 'string' },
    seq: { type: 'number' },
    time: { type: 'number' },
    data: { type: 'object' },
    surfaceOp: { type: 'string' },
  },
  required: ['id', 'type', 'seq', 'time', 'data'],
}

export async function open(name) {
  const db = await createRxDatabase({ name, storage: getRxStorageDexie() })
  const { events: collection } = await db.addCollections({ events: { schema } })
  return {
    bulk: async events => {
      const { error } = await collection.bulkInsert(events.map(event => ({ id: keyOf(event), ...event })))
      if (error.length > 0) throw new Error(`RxDB did not store ${error.length} documents`)
    },
    load: async () => (await collection.find().exec()).length,
  }
}
