/** Runs in the page: every byte the page keeps or shows, as one text. */
export async function everythingKept(): Promise<string> {
  const settled = <Value>(request: IDBRequest<Value>) =>
    new Promise<Value>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error ?? new Error('IndexedDB failed'))
    })
  const parts: unknown[] = [
    document.documentElement.outerHTML,
    location.href,
    { ...localStorage },
    { ...sessionStorage },
  ]
  for (const { name = '' } of await indexedDB.databases()) {
    const db = await settled(indexedDB.open(name))
    const stores = [...db.objectStoreNames]
    const tx = db.transaction(stores)
    for (const store of stores) parts.push(await settled(tx.objectStore(store).getAll()))
    db.close()
  }
  for (const name of await caches.keys()) parts.push(name)
  parts.push(
    document.cookie,
    [...document.querySelectorAll('input, textarea')].map(field => (field as HTMLInputElement).value),
  )
  return JSON.stringify(parts)
}
