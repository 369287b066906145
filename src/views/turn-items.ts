/** What one turn shows: its items, and what an event adds to them (SPEC V3, V4). */
import type {
  AssistantMessage,
  ContentBlock,
  EventOf,
  Message,
  SessionEvent,
  SurfaceEvent,
  SurfaceEventType,
  SystemMessage,
  ToolError,
  Usage,
  UserMessage,
} from '../core/events.ts'
import type { CallId, SessionSeq } from '../core/ids.ts'
import { isReplaceSurfaceEvent, isSurfaceEvent } from '../core/surface.ts'
import { Sequence } from './sequence.ts'
import { asUsage, streamDuration, streamUsage, visibleParts } from './stream-facts.ts'

/** What all items have. */
type Shown<Kind extends string> = {
  readonly kind: Kind
  /** Tells an item from the others of its turn, now and later. */
  readonly key: string
}
type Said = {
  readonly seq: SessionSeq
  /** Epoch ms. */
  readonly time: number
  /** The latest event that was made from this one and stands for it on the surface; null when the model reads this. */
  readonly replacedBy: SessionSeq | null
}

/** A prompt of the system; one without content says that there is none. */
export type SystemItem = Shown<'system'> & Said & { readonly message: SystemMessage }
/** What a person or a plugin said: `message.source` tells which. */
export type UserItem = Shown<'user'> & Said & { readonly message: UserMessage }
export type AnswerItem = Shown<'answer'> &
  Said & {
    /** All blocks, calls included. The calls follow as items of their own. */
    readonly message: AssistantMessage
    /** True when it was stopped before its end. */
    readonly interrupted: boolean
    readonly usage: Usage | null
    /** From its first chunk to its last, ms; null when no chunk was recorded. */
    readonly durationMs: number | null
  }
/**
 * A tool call, one item from being asked for to its result. Calls follow the answer that asked for them, in its order.
 * A result without a call in its turn has an item of its own, with an empty name.
 */
export type ToolItem = Shown<'tool'> & {
  readonly callId: CallId
  readonly name: string
  /** As the model wrote them. */
  readonly arguments: string
  readonly state: 'asked' | 'running' | 'done' | 'failed'
  /** The answer that asked for it, the record of its start, and its result; null while there is none. */
  readonly askedSeq: SessionSeq | null
  readonly callSeq: SessionSeq | null
  readonly resultSeq: SessionSeq | null
  /** When it was recorded as started, epoch ms. */
  readonly startedAt: number | null
  /** From its start to its result, ms. */
  readonly durationMs: number | null
  readonly content: readonly ContentBlock[] | null
  readonly error: ToolError | null
  /** The latest event that stands for its result on the surface. */
  readonly replacedBy: SessionSeq | null
}
/** What had arrived of a model call that failed. It is no part of the conversation: the model does not read it. */
export type AttemptItem = Shown<'attempt'> & {
  readonly seq: SessionSeq
  readonly time: number
  readonly text: string
  readonly reasoning: string
}
/** From here on the model reads `message` instead of the events in `replaces`. */
export type ReplacementItem = Shown<'replacement'> &
  Said & {
    readonly type: SurfaceEventType
    readonly message: Message
    /** The surface events it was made from, in the order it cites them. */
    readonly replaces: readonly SessionSeq[]
  }
export type TranscriptItem = SystemItem | UserItem | AnswerItem | ToolItem | AttemptItem | ReplacementItem
export type Items = Sequence<TranscriptItem>

/**
 * Where things are among the items of one turn: a cache of what they say. It belongs to one list and moves along to the
 * list that succeeds it; for any other one it is made anew.
 */
export class ItemIndex {
  /** Position of the item a surface event has. */
  readonly surface: Map<number, number> = new Map()
  /** Position of the latest item of a call id, and how many items have that id. */
  readonly calls: Map<string, { readonly position: number; readonly count: number }> = new Map()
  #items: Items = Sequence.empty

