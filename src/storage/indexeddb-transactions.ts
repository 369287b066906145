/** Work in one transaction each, and in words what became of it. */
import type { ErrorFacts } from '../core/errors.ts'
import { abort, type Connection } from './indexeddb-connection.ts'
import type { StoreName, Tx } from './indexeddb-schema.ts'
import { errorName, toStorageError } from './platform-error.ts'
import type { Durability } from './storage.ts'

export class Transactions {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Runs `body` in a transaction that only reads. */
  read<Result>(
    doing: string,
    facts: ErrorFacts,
    stores: StoreName[],
    body: (tx: Tx<'readonly'>) => Promise<Result>,
  ): Promise<Result> {
    return this.run(doing, facts, stores, 'readonly', 'relaxed', body)
  }

  /**
   * Runs `body` in one transaction and resolves when that is complete; when it is not, nothing was changed. `body` awaits
   * nothing but requests of the transaction.
   */
  run<Result, Mode extends 'readonly' | 'readwrite'>(
    doing: string,
    facts: ErrorFacts,
    stores: StoreName[],
    mode: Mode,
    durability: Durability,
    body: (tx: Tx<Mode>) => Promise<Result>,
  ): Promise<Result> {
    return this.named(doing, facts, async () => {
      const tx = await this.#connection.begin(stores, mode, durability)
      // As a value, since it may reject long before it is awaited; `tx.error` says more than the rejection.
      const failure = tx.done.then(
        () => null,
        (error: unknown) => ({ error: tx.error ?? error }),
      )
      try {
        const result = await body(tx)
        const failed = await failure
        if (failed) throw failed.error
        return result
      } catch (error) {
        abort(tx)
        const failed = await failure
        // A request of a transaction that ends under it only says that it ends; the transaction says why.
        throw failed && errorName(error) === 'AbortError' ? failed.error : error
      }
    })
  }

  /** Runs `work`; what it fails with says what was being done. */
  async named<Result>(doing: string, facts: ErrorFacts, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      // WebKit says so when its storage process died; every later use of the connection would fail the same way.
      if (errorName(error) === 'UnknownError') this.#connection.reset()
      throw toStorageError(error, doing, facts)
    }
  }
}
