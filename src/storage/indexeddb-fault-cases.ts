/**
 * What becomes of a database when any one request of an operation fails: it is as it was, or as it should be, never in
 * between. For tests; runs in Node on fake-indexeddb and in a browser on the real one.
 */
import { SessionSeq } from '../core/ids.ts'
import { changes, storeAll } from './conformance-faults.ts'
import { newSession, same, whole } from './conformance-kit.ts'
import { type DatabaseCase, databaseCase, dump, freshName, intercepted, requestMethods } from './indexeddb-kit.ts'
import { type SessionStorage, StorageError } from './storage.ts'

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
  await intercepted(requestMethods(), intercept, async () => {
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
        async open => {
          let failed = 0
          for (let n = 0, isOver = false; !isOver; ) {
            const name = freshName()
            const storage = open({ name })
            await storeAll(storage)
            const before = await dump(name)
            for (let isDone = false; !isDone; n++) {
              const { isReached, error } = await withFailure(n, fail, isForGood, () => change(storage))
              if (error === null) {
                // Also when it was too late to fail; then the next one is tried on another database.
                same(`${what} changed something`, JSON.stringify(await dump(name)) !== JSON.stringify(before), true)
                isDone = true
                isOver = !isReached
              } else {
                same('what it fails with', error instanceof StorageError, true)
                failed++
                // An unfinished log is taken away at once, or by the next who collects.
                await storage.collect(1_000)
                same(`the database after request ${n}`, await dump(name), before)
              }
            }
            await storage.close()
          }
          if (!failure.endsWith('later')) same('it can fail', failed > 0, true)
        },
      ),
    ),
  ),
)
