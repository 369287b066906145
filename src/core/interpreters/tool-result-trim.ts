/**
 * `palimpsest/tool-result/trim`: long results shortened for the model, whole in the log. The reference of an extension
 * that brings an event type and its interpreter (SPEC M7).
 */
import { defineEvent, type EventDefinition } from '../event-definition.ts'
import type { ContentBlock, ToolResultMessage } from '../events.ts'
import { isSafeNonNegativeInteger, type SessionSeq } from '../ids.ts'
import { type MessageProjection, unfit } from '../message-projection.ts'
import { checkTargets } from './projection-targets.ts'

/** Which results to shorten, and how many code points of their text to keep at either end. */
export type ToolResultTrim = {
  readonly targets: readonly { readonly seq: SessionSeq; readonly headChars: number; readonly tailChars: number }[]
}

/** Readers that do not know it show the model the whole result: nothing is misread, so it may be ignored. */
export const toolResultTrim: EventDefinition<ToolResultTrim> = defineEvent('palimpsest/tool-result/trim', {
  ignorable: true,
  projects: true,
})

/** What stands where text was left out. */
export const TRIM_MARKER = '\n[… part of this was left out here …]\n'

/** Shortens the results a `toolResultTrim` event names. */
export const toolResultTrimming: MessageProjection = {
  type: toolResultTrim.type,
  version: 1,
  project({ data }, context) {
    return checkTargets(data, ['headChars', 'tailChars'], context).map(({ seq, message, target }) => {
      const { headChars, tailChars } = target as ToolResultTrim['targets'][number]
      if (!isSafeNonNegativeInteger(headChars) || !isSafeNonNegativeInteger(tailChars)) {
        throw unfit(`headChars and tailChars of ${seq} are not counts`)
      }
      if (context.eventAt(seq)?.type !== 'tool/result') throw unfit(`${seq} is no tool result`)
      const [block] = (message as ToolResultMessage).content
      const content = trimText(block.content, headChars, tailChars)
      if (content === null) throw unfit(`${seq} has no more text than is to be kept`)
      return [seq, { ...(message as ToolResultMessage), content: [{ ...block, content }] }] as const
    })
  },
}

/**
 * The blocks with only the first `head` and the last `tail` code points of their text, the marker where the first of the
 * rest was; other blocks stay in their order, and text blocks of which nothing is left go. Null when all of it is kept.
 */
export function trimText(content: readonly ContentBlock[], head: number, tail: number): readonly ContentBlock[] | null {
  const points = content.map(block => (block.type === 'text' ? [...block.text] : []))
  const total = points.reduce((sum, { length }) => sum + length, 0)
  if (total <= head + tail) return null
  let before = 0
  let isMarked = false
  return content.flatMap((block, index): readonly ContentBlock[] => {
    if (block.type !== 'text') return [block]
    const own = points[index] as readonly string[]
    const first = own.slice(0, Math.max(0, head - before))
    const last = own.slice(Math.max(first.length, total - tail - before))
    before += own.length
    const marker = !isMarked && first.length + last.length < own.length ? TRIM_MARKER : ''
    isMarked ||= marker !== ''
    const text = first.join('') + marker + last.join('')
    return text === '' ? [] : [{ ...block, text }]
  })
}
