/** Many events at once, and all of them back, against libraries that keep records in IndexedDB. */
import type { BrowserRows } from '../bench.ts'
import type { PeerName } from '../peers/peer.mjs'

const peers: readonly PeerName[] = ['dexie', 'rxdb', 'pouchdb', 'localforage', 'y-indexeddb']

/** Ours is `storeLog` of the storage: like the others it takes records and checks no rules. */
export const bulkRows: BrowserRows = async bench => {
  bench.use('bulk')
  const range = { count: bench.size(10_000), variant: 'small', warmUp: true } as const
  const contestants = {
    ours: () => bench.sample('bulk', { ...range, database: bench.newName() }),
    ...Object.fromEntries(
      peers.map(peer => [peer, () => bench.sample('peerBulk', { ...range, peer, database: bench.newName() })]),
    ),
  } as Record<PeerName | 'ours', () => Promise<number>>
  const times = await bench.measure(contestants, { rounds: 5, warmUp: 1 })
  const name = `bulk write by storeLog, small, ${range.count}, against`
  return [
    bench.row(`${name} Dexie, ms`, times.ours, times.dexie, '≥ 30×'),
    bench.row(`${name} RxDB, ms`, times.ours, times.rxdb, '≥ 50×'),
    bench.row(`${name} PouchDB, ms`, times.ours, times.pouchdb, '≥ 80×'),
    bench.row(`${name} localForage, ms`, times.ours, times.localforage, '≥ 200×'),
    bench.row(`${name} y-indexeddb, ms`, times.ours, times['y-indexeddb'], '≥ 5×'),
  ]
}
