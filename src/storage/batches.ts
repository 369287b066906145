/** What of a queue of events goes into one batch, and in which values. Pure (SPEC W4, W21). */
import { type BlobId, SessionSeq } from '../core/ids.ts'
import { LARGE_PAGE } from './pages.ts'
import type { Segment } from './storage.ts'

/** An event that is not known to be stored. */
export type UnsavedEvent = { readonly seq: SessionSeq; readonly text: string } & EventExtras

/** What an event says to the storage besides its text. */
export type EventExtras = {
  /** It settles the call whose journal is kept: that goes with it. */
  readonly settles?: boolean
  /** Blobs it refers to. */
  readonly blobs?: readonly BlobId[]
}

/** The same in the queue, with what is worked out of it once. */
export type QueuedEvent = UnsavedEvent & { readonly width: 1 | 2 }

/** Bytes of one batch, about, so that what waits for it does not wait long. */
export const BATCH_BYTES = 1_000_000

/**
 * A value of more bytes may be kept in a file of its own, which a strict transaction that comes later does not harden
 * after the fact: Chromium does so from 64 KB on, compressed. So a batch with a larger value is strict.
 */
const LARGE_VALUE = 60_000

/** Bytes of each UTF-16 unit of a text as browsers keep it: two for all of them when one has no room in one. */
export const widthOf = (text: string): 1 | 2 => (WIDE.test(text) ? 2 : 1)
const WIDE = /[^\u0000-\u00ff]/

/** Whether a value of this text may be too large for a relaxed transaction. */
export const isLarge = (text: string): boolean =>
  text.length > LARGE_VALUE || (2 * text.length > LARGE_VALUE && widthOf(text) * text.length > LARGE_VALUE)

/** How many events from the one at `start` on fit into so many bytes, as one value; at least one if there is one. */
export function countWithin(events: readonly QueuedEvent[], start: number, most: number): number {
  // Brackets, and a comma after each.
  let length = 1
  let width = 1
  let end = start
  for (; end < events.length; end += 1) {
    const event = events[end] as QueuedEvent
    length += event.text.length + 1
    width = Math.max(width, event.width)
    if (end > start && width * length > most) break
  }
  return end - start
}

/** Events as segments of the size of pages, so that nobody has to merge them; one without events when there are none. */
export function segmentsOf(events: readonly QueuedEvent[], firstSeq: number): readonly [Segment, ...Segment[]] {
  const segments: Segment[] = []
  let start = 0
  do {
    const count = countWithin(events, start, LARGE_PAGE)
    const texts = events.slice(start, start + count).map(({ text }) => text)
    segments.push({ firstSeq: SessionSeq(firstSeq + start), count, text: `[${texts.join(',')}]` })
    start += count
  } while (start < events.length)
  return segments as [Segment, ...Segment[]]
}

/** Whether the segments end with those events, word for word; they may have become a page with others before them. */
export function isEndOf(segments: readonly Segment[], events: readonly UnsavedEvent[]): boolean {
  const stored = segments.map(({ text }) => `,${text.slice(1, -1)}`).join('')
  return stored.endsWith(events.map(({ text }) => `,${text}`).join(''))
}
