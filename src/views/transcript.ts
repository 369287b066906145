/**
 * The transcript: what a person has seen of a session, grouped by turn and advanced event by event (SPEC V2–V6, V14). It may
 * begin anywhere in the log; `transcript-history.ts` puts earlier events in front.
 */
import { refusal } from '../core/errors.ts'
import type { EventOf, SessionEvent, TurnEndReason } from '../core/events.ts'
import type { Committed } from '../core/fold.ts'
import { SessionSeq } from '../core/ids.ts'
import type { AssistantStreamFrame } from '../core/live.ts'
import { isReplaceSurfaceEvent } from '../core/surface.ts'
import { growLive, type LiveAnswer, startLive } from './live-answer.ts'
import { Sequence } from './sequence.ts'
import { addToItems, hasAnswer, ItemIndex, type Items, markReplaced, type TranscriptItem } from './turn-items.ts'

export type TranscriptTurn = {
  /** Tells a turn from the others, now and later; the same before and after its beginning is loaded. */
  readonly key: string
  /** Its number; null for what was said outside of turns, between two of them. */
  readonly turn: number | null
  /** Seq of its first event here. */
  readonly startSeq: SessionSeq
  /** Epoch ms; null outside of turns, where the beginning is not loaded, and while it has not ended. */
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly reason: TurnEndReason | null
  readonly endSeq: SessionSeq | null
  readonly items: Sequence<TranscriptItem>
  /** True when its beginning is not loaded. */
  readonly isCut: boolean
}

/** Never changed: each event gives another one, which shares all turns and items the event did not touch. */
export type Transcript = {
  readonly turns: Sequence<TranscriptTurn>
  /** First seq taken in; 0 when everything is here. */
  readonly from: number
  /** The seq that comes next. */
  readonly to: number
  /** The answer that is arriving. */
  readonly live: LiveAnswer | null
  /** What is remembered for later events and earlier pages. @internal */
  readonly memory: TranscriptMemory
}

/** A replacement taken in, of events that are not loaded, or are folded again with what is loaded in front of them. */
export type LaterReplacement = { readonly by: SessionSeq; readonly seqs: readonly SessionSeq[] }

/** What a transcript remembers besides what it shows. A group is a turn, or what is said between two turns. */
export type TranscriptMemory = {
  /** Where the next event belongs: a turn, between turns, or a group whose beginning is not here. */
  readonly place: 'turn' | 'outside' | 'cut'
  /** First seq of that group. */
  readonly start: number
  /** True when the group shows something already: it is the last one. */
  readonly isShown: boolean
  /** Of its items. A cache that all states of the group share. */
  readonly index: ItemIndex
  /** Seq of the first `turn/start` taken in. */
  readonly firstTurnSeq: number | null
  /** Events before it, unless there are none left to load: with earlier ones they may read differently. */
  readonly head: Sequence<SessionEvent>
  /** Replacements after it, of events before it. */
  readonly later: Sequence<LaterReplacement>
  /** Highest turn number so far, and the lowest from `firstTurnSeq` on. */
  readonly highest: number
  readonly lowest: number
}

/** A transcript that begins at seq `from`, with nothing taken in. */
export function emptyTranscript(from = 0): Transcript {
  return {
    turns: Sequence.empty,
    from,
    to: from,
    live: null,
    memory: {
      place: from === 0 ? 'outside' : 'cut',
      start: from,
      isShown: false,
      index: new ItemIndex(),
      firstTurnSeq: null,
      head: Sequence.empty,
      later: Sequence.empty,
      highest: -1,
      lowest: Number.POSITIVE_INFINITY,
    },
  }
}

/**
 * The transcript with one more event; the same object when it has the event already. Costs the same at any length, save
 * a replacement, which touches the items it stands for.
 *
 * @throws {SessionError} `seq` when events are missing in between.
 */
export function evolveTranscript(state: Transcript, entry: Committed | SessionEvent): Transcript {
  const event = 'event' in entry ? entry.event : entry
  if (event.seq < state.to) return state
  if (event.seq > state.to) throw refusal('seq', event, `came to a transcript that expects seq ${state.to}`)
  switch (event.type) {
    case 'turn/start':
      return startTurn(state, event)
    case 'turn/end':
      return endTurn(state, event)
    default:
      return showEvent(state, event)
  }
}

