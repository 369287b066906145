/** Where a session comes from, in words. */
import type { SessionSummary } from 'palimpsest'
import type { FamilyMember } from 'palimpsest/react'
import { counted, dayAndTime } from '../app/format.ts'
import { titleOf } from './titles.ts'

/** What is known of a parent. */
type Parent = Pick<SessionSummary, 'title' | 'eventCount' | 'deletedAt'>

/** `parent`: null when it is not here; undefined when that cannot be said. */
export function originWords(parent: Parent | null | undefined): string {
  if (parent === undefined) return 'branch of an earlier session'
  if (parent === null) return 'branch of a session that is gone'
  return `branch of ${titleOf(parent)}${parent.deletedAt === null ? '' : ', deleted'}`
}

/** Where a member of a family comes from, as the heading of that family. */
export function familyWords(member: FamilyMember, parent: FamilyMember | undefined): string {
  if (member.depth === 0) return 'Branches'
  if (parent === undefined || parent.isMissing) return 'Branch of a session that is gone'
  return `Branch of “${titleOf(parent)}”${parent.deletedAt === null ? '' : ', which was deleted'}`
}

/** What tells a member from others that may have its name. */
export function memberWords(member: FamilyMember, now: number): string {
  const { branchedAt, eventCount, updatedAt, deletedAt } = member
  // The last event that both have: the handle it has everywhere.
  const origin = branchedAt === null || branchedAt === 0 ? [] : [`after #${branchedAt - 1}`]
  const state = deletedAt === null ? [counted(eventCount, 'event'), dayAndTime(updatedAt, now)] : ['deleted']
  return [...origin, ...state].join(' · ')
}