  /** Makes this the index of `items`. */
  read(items: Items): void {
    if (this.#items === items) return
    this.#items = items
    this.surface.clear()
    this.calls.clear()
    let position = 0
    for (const item of items) this.#add(item, position++)
  }

  append(item: TranscriptItem): Items {
    this.#add(item, this.#items.length)
    return (this.#items = this.#items.append(item))
  }

  set(position: number, item: TranscriptItem): Items {
    return (this.#items = this.#items.set(position, item))
  }

  setAll(changes: Iterable<readonly [position: number, item: TranscriptItem]>): Items {
    return (this.#items = this.#items.setAll(changes))
  }

  #add(item: TranscriptItem, position: number): void {
    if (item.kind === 'tool') {
      const count = (this.calls.get(item.callId)?.count ?? 0) + 1
      this.calls.set(item.callId, { position, count })
      if (item.resultSeq !== null) this.surface.set(item.resultSeq, position)
    } else if (item.kind !== 'attempt') {
      this.surface.set(item.seq, position)
    }
  }

  /** The latest call with this id, when it has no result yet. */
  openTool(callId: CallId): { readonly position: number; readonly item: ToolItem } | null {
    const position = this.calls.get(callId)?.position
    const item = position === undefined ? undefined : this.#items.at(position)
    if (position === undefined || item?.kind !== 'tool' || item.resultSeq !== null) return null
    return { position, item }
  }
}

/**
 * The items after `event`; the same ones when it shows nothing. `start` is the first seq of the turn, `index` the one
 * that moves along.
 */
export function addToItems(items: Items, event: SessionEvent, start: number, index: ItemIndex): Items {
  const isShown = event.type === 'tool/call' || event.type === 'assistant/attempt' || isSurfaceEvent(event)
  if (!isShown) return items
  index.read(items)
  if (event.type === 'tool/call') return startTool(index, event)
  if (event.type === 'assistant/attempt') return addAttempt(items, index, event)
  if (isReplaceSurfaceEvent(event)) return index.append(replacementItem(index, event, start))
  switch (event.type) {
    case 'system/message':
      return index.append({ kind: 'system', ...said(event), message: event.data.message })
    case 'user/message':
      return index.append({ kind: 'user', ...said(event), message: event.data })
    case 'assistant/message':
      return addAnswer(index, event)
    case 'tool/result':
      return finishTool(index, event)
  }
}

const keyOf = (seq: SessionSeq): string => String(seq)

function said({ seq, time }: SurfaceEvent): { readonly key: string } & Said {
  return { key: keyOf(seq), seq, time, replacedBy: null }
}

function addAttempt(items: Items, index: ItemIndex, { seq, time, data }: EventOf<'assistant/attempt'>): Items {
  const { text, reasoning } = visibleParts(data.stream)
  if (text === '' && reasoning === '') return items
  return index.append({ kind: 'attempt', key: keyOf(seq), seq, time, text, reasoning })
}

function addAnswer(index: ItemIndex, event: EventOf<'assistant/message'>): Items {
  const { message, stream, interrupted = false, usage } = event.data
  let items = index.append({
    kind: 'answer',
    ...said(event),
    message,
    interrupted,
    usage: asUsage(usage) ?? streamUsage(stream),
    durationMs: streamDuration(stream),
  })
  for (const block of message.content) {
    if (block.type !== 'tool-call') continue
    items = index.append({ ...newTool(index, block.id, block.name, block.arguments), askedSeq: event.seq })
  }
  return items
}

function newTool(index: ItemIndex, callId: CallId, name: string, args: string): ToolItem {
  const before = index.calls.get(callId)?.count ?? 0
  return {
    kind: 'tool',
    key: `${before + 1}:${callId}`,
    callId,
    name,
    arguments: args,
    state: 'asked',
    askedSeq: null,
    callSeq: null,
    resultSeq: null,
    startedAt: null,
    durationMs: null,
    content: null,
    error: null,
    replacedBy: null,
  }
}

function startTool(index: ItemIndex, { seq, time, data }: EventOf<'tool/call'>): Items {
  const open = index.openTool(data.callId)
  const item = open?.item ?? newTool(index, data.callId, data.name, data.arguments)
  const started: ToolItem = { ...item, state: 'running', callSeq: seq, startedAt: time }
  return open === null ? index.append(started) : index.set(open.position, started)
}

function finishTool(index: ItemIndex, { seq, time, data }: EventOf<'tool/result'>): Items {
  const [block] = data.message.content
  const { callId } = data.message.source
  const open = index.openTool(callId)
  const item = open?.item ?? newTool(index, callId, '', '')
  const finished: ToolItem = {
    ...item,
    state: block.isError === true ? 'failed' : 'done',
    resultSeq: seq,
    // Clocks are set back; a call takes no less than no time.
    durationMs: item.startedAt === null ? null : Math.max(0, time - item.startedAt),
    content: block.content,
    error: data.error ?? null,
  }
  if (open === null) return index.append(finished)
  index.surface.set(seq, open.position)
  return index.set(open.position, finished)
}

function replacementItem({ surface }: ItemIndex, event: SurfaceEvent, start: number): ReplacementItem {
  // A writer may also cite records of its work. They stand in the turn of the replacement, and have no item.
  const replaces = (event.sourceEventSeqs ?? []).filter(seq => seq < start || surface.has(seq))
  const message = event.type === 'user/message' ? event.data : event.data.message
  return { kind: 'replacement', ...said(event), type: event.type, message, replaces }
}

/** True when one of the items is the answer with this id. */
export function hasAnswer(items: Items, messageId: string): boolean {
  for (const item of items) if (item.kind === 'answer' && item.message.id === messageId) return true
  return false
}

/** The items with those of the surface events `seqs` replaced by `by`; the same ones when none of them is here. */
export function markReplaced(items: Items, seqs: readonly SessionSeq[], by: SessionSeq, index: ItemIndex): Items {
  index.read(items)
  const changes: [position: number, item: TranscriptItem][] = []
  for (const seq of seqs) {
    const position = index.surface.get(seq)
    const item = position === undefined ? undefined : items.at(position)
    if (position === undefined || item === undefined || item.kind === 'attempt') continue
    changes.push([position, { ...item, replacedBy: by }])
  }
  return changes.length === 0 ? items : index.setAll(changes)
}
