/** Who may write a session: one holder per session and storage (SPEC O1–O3). */

/** Gives the lease up; calling it twice is harmless. */
export type Release = () => void

export interface Lease {
  /** Takes the lease named `name`, waiting a little for a holder that is just going away; null when it is held. */
  acquire(name: string): Promise<Release | null>
}

/** Leases within one realm; for tests and for platforms without Web Locks, where the storage's epoch still fences. */
export function memoryLease(): Lease {
  const held = new Map<string, symbol>()
  return {
    acquire: async name => {
      if (held.has(name)) return null
      const holder = Symbol(name)
      held.set(name, holder)
      return () => {
        // A second call must not free what somebody else holds by then.
        if (held.get(name) === holder) held.delete(name)
      }
    },
  }
}

export type WebLeaseOptions = {
  readonly locks?: LockManager
  /**
   * How long to wait for a holder to let go, ms; default 1 000. A worker that was just terminated holds its locks a few
   * milliseconds longer than its page believes. A lock that nobody holds is waited for as long as it takes.
   */
  readonly waitMs?: number
}

/** Leases across all tabs and workers of the origin, held as Web Locks: the browser frees them when the holder dies. */
export function webLease({ locks = navigator.locks, waitMs = 1_000 }: WebLeaseOptions = {}): Lease {
  return {
    acquire: name =>
      new Promise((resolve, reject) => {
        const patience = new AbortController()
        let isGranted = false
        // On a busy machine the time is up before a free lock is granted: only one that is held is given up.
        const giveUpIfHeld = async () => {
          const { held = [] } = await locks.query()
          if (isGranted) return
          if (held.some(lock => lock.name === name)) patience.abort()
          else timer = setTimeout(lookAgain, waitMs)
        }
        const fail = (error: unknown) => {
          clearTimeout(timer)
          if (patience.signal.aborted) resolve(null)
          else reject(error instanceof Error ? error : new TypeError(String(error)))
        }
        const lookAgain = () => {
          giveUpIfHeld().catch(fail)
        }
        let timer = setTimeout(lookAgain, waitMs)
        locks
          .request(name, { signal: patience.signal }, () => {
            isGranted = true
            clearTimeout(timer)
            return new Promise<void>(release => resolve(release))
          })
          .catch(fail)
      }),
  }
}

/** Web Locks where the platform has them, leases within the realm elsewhere. */
export function platformLease(): Lease {
  return typeof navigator !== 'undefined' && 'locks' in navigator ? webLease() : memoryLease()
}
