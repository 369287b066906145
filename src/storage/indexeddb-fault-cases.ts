/**
 * What becomes of a database when any one request of an operation fails: it is as it was, or as it should be, never in
 * between. For tests; runs in Node on fake-indexeddb and in a browser on the real one.
 */
import { SessionSeq } from '../core/ids.ts'
import { changes, storeAll } from './conformance-faults.ts'
import { ConformanceError, newSession, same, whole } from './conformance-kit.ts'
import { type DatabaseCase, databaseCase, dump, intercepted, type Method } from './indexeddb-kit.ts'
import { type SessionStorage, StorageError } from './storage.ts'

const requests: readonly Method[] = [
  ...['add', 'put', 'delete', 'get', 'getKey', 'getAll', 'openCursor', 'openKeyCursor'].map(
    (name): Method => [IDBObjectStore.prototype, name],
  ),
  ...['getKey', 'getAll', 'getAllKeys', 'openCursor', 'count'].map((name): Method => [IDBIndex.prototype, name]),
]

/** How a request fails. */
const failures: Readonly<Record<string, (proceed: () => IDBRequest) => IDBRequest>> = {
  'is refused for want of space': () => {
    throw new DOMException('as told', 'QuotaExceededError')
  },
  'is refused since the browser lost its storage': () => {
    throw new DOMException('as told', 'UnknownError')
  },
  'ends its transaction': proceed => {
    const request = proceed()
    abortOf(request)
    return request
  },
  'ends its transaction once it succeeded': proceed => {
    const request = proceed()
    request.addEventListener('success', () => abortOf(request))
    return request
  },
  'ends its transaction a moment later': proceed => {
    const request = proceed()
    setTimeout(() => abortOf(request), 0)
    return request
  },
}

function abortOf({ transaction }: IDBRequest): void {
  try {
    transaction?.abort()
  } catch {
    // It was complete by then.
  }
}

/** Carries out `change` while the `n`-th request fails, or that and all later ones; answers the failure, if it came to it. */
async function withFailure(
  n: number,
  fail: (proceed: () => IDBRequest) => IDBRequest,
  isForGood: boolean,
  change: () => Promise<unknown>,
): Promise<{ readonly isReached: boolean; readonly error: unknown }> {
  let calls = 0
  let error: unknown = null
  const intercept = (proceed: () => unknown): unknown => {
    const call = calls++
    return call === n || (isForGood && call > n) ? fail(proceed as () => IDBRequest) : proceed()
  }
  await intercepted(requests, intercept, async () => {
    await change().catch((thrown: unknown) => (error = thrown))
  })
  return { isReached: calls > n, error }
}

/** Stored in several steps. */
const large = (): readonly { firstSeq: SessionSeq; count: number; text: string }[] =>
  [0, 1].map(seq => ({ firstSeq: SessionSeq(seq), count: 1, text: `["${'.'.repeat(4_000_000)}"]` }))

const operations: readonly (readonly [what: string, change: (storage: SessionStorage) => Promise<unknown>])[] = [
  ...changes.map(({ what, change }, index) => [`${what} (${index})`, change] as const),
  ['storeLog, large,', storage => storage.storeLog(whole(newSession('d'), [], { segments: large(), time: 500 }))],
]

export const requestFaultCases: readonly DatabaseCase[] = operations.flatMap(([what, change]) =>
  Object.entries(failures).flatMap(([failure, fail]) =>
    [false, true].map(isForGood =>
      databaseCase(
        `W1 ${what} is whole or not at all, whichever request ${failure}${isForGood ? ', and all after it' : ''}`,
        async (open, database) => {
          const storage = open()
          await storeAll(storage)
          const before = await dump(database)
          let failed = 0
          for (let n = 0; ; n++) {
            const { isReached, error } = await withFailure(n, fail, isForGood, () => change(storage))
            if (error === null && !isReached) break
            if (error === null) {
              // Nobody was in time to stop it: then it is done, and what follows begins anew.
              const after = await dump(database)
              if (JSON.stringify(after) === JSON.stringify(before) && !/^(merge|restore|putBlob)/.test(what)) {
                throw new ConformanceError(`${what} answered and did nothing, request ${n}`)
              }
              return
            }
            if (!(error instanceof StorageError)) throw error
            failed++
            // An unfinished log is taken away at once, or by the next who collects.
            await storage.collect(1_000)
            same(`the database after request ${n}`, await dump(database), before)
          }
          if (failed === 0) throw new ConformanceError(`${what} made no request that can fail`)
        },
      ),
    ),
  ),
)
