/** A storage that fails on purpose: what stands above it must lose nothing (SPEC W7). */
import type { SessionStorage } from './storage.ts'

/** A call of the storage: which one, and with what. */
export type StorageCall = {
  readonly method: Exclude<keyof SessionStorage, 'kind' | 'name'>
  readonly args: readonly unknown[]
}

/**
 * Decides what becomes of a call. `proceed` carries it out and answers what the storage did; a fault throws before it, and
 * nothing is done, or after it, and the answer is lost on the way. It may wait as long as it likes.
 */
export type StorageFault = (call: StorageCall, proceed: () => Promise<unknown>) => Promise<unknown>

/** The same storage, every call of which goes through `fault`. */
export function withFaults(storage: SessionStorage, fault: StorageFault): SessionStorage {
  return new Proxy(storage, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      if (typeof value !== 'function') return value
      return async (...args: readonly unknown[]): Promise<unknown> =>
        fault({ method: key as StorageCall['method'], args }, async () => Reflect.apply(value, target, args) as unknown)
    },
  })
}
