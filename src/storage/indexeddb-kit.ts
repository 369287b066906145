/** What the tests of the database are made of: names, raw connections, what is in a database, and how to break it. */
import { type IndexedDbOptions, indexedDbStorage } from './indexeddb.ts'
import type { SessionStorage } from './storage.ts'

let databases = 0

/** A name no other test has used. */
export const freshName = (): string => `palimpsest-test-${Date.now()}-${databases++}`

/** Settles as the request does. */
export function settled<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new DOMException('no reason given'))
  })
}

/** Opens a database without idb; unlike ours, the connection ignores `versionchange`. */
export function openRaw(name: string, version?: number, upgrade?: (db: IDBDatabase) => void): Promise<IDBDatabase> {
  const request = indexedDB.open(name, version)
  request.onupgradeneeded = () => upgrade?.(request.result)
  return settled(request)
}

/** Changes what is stored behind the storage's back. */
export async function tamper(
  name: string,
  store: string,
  change: (store: IDBObjectStore) => IDBRequest,
): Promise<void> {
  const db = await openRaw(name)
  await settled(change(db.transaction(store, 'readwrite').objectStore(store)))
  db.close()
}

/** Runs `body` while `target[key]` is replaced. */
export async function replaced<Target extends object, Key extends keyof Target>(
  target: Target,
  key: Key,
  replacement: Target[Key],
  body: () => Promise<void>,
): Promise<void> {
  const original = Object.getOwnPropertyDescriptor(target, key)
  Object.defineProperty(target, key, { configurable: true, writable: true, value: replacement })
  try {
    await body()
  } finally {
    if (original) Object.defineProperty(target, key, original)
    else delete target[key]
  }
}

/** A method of a prototype. */
export type Method = readonly [target: object, name: string]

/** Everything a transaction is asked for, but for going on with a cursor. */
export function requestMethods(): readonly Method[] {
  const ofStores = ['add', 'put', 'delete', 'get', 'getKey', 'getAll', 'openCursor', 'openKeyCursor']
  const ofIndexes = ['getKey', 'getAll', 'getAllKeys', 'openCursor', 'count']
  return [
    ...ofStores.map((name): Method => [IDBObjectStore.prototype, name]),
    ...ofIndexes.map((name): Method => [IDBIndex.prototype, name]),
  ]
}

/** Runs `body` while each call of these methods goes through `intercept`, which may let it proceed. */
export async function intercepted(
  methods: readonly Method[],
  intercept: (proceed: () => unknown) => unknown,
  body: () => Promise<void>,
): Promise<void> {
  const wrapped = methods.reduce<() => Promise<void>>((inner, [target, name]) => {
    const original = Reflect.get(target, name) as (...args: unknown[]) => unknown
    const replacement = function (this: object, ...args: unknown[]): unknown {
      return intercept(() => original.apply(this, args))
    }
    return () => replaced(target, name as never, replacement as never, inner)
  }, body)
  await wrapped()
}

export type DatabaseCase = { readonly name: string; readonly run: () => Promise<void> }

/** A case with a database of its own; storages it opens are closed, whatever happens. */
export function databaseCase(
  name: string,
  body: (open: (options?: IndexedDbOptions, version?: number) => SessionStorage, database: string) => Promise<void>,
): DatabaseCase {
  return {
    name,
    run: async () => {
      const database = freshName()
      const opened: SessionStorage[] = []
      try {
        await body((options, version) => {
          const storage = indexedDbStorage({ name: database, openTimeoutMs: 5_000, ...options }, version)
          opened.push(storage)
          return storage
        }, database)
      } finally {
        for (const storage of opened) await storage.close()
      }
    },
  }
}

/** Everything in a database, its schema included. */
export type Dump = { readonly version: number; readonly stores: Readonly<Record<string, DumpedStore>> }

export type DumpedStore = {
  /** Null when the key of a record is not in it. */
  readonly keyPath: string | readonly string[] | null
  readonly indexes: Readonly<Record<string, DumpedIndex>>
  readonly records: readonly DumpedRecord[]
}
type DumpedIndex = { readonly keyPath: string | readonly string[]; readonly multiEntry: boolean }
/** Bytes are an array of numbers, since JSON has no other. */
type DumpedRecord = { readonly key: IDBValidKey; readonly value?: object; readonly bytes?: readonly number[] }

/** What a database holds; it must exist. */
export async function dump(name: string): Promise<Dump> {
  const db = await openRaw(name)
  const { version } = db
  const names = [...db.objectStoreNames]
  const tx = db.transaction(names)
  const stores = await Promise.all(names.map(async store => [store, await dumpStore(tx.objectStore(store))] as const))
  db.close()
  return { version, stores: Object.fromEntries(stores) }
}

async function dumpStore(store: IDBObjectStore): Promise<DumpedStore> {
  const [keys, values] = await Promise.all([
    settled(store.getAllKeys()),
    settled(store.getAll() as IDBRequest<object[]>),
  ])
  const indexes = [...store.indexNames].map(name => {
    const { keyPath, multiEntry } = store.index(name)
    return [name, { keyPath, multiEntry }] as const
  })
  const records = values.map((value, index): DumpedRecord => {
    const key = keys[index] ?? ''
    return value instanceof Uint8Array ? { key, bytes: [...value] } : { key, value }
  })
  return { keyPath: store.keyPath as DumpedStore['keyPath'], indexes: Object.fromEntries(indexes), records }
}

/** Makes the database a dump describes, without the library. */
export async function build(name: string, { version, stores }: Dump): Promise<void> {
  const db = await openRaw(name, version, opened => {
    for (const [storeName, { keyPath, indexes, records }] of Object.entries(stores)) {
      const store = opened.createObjectStore(storeName, keyPath === null ? {} : { keyPath: pathOf(keyPath) })
      for (const [index, { keyPath: path, multiEntry }] of Object.entries(indexes)) {
        store.createIndex(index, pathOf(path), { multiEntry })
      }
      for (const { key, value, bytes } of records) {
        if (bytes === undefined) store.put(value)
        else store.put(new Uint8Array(bytes), key)
      }
    }
  })
  db.close()
}

const pathOf = (path: string | readonly string[]): string | string[] => (typeof path === 'string' ? path : [...path])
