/** Forks: a child session shares the beginning of another one's log (SPEC R7). */
import type { SessionHeader } from './events.ts'

/** What the header of a child has of its parent's: where it comes from, and where it works. */
export function childHeader({ id, cwd }: SessionHeader): Pick<SessionHeader, 'parentSession' | 'isSeeded' | 'cwd'> {
  return { parentSession: id, isSeeded: true, ...(cwd === undefined ? {} : { cwd }) }
}
