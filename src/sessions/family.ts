/** Families: a session, where it comes from, and all that branched off, from the records alone (SPEC W22). */
import type { SessionId } from '../core/ids.ts'
import { endOfInherited } from '../storage/stored-session.ts'
import type { SessionRecord } from '../storage/storage.ts'
import type { SessionSummary } from './session-list.ts'

/** A session of a family. Of one that is missing nothing is known but its id. */
export type FamilyMember = SessionSummary & {
  /** Steps from the first ancestor, which has 0. */
  readonly depth: number
  /** It was deleted for good, or never came here; others name it as their parent. */
  readonly isMissing: boolean
  /** How many events it shares with its parent; null when it shares none, or has them as its own: an imported one does. */
  readonly branchedAt: number | null
}

/**
 * The family of `id`: the first ancestor, then all that descends from it, each before its own children, the oldest child
 * first. Sessions that were deleted are left out unless others that were not descend from them. Empty when nobody knows
 * `id`. Headers are whatever a file said: of sessions that name each other the oldest comes first, and each comes once.
 */
export function familyOf(
  id: SessionId,
  records: readonly SessionRecord[],
  summaries: readonly SessionSummary[],
): readonly FamilyMember[] {
  const known = new Map(summaries.map(summary => [summary.id, summary]))
  const children = new Map<SessionId, SessionSummary[]>()
  for (const summary of summaries) {
    if (summary.parent === null) continue
    const siblings = children.get(summary.parent)
    if (siblings === undefined) children.set(summary.parent, [summary])
    else siblings.push(summary)
  }
  const branches = new Map<string, number>()
  for (const { header, inherited } of records) {
    if (inherited.length > 0) branches.set(header.id, endOfInherited(inherited))
  }
  const visits: Visit[] = []
  const seen = new Set<SessionId>()
  const waiting: Visit[] = [{ id: firstAncestor(id, known), depth: 0, parent: null, isKept: false }]
  // No recursion: nobody says how long a chain of parents is.
  for (let visit = waiting.pop(); visit !== undefined; visit = waiting.pop()) {
    if (seen.has(visit.id)) continue
    seen.add(visit.id)
    visits.push(visit)
    for (const child of (children.get(visit.id) ?? []).sort(youngestFirst)) {
      waiting.push({ id: child.id, depth: visit.depth + 1, parent: visit, isKept: false })
    }
  }
  for (const visit of visits.toReversed()) {
    visit.isKept ||= known.get(visit.id)?.deletedAt === null
    if (visit.isKept && visit.parent !== null) visit.parent.isKept = true
  }
  return visits.flatMap(({ id: each, depth, isKept }) => {
    const summary = known.get(each)
    const branchedAt = branches.get(each) ?? null
    return isKept ? [{ ...(summary ?? missing(each)), depth, isMissing: summary === undefined, branchedAt }] : []
  })
}

type Visit = { readonly id: SessionId; readonly depth: number; readonly parent: Visit | null; isKept: boolean }

/** The first ancestor of a session, known or not; of a circle of them the oldest. */
function firstAncestor(id: SessionId, known: ReadonlyMap<SessionId, SessionSummary>): SessionId {
  const path = new Set<SessionId>()
  let ancestor = id
  for (let parent: SessionId | null = id; parent !== null; parent = known.get(parent)?.parent ?? null) {
    if (path.has(parent)) {
      const ids = [...path]
      const circle = ids.slice(ids.indexOf(parent)).flatMap(each => known.get(each) ?? [])
      return circle.sort(youngestFirst).at(-1)?.id ?? parent
    }
    path.add(parent)
    ancestor = parent
  }
  return ancestor
}

const youngestFirst = (a: SessionSummary, b: SessionSummary): number =>
  b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)

const missing = (id: SessionId): SessionSummary => ({
  ...{ id, title: null, parent: null, createdAt: 0, updatedAt: 0, eventCount: 0, size: null },
  ...{ isPinned: false, deletedAt: null },
})
