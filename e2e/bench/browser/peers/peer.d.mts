import type { WorkloadEvent } from '../../workload.mjs'

/** A library that keeps records in IndexedDB, opened. */
export type PeerStore = {
  /** Stores all events as records of their own; resolves when they are stored. */
  bulk(events: readonly WorkloadEvent[]): Promise<unknown>
  /** Reads all records and answers how many there are. */
  load(): Promise<number>
}
export type PeerModule = { readonly open: (name: string) => Promise<PeerStore> }
export type PeerName = 'dexie' | 'rxdb' | 'pouchdb' | 'localforage' | 'y-indexeddb'
/** Loads the code of a library. */
export declare function loadPeer(name: PeerName): Promise<PeerModule>