/** The transcript of `events`, on top of `state`. */
export function foldTranscript(events: Iterable<SessionEvent>, state: Transcript = emptyTranscript()): Transcript {
  let next = state
  for (const event of events) next = evolveTranscript(next, event)
  return next
}

/** The transcript with what arrived of an answer. An answer that is committed already is not shown twice. */
export function streamTranscript(state: Transcript, frames: readonly AssistantStreamFrame[]): Transcript {
  let { live } = state
  for (const frame of frames) {
    if (frame.kind === 'start') live = isAnswered(state.turns, frame.messageId) ? null : startLive(frame)
    else if (frame.attemptId !== live?.attemptId) continue
    else live = frame.kind === 'chunk' ? growLive(live, frame) : null
  }
  return live === state.live ? state : { ...state, live }
}

/** True when the latest turn, or what was said since, has this answer. */
export function isAnswered(turns: Sequence<TranscriptTurn>, messageId: string): boolean {
  for (let index = turns.length - 1; index >= 0; index -= 1) {
    const { turn, items } = turns.at(index) as TranscriptTurn
    if (hasAnswer(items, messageId)) return true
    if (turn !== null) return false
  }
  return false
}

function startTurn(state: Transcript, { seq, time, data: { turn } }: EventOf<'turn/start'>): Transcript {
  const { memory } = state
  const started: TranscriptTurn = {
    key: turnKey(turn, seq, turn > memory.highest),
    turn,
    startSeq: seq,
    startedAt: time,
    endedAt: null,
    reason: null,
    endSeq: null,
    items: Sequence.empty,
    isCut: false,
  }
  return {
    ...state,
    to: seq + 1,
    turns: state.turns.append(started),
    memory: {
      ...memory,
      place: 'turn',
      start: seq,
      isShown: true,
      index: new ItemIndex(),
      firstTurnSeq: memory.firstTurnSeq ?? seq,
      highest: Math.max(memory.highest, turn),
      lowest: Math.min(memory.lowest, turn),
    },
  }
}

function endTurn(state: Transcript, event: EventOf<'turn/end'>): Transcript {
  const { seq, time, data } = event
  const { memory, live } = state
  const base = { ...state, to: seq + 1, live: live?.turn === data.turn ? null : live }
  // An end without a beginning ends nothing.
  if (memory.place === 'outside') return { ...base, memory: remember(state, event) }
  const { turns, highest } = changeGroup(state, data.turn, null)
  const ended: TranscriptTurn = { ...(turns.at(-1) as TranscriptTurn), endedAt: time, reason: data.reason, endSeq: seq }
  return {
    ...base,
    turns: turns.set(-1, ended),
    memory: {
      ...remember(state, event),
      highest,
      place: 'outside',
      start: seq + 1,
      isShown: false,
      index: new ItemIndex(),
    },
  }
}

function showEvent(state: Transcript, event: SessionEvent): Transcript {
  const to = event.seq + 1
  const replaced = isReplaceSurfaceEvent(event) ? (event.sourceEventSeqs ?? []) : null
  const marked =
    replaced === null
      ? state
      : {
          ...state,
          turns: markTurns(state.turns, replaced, event.seq, state.memory.isShown ? state.memory.index : null),
        }
  const { turns, isShown, highest } = changeGroup(marked, turnOf(event), event)
  const kept = remember(state, event, replaced)
  const { memory } = state
  const isSame = kept === memory && isShown === memory.isShown && highest === memory.highest
  return {
    turns,
    from: state.from,
    to,
    live: isSettled(state.live, event) ? null : state.live,
    memory: isSame ? memory : { ...kept, isShown, highest },
  }
}

/** True when `event` is what the live answer became. */
function isSettled(live: LiveAnswer | null, event: SessionEvent): boolean {
  if (live === null) return false
  if (event.type === 'assistant/message') return event.data.message.id === live.messageId
  return event.type === 'assistant/attempt' && event.data.turn === live.turn && event.data.step === live.step
}

