/**
 * Paging backwards: earlier events in front of a transcript that began later, wherever it was cut (SPEC V7). The events
 * before the first turn that is whole are folded again together with the page; everything after them stays as it is.
 */
import { refusal } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import { equalJson } from '../core/json.ts'
import { Sequence } from './sequence.ts'
import {
  emptyTranscript,
  foldTranscript,
  isAnswered,
  type LaterReplacement,
  markTurns,
  outsideKey,
  type Transcript,
  turnKey,
  turnPosition,
  type TranscriptTurn,
} from './transcript.ts'
import type { Items, TranscriptItem } from './turn-items.ts'

/**
 * `state` with `events` in front: the transcript of all events from the first of them on. They are consecutive and end
 * where `state` begins; what it has already is passed over.
 *
 * @throws {SessionError} `seq` when events are missing in between.
 */
export function prependHistory(state: Transcript, events: readonly SessionEvent[]): Transcript {
  const page = events.filter(event => event.seq < state.from)
  if (page[0] === undefined) return state
  const front = foldTranscript(state.memory.head, foldPage(page, page[0].seq, state.from))
  const { turns, live, memory } = state
  const { firstTurnSeq } = memory
  const cut = firstTurnSeq === null ? turns.length : turnPosition(turns, firstTurnSeq - 1) + 1
  const known = turns.slice(0, cut)
  if (firstTurnSeq === null) {
    const shown = reuseTurns(front.turns, known)
    return { ...front, turns: shown, live: live !== null && isAnswered(shown, live.messageId) ? null : live }
  }
  let shown = renamed(front.turns, memory.lowest)
  for (const { by, seqs } of memory.later) shown = markTurns(shown, seqs, by)
  shown = reuseTurns(shown, known)
  const whole = cut === 0 ? turns.prepend(shown.slice()) : turns.splice(0, cut - 1, shown.slice())
  return {
    turns: whole,
    from: front.from,
    to: state.to,
    live: live !== null && isAnswered(whole, live.messageId) ? null : live,
    memory: {
      ...memory,
      firstTurnSeq: front.memory.firstTurnSeq ?? firstTurnSeq,
      head: front.memory.head,
      later: laterThan(front, memory.later),
      highest: Math.max(front.memory.highest, memory.highest),
      lowest: Math.min(front.memory.lowest, memory.lowest),
    },
  }
}

/** The page by itself, up to where the events that are known begin. */
function foldPage(page: readonly SessionEvent[], from: number, to: number): Transcript {
  const folded = foldTranscript(page, emptyTranscript(from))
  if (folded.to === to) return folded
  throw refusal('seq', page.at(-1) as SessionEvent, `is the end of a page that should go up to seq ${to - 1}`)
}

/** Replacements of events that a page may still bring again, oldest first. */
function laterThan({ from, memory }: Transcript, later: Sequence<LaterReplacement>): Sequence<LaterReplacement> {
  const { firstTurnSeq } = memory
  if (from === 0) return Sequence.empty
  if (firstTurnSeq === null) return later
  let kept = memory.later
  for (const { by, seqs } of later) {
    const before = seqs.filter(seq => seq < firstTurnSeq)
    if (before.length > 0) kept = kept.append({ by, seqs: before })
  }
  return kept
}

/** The turns with names that no turn after them has: theirs are in use, and `lowest` is the lowest number among them. */
function renamed(turns: Sequence<TranscriptTurn>, lowest: number): Sequence<TranscriptTurn> {
  let result = turns
  let before: TranscriptTurn | undefined
  for (let position = 0; position < turns.length; position += 1) {
    let each = turns.at(position) as TranscriptTurn
    if (each.turn !== null && each.turn >= lowest) each = { ...each, key: turnKey(each.turn, each.startSeq, false) }
    else if (each.turn === null && before !== undefined) each = { ...each, key: outsideKey(before) }
    if (each.key !== turns.at(position)?.key) result = result.set(position, each)
    before = each
  }
  return result
}

/** The turns, with the objects of `known` where they show the same. */
function reuseTurns(turns: Sequence<TranscriptTurn>, known: readonly TranscriptTurn[]): Sequence<TranscriptTurn> {
  let result = turns
  for (const old of known) {
    const position = turnPosition(turns, old.startSeq)
    const folded = turns.at(position)
    if (position === -1 || folded === undefined) continue
    const turn = { ...folded, items: reuseItems(folded.items, old.items) }
    result = result.set(position, isSame(turn, old) ? old : turn)
  }
  return result
}

function reuseItems(items: Items, known: Items): Items {
  const byKey = new Map<string, TranscriptItem>()
  for (const item of known) byKey.set(item.key, item)
  const changes: [position: number, item: TranscriptItem][] = []
  let position = 0
  for (const item of items) {
    const old = byKey.get(item.key)
    if (old !== undefined && isSame(item, old)) changes.push([position, old])
    position += 1
  }
  return changes.length === items.length && changes.length === known.length ? known : items.setAll(changes)
}

/** True when two turns or two items hold the same: the same sequences, and otherwise what is equal. */
function isSame(left: object, right: object): boolean {
  const values = right as Record<string, unknown>
  const entries = Object.entries(left)
  if (entries.length !== Object.keys(values).length) return false
  return entries.every(([key, value]) => {
    return value === values[key] || (!(value instanceof Sequence) && equalJson(value, values[key]))
  })
}
