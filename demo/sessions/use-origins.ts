/** What sessions branched off from, as far as lists tell. */
import type { SessionSummary } from 'palimpsest'
import type { SessionListState } from 'palimpsest/react'
import { useMemo } from 'react'
import { originWords } from './family-words.ts'
import type { Names } from './use-names.ts'

type Listed = Pick<SessionListState, 'sessions' | 'hasMore'>

/** Says where a session comes from; null for one that is no branch. */
export function useOrigins(
  { sessions, hasMore }: Listed,
  { sessions: deleted, hasMore: hasMoreDeleted }: Listed,
  named: Names['named'],
): (session: SessionSummary) => string | null {
  return useMemo(() => {
    const known = new Map([...(sessions ?? []), ...(deleted ?? [])].map(each => [each.id, each]))
    const isWhole = sessions !== null && deleted !== null && !hasMore && !hasMoreDeleted
    return ({ parent }) => {
      if (parent === null) return null
      const found = known.get(parent)
      return originWords(found === undefined ? (isWhole ? null : undefined) : named(found))
    }
  }, [sessions, hasMore, deleted, hasMoreDeleted, named])
}
