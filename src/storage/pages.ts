/** Small neighbouring segments become pages: what is read together is stored together. Pure (SPEC W14). */
import { SessionSeq } from '../core/ids.ts'
import type { Segment } from './storage.ts'

/**
 * Text of one page, UTF-16 units: below this a segment is small, above the other no two are put together. Chromium keeps
 * values of more than 64 KB compressed, and those that are larger even so in files of their own: pages in between are read
 * fastest.
 */
export const SMALL_PAGE = 64_000
export const LARGE_PAGE = 120_000

/** One page to be stored in place of its parts. */
export type Merge = { readonly page: Segment; readonly parts: readonly Segment[] }

export type MergePlan = {
  readonly merges: readonly Merge[]
  /** Segments before this seq need not be looked at again. */
  readonly mergedTo: SessionSeq
}

/**
 * What becomes of the consecutive segments of a log from `from` on, `isEnd` when no others follow. A page that is still
 * small stands open, and so does the last one while others follow: it is put together again with what comes after it. What is no text of an array stays alone: it must not spoil its neighbours.
 */
export function planMerge(segments: readonly Segment[], from: SessionSeq, isEnd: boolean): MergePlan {
  const merges: Merge[] = []
  let mergedTo = from
  let parts: Segment[] = []
  let size = 0
  const close = () => {
    if (parts.length > 1) merges.push({ page: joined(parts), parts })
    const last = parts.at(-1)
    if (last !== undefined) mergedTo = endOf(last)
    parts = []
    size = 0
  }
  for (const segment of segments) {
    const isArray = isArrayText(segment.text)
    if (size + segment.text.length > LARGE_PAGE || !isArray) close()
    parts.push(segment)
    size += segment.text.length
    if (!isArray) close()
  }
  if (isEnd && size >= SMALL_PAGE) close()
  else if (parts.length > 1) merges.push({ page: joined(parts), parts })
  return { merges, mergedTo }
}

const isArrayText = (text: string): boolean => text.length > 2 && text.startsWith('[') && text.endsWith(']')

const endOf = ({ firstSeq, count }: Segment): SessionSeq => SessionSeq(firstSeq + count)

/** Texts of arrays as the text of one array: no event is parsed for it. */
function joined(parts: readonly Segment[]): Segment {
  const [first] = parts
  const count = parts.reduce((sum, part) => sum + part.count, 0)
  const text = `[${parts.map(part => part.text.slice(1, -1)).join(',')}]`
  return { firstSeq: first?.firstSeq ?? SessionSeq(0), count, text }
}

/** Text of one transaction of a log that is stored whole, UTF-16 units. */
const STORE_AT_ONCE = 32 * LARGE_PAGE

/** The segments of a log that is stored whole, as they are asked for, for one transaction each. */
export function* partsOf(segments: Iterable<Segment>): Generator<readonly Segment[]> {
  let part: Segment[] = []
  let size = 0
  for (const segment of segments) {
    part.push(segment)
    size += segment.text.length
    if (size < STORE_AT_ONCE) continue
    yield part
    part = []
    size = 0
  }
  if (part.length > 0) yield part
}
