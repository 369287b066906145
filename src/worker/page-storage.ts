/** What the browser says of this origin's storage, where it says anything. */

/** In bytes; null where the browser does not say. */
export type StorageState = {
  readonly usage: number | null
  readonly quota: number | null
  /** The browser promised to keep it when space runs low. */
  readonly isPersisted: boolean
}

/** Insecure pages have none of it, and browsers have not got all of it at once: Safari could persist before it could estimate. */
const manager = (): Partial<StorageManager> =>
  (navigator as { readonly storage?: Partial<StorageManager> }).storage ?? {}

export async function storageState(): Promise<StorageState> {
  const { usage = null, quota = null } = (await manager().estimate?.()) ?? {}
  return { usage, quota, isPersisted: (await manager().persisted?.()) ?? false }
}

export async function persist(): Promise<boolean> {
  return (await manager().persist?.()) ?? false
}
