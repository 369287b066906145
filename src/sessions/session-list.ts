/** Lists of sessions: what is stored of them, and what the live ones know better (SPEC W18). */
import type { SessionHeader } from '../core/events.ts'
import { SessionId } from '../core/ids.ts'
import type { Session } from '../core/session.ts'
import type { ListPosition, SessionRecord } from '../storage/storage.ts'
import { positionOf } from '../storage/stored-session.ts'
import { listedTitle, titleFold } from './title.ts'

/** What a list shows of a session. */
export type SessionSummary = {
  readonly id: SessionId
  readonly title: string | null
  /** The session it branched off from, as its header says: it may have been deleted, or never have come here. */
  readonly parent: SessionId | null
  /** Epoch ms. */
  readonly createdAt: number
  readonly updatedAt: number
  readonly eventCount: number
  /** Length of its own events as JSON, UTF-16 units; null when an older build stored some. What it inherits is its parent's. */
  readonly size: number | null
  readonly isPinned: boolean
  /** Epoch ms; null unless it was deleted and can be brought back. */
  readonly deletedAt: number | null
}

export type PageOptions = {
  /** Most sessions of the page; default 50. */
  readonly limit?: number
  /** What the page before said. */
  readonly after?: ListPosition | null
  /** Sessions that were deleted and can be brought back, last deleted first, instead of all others. */
  readonly deleted?: boolean
}

/** A part of a list; `after` is where the next one begins, null when there is none. */
export type SessionPage = { readonly sessions: readonly SessionSummary[]; readonly after: ListPosition | null }

/** Sessions of a page, unless it says otherwise. */
export const PAGE_SIZE = 50

/**
 * The records as summaries, in order, with what the live sessions know better. Those of `unstored` come along: they were
 * not stored when the records were asked for, and are on no page unless on this one.
 */
export function summariesOf<Live extends { readonly session: Session }>(
  records: readonly SessionRecord[],
  live: Iterable<Live>,
  unstored: ReadonlySet<Live>,
): readonly SessionSummary[] {
  const summaries = new Map(records.map(record => [record.header.id, summaryOf(record)]))
  const named = new Set(records.flatMap(({ header, title }) => (title === undefined ? [] : [header.id])))
  for (const each of live) {
    const { id, length, header } = each.session
    const stored = summaries.get(id)
    if (stored === undefined && !unstored.has(each)) continue
    const fresh = {
      ...headerFacts(header),
      title: null,
      updatedAt: header.createdAt,
      size: 0,
      isPinned: false,
      deletedAt: null,
    }
    // A name it was given by itself is in the log already, and on its way to the record; a person is told when it is there.
    const own = each.session.fold(titleFold)
    const title = named.has(id) || own.source === 'user' ? {} : { title: own.title }
    summaries.set(id, { ...(stored ?? fresh), ...title, eventCount: length })
  }
  return [...summaries.values()].sort(
    (a, b) => Number(b.isPinned) - Number(a.isPinned) || timeOf(b) - timeOf(a) || (a.id < b.id ? 1 : -1),
  )
}

/** A page of at most `limit` of the records that were found, one of them more than it may have when there are more. */
export function pageOf(
  found: readonly SessionRecord[],
  limit: number,
  summaries: (records: readonly SessionRecord[]) => readonly SessionSummary[],
): SessionPage {
  const records = found.slice(0, limit)
  const last = found.length > limit ? records.at(-1) : undefined
  return { sessions: summaries(records), after: last === undefined ? null : positionOf(last) }
}

const timeOf = ({ updatedAt, deletedAt }: SessionSummary): number => deletedAt ?? updatedAt

function summaryOf(record: SessionRecord): SessionSummary {
  const { header, updatedAt, nextSeq, size, pinned, deletedAt } = record
  return {
    ...headerFacts(header),
    ...{ title: listedTitle(record), updatedAt, eventCount: nextSeq, size: size ?? null },
    isPinned: pinned ?? false,
    deletedAt: deletedAt ?? null,
  }
}

const headerFacts = ({ id, createdAt, parentSession }: SessionHeader) => ({
  id: SessionId(id),
  parent: parentSession === undefined ? null : SessionId(parentSession),
  createdAt,
})
