/** Lists of seqs as files keep them: runs may be written as `[first, last]` (SPEC F7). Read, never written. */
import { isSafeNonNegativeInteger } from '../core/ids.ts'

/** Most seqs all lists of one log may expand to: what is written in a few bytes must not fill the memory. */
const MOST = 20_000_000

/** Expands the source lists of one log; one for each log, since it counts. */
export class SourceSeqs {
  #expanded = 0

  /**
   * The list with every run written out: unique seqs before `seq`, in order when it has runs. The very same list when it
   * has none; a text that says what is wrong when it is no such list.
   */
  expand(list: unknown, seq: number): readonly number[] | string {
    if (!Array.isArray(list)) return 'should be an array'
    let hasRuns = false
    let isAscending = true
    let last = -1
    for (let index = 0; index < list.length; index += 1) {
      const member: unknown = list[index]
      if (Array.isArray(member)) {
        const [first, end] = member as unknown[]
        const isRun = member.length === 2 && isSafeNonNegativeInteger(first) && isSafeNonNegativeInteger(end)
        if (!isRun || first > end) return `should have a run [first, last] or a seq at [${index}]`
        if (end >= seq) return `cites ${end} at [${index}], which is not earlier than itself`
        hasRuns = true
        if (first <= last) isAscending = false
        last = end
        continue
      }
      if (!isSafeNonNegativeInteger(member)) return `should have a seq at [${index}]`
      if (member >= seq) return `cites ${member} at [${index}], which is not earlier than itself`
      if (member <= last) isAscending = false
      last = member
    }
    if (hasRuns) return isAscending ? this.#write(list) : 'should be in ascending order, since it has runs'
    if (!isAscending && new Set(list).size !== list.length) return 'cites a seq twice'
    return list as number[]
  }

  #write(list: readonly (number | readonly [number, number])[]): readonly number[] | string {
    const seqs: number[] = []
    for (const member of list) {
      const [first, end] = typeof member === 'number' ? [member, member] : member
      this.#expanded += end - first + 1
      if (this.#expanded > MOST) return `makes all lists of this log longer than ${MOST} seqs together`
      for (let seq = first; seq <= end; seq += 1) seqs.push(seq)
    }
    return seqs
  }
}
