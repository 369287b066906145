/** Leases over Web Locks, with locks that are granted when a test says so. */
import { expect, it, vi } from 'vitest'
import { webLease } from './lease.ts'

/** A lock manager whose only lock is granted by `grant()`; `isHeld` is what a query says of it until then. */
function slowLocks(isHeld: boolean) {
  let grant: () => void = () => undefined
  const queries: string[] = []
  const locks = {
    request: (name: string, { signal }: LockOptions, callback: (lock: unknown) => Promise<void>) =>
      new Promise<void>((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new DOMException('gave up', 'AbortError')))
        grant = () => {
          callback({ name }).then(resolve, reject)
        }
      }),
    query: async () => {
      queries.push('query')
      return { held: isHeld ? [{ name: 'session' }] : [{ name: 'another' }], pending: [{ name: 'session' }] }
    },
  }
  return { locks: locks as unknown as LockManager, grant: () => grant(), queries }
}

it('[O1] a lock that another one holds is given up when its time is over', async () => {
  const { locks } = slowLocks(true)
  expect(await webLease({ locks, waitMs: 5 }).acquire('session')).toBeNull()
})

it('[O1] a lock that nobody holds is waited for, however late it is granted', async () => {
  const { locks, grant, queries } = slowLocks(false)
  const taking = webLease({ locks, waitMs: 2 }).acquire('session')
  await vi.waitFor(() => expect(queries.length).toBeGreaterThan(3))
  grant()
  const release = await taking
  expect(release).toBeTypeOf('function')
  const asked = queries.length
  await new Promise(resolve => setTimeout(resolve, 20))
  expect(queries.length - asked).toBeLessThanOrEqual(1) // nothing looks on
  release?.()
})

it('[O1] a lock manager that fails is an error, not a lease in use', async () => {
  const { locks } = slowLocks(false)
  locks.query = () => Promise.reject(new TypeError('no locks here'))
  await expect(webLease({ locks, waitMs: 2 }).acquire('session')).rejects.toThrow('no locks here')
})
