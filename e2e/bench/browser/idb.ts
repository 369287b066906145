/** IndexedDB without a library: what the contestants that are no library are made of. */

export function settled<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('An IndexedDB request failed'))
  })
}

export function completed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(transaction.error ?? new Error('An IndexedDB transaction was aborted'))
  })
}

/** The database of that name with its object stores, by their key paths; null: keys are given with each value. */
export function openDatabase(
  name: string,
  stores: Readonly<Record<string, string | string[] | null>>,
): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1)
  request.onupgradeneeded = () => {
    for (const [store, keyPath] of Object.entries(stores)) request.result.createObjectStore(store, { keyPath })
  }
  return settled(request)
}