/** The turn an event says it happened in. A rewritten event says where it was at first. */
function turnOf(event: SessionEvent): number | null {
  if (isReplaceSurfaceEvent(event)) return null
  switch (event.type) {
    case 'step/start':
    case 'step/end':
    case 'system/message':
    case 'assistant/message':
    case 'assistant/attempt':
    case 'tool/call':
    case 'tool/result':
      return event.data.turn
    default:
      return null
  }
}

type Group = Pick<Transcript, 'turns'> & Pick<TranscriptMemory, 'isShown' | 'highest'>

/**
 * Adds to the group that is open. It is shown once it has an item, or the number of a turn whose beginning is missing.
 */
function changeGroup({ turns, memory }: Transcript, number: number | null, event: SessionEvent | null): Group {
  const { place, start, isShown, highest, index } = memory
  const known = isShown ? turns.at(-1) : undefined
  const before: Items = known?.items ?? Sequence.empty
  const items = event === null ? before : addToItems(before, event, start, index)
  const turn = place === 'cut' ? (known?.turn ?? number) : (known?.turn ?? null)
  const isNamed = turn !== (known?.turn ?? null)
  if (items === before && !isNamed) return { turns, isShown, highest }
  const seq = SessionSeq(start)
  if (known !== undefined && !isNamed) {
    return { turns: turns.set(-1, { ...known, items }), isShown, highest }
  }
  const group: TranscriptTurn = {
    key: turn === null ? outsideKey(turns.at(isShown ? -2 : -1), place) : turnKey(turn, seq, turn > highest),
    turn,
    startSeq: seq,
    startedAt: null,
    endedAt: null,
    reason: null,
    endSeq: null,
    items,
    isCut: place === 'cut',
  }
  return {
    turns: known === undefined ? turns.append(group) : turns.set(-1, group),
    isShown: true,
    highest: turn === null ? highest : Math.max(highest, turn),
  }
}

/** A turn is named by its number. Where numbers do not ascend, seqs keep names apart. */
export function turnKey(turn: number, startSeq: SessionSeq, isUnused: boolean): string {
  return isUnused ? `turn-${turn}` : `turn-${turn}@${startSeq}`
}

/** What was said between turns is named by the turn before. */
export function outsideKey(before: TranscriptTurn | undefined, place: TranscriptMemory['place'] = 'outside'): string {
  return before === undefined ? (place === 'cut' ? 'cut' : 'start') : `${before.key}+`
}

/** What is kept of `event` for earlier pages. */
function remember(
  state: Transcript,
  event: SessionEvent,
  replaced: readonly SessionSeq[] | null = null,
): TranscriptMemory {
  const { from, memory } = state
  if (from === 0) return memory
  const { firstTurnSeq, head, later } = memory
  if (firstTurnSeq === null) return { ...memory, head: head.append(event) }
  const seqs = replaced?.filter(seq => seq < firstTurnSeq) ?? []
  return seqs.length === 0 ? memory : { ...memory, later: later.append({ by: event.seq, seqs }) }
}

/** The turns with the items of the surface events `seqs` replaced by `by`. `index` is the one of the last turn. */
export function markTurns(
  turns: Sequence<TranscriptTurn>,
  seqs: readonly SessionSeq[],
  by: SessionSeq,
  index: ItemIndex | null = null,
): Sequence<TranscriptTurn> {
  const perTurn = new Map<number, SessionSeq[]>()
  for (const seq of seqs) {
    const position = turnPosition(turns, seq)
    const known = perTurn.get(position)
    if (known === undefined) perTurn.set(position, [seq])
    else known.push(seq)
  }
  perTurn.delete(-1)
  const changes: [position: number, turn: TranscriptTurn][] = []
  for (const [position, inTurn] of perTurn) {
    const turn = turns.at(position) as TranscriptTurn
    const own = position === turns.length - 1 ? index : null
    const items = markReplaced(turn.items, inTurn, by, own ?? new ItemIndex())
    if (items !== turn.items) changes.push([position, { ...turn, items }])
  }
  return turns.setAll(changes)
}

/** Position of the last turn that begins at or before `seq`; −1 when there is none. */
export function turnPosition(turns: Sequence<TranscriptTurn>, seq: number): number {
  let low = 0
  let high = turns.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((turns.at(middle) as TranscriptTurn).startSeq <= seq) low = middle + 1
    else high = middle
  }
  return low - 1
}
