/** A promise that everything is stored, to be settled by whoever stores it. */
import type { StorageError } from './storage.ts'

export type Flush = {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: StorageError) => void
}

export function newFlush(): Flush {
  let resolve: Flush['resolve'] = () => {}
  let reject: Flush['reject'] = () => {}
  const promise = new Promise<void>((onStored, onFailed) => {
    resolve = onStored
    reject = onFailed
  })
  return { promise, resolve, reject }
}
