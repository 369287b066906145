/** The libraries that are compared with, each loaded only where it is measured. */
const modules = {
  dexie: () => import('./dexie.mjs'),
  rxdb: () => import('./rxdb.mjs'),
  pouchdb: () => import('./pouchdb.mjs'),
  localforage: () => import('./localforage.mjs'),
  'y-indexeddb': () => import('./y-indexeddb.mjs'),
}

export const loadPeer = name => modules[name]()
