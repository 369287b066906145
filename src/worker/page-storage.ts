/** What the browser says of this origin's storage, where it says anything. */

/** In bytes; null where the browser does not say. */
export type StorageState = {
  readonly usage: number | null
  readonly quota: number | null
  /** The browser promised to keep it when space runs low. */
  readonly isPersisted: boolean
}

const manager = (): StorageManager | undefined => (navigator as { readonly storage?: StorageManager }).storage

export async function storageState(): Promise<StorageState> {
  const { usage = null, quota = null } = (await manager()?.estimate()) ?? {}
  return { usage, quota, isPersisted: (await manager()?.persisted()) ?? false }
}

export async function persist(): Promise<boolean> {
  return (await manager()?.persist()) ?? false
}
