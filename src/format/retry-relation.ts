/** The rules of retries for whoever goes through a whole log: ids of chains are looked up, not looked for. */
import type { Fold } from '../core/fold.ts'
import type { Invariant } from '../core/invariant.ts'
import { expected, fieldsOf, isText } from '../core/invariants/payload.ts'
import { retryInvariant } from '../core/invariants/retry-invariant.ts'
import { added, entriesOf, type IdTable, idTable, tableFromJson, valueOf } from './id-table.ts'

/** Ids of all chains of retries. */
const retryIdsFold: Fold<IdTable<true>> = {
  key: 'retry-ids',
  version: 1,
  on: ['llm/retry'],
  initial: () => idTable(),
  evolve(table, { event }) {
    const { retryId } = fieldsOf(event.data)
    return isText(retryId) ? added(table, retryId, true) : table
  },
  toJSON: table => entriesOf(table),
  fromJSON: json => tableFromJson(json),
}

/** `retryInvariant`, which goes back through the log for each new chain, at the same cost however long the log is. */
export const quickRetryInvariant: Invariant = {
  key: retryInvariant.key,
  folds: [...(retryInvariant.folds ?? []), retryIdsFold],
  problem(committed, log) {
    const { event } = committed
    if (event.type !== 'llm/retry') return retryInvariant.problem(committed, log)
    const { nodes, eventAt } = log
    const problem = retryInvariant.problem(committed, { length: 0, nodes, eventAt, fold: fold => log.fold(fold) })
    if (problem !== null) return problem
    const { retry, retryId } = fieldsOf(event.data)
    // The first one is that of a new chain.
    const isUsed = retry === 1 && isText(retryId) && valueOf(log.fold(retryIdsFold), retryId) === true
    return isUsed ? expected('a retryId no other chain has', retryId) : null
  },
}
