/** A closed database with all events, opened and read in a fresh worker, against libraries. */
import type { BrowserRows } from '../bench.ts'
import type { PeerName } from '../peers/peer.mjs'

export const reloadRows: BrowserRows = async bench => {
  bench.use('reload')
  const range = { count: bench.size(10_000), variant: 'small', warmUp: false } as const
  const length = await bench.sample('lengthOf', range)
  const stored = async (peer: PeerName) => {
    const database = bench.newName()
    await bench.sample('peerBulk', { ...range, peer, database })
    return () => bench.sample('peerReload', { peer, database, length })
  }
  const database = bench.newName()
  await bench.sample('bulk', { ...range, database })
  const times = await bench.measure(
    {
      ours: () => bench.sample('readAll', { database, id: 'bulk', length }),
      dexie: await stored('dexie'),
      rxdb: await stored('rxdb'),
      pouchdb: await stored('pouchdb'),
      localforage: await stored('localforage'),
      y: await stored('y-indexeddb'),
    },
    { rounds: 9, warmUp: 1 },
  )
  const name = `reload, small, ${range.count}, against`
  return [
    bench.row(`${name} Dexie, ms`, times.ours, times.dexie, '≥ 1.9×'),
    bench.row(`${name} RxDB, ms`, times.ours, times.rxdb, '≥ 8×'),
    bench.row(`${name} PouchDB, ms`, times.ours, times.pouchdb, '≥ 20×'),
    bench.row(`${name} localForage, ms`, times.ours, times.localforage, '≥ 5×'),
    bench.row(`${name} y-indexeddb, ms`, times.ours, times.y, '≥ 6×'),
  ]
}
