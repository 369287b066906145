/** What one turn shows: its items, and what an event adds to them (SPEC V3, V4). */
import { approvalDecision, askedApproval, type ApprovalOutcome } from '../core/approvals.ts'
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
import { fieldsOf } from '../core/invariants/payload.ts'
import { isReplaceSurfaceEvent, isSurfaceEvent } from '../core/surface.ts'
import { asRetry, type PlannedRetry } from './retry-facts.ts'
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
/** Whether a call may run, where somebody was asked (SPEC A23). */
export type ToolApproval = {
  /** Names the question: what answers it says so. */
  readonly id: string
  /** `asked`: nobody has decided. `cancelled` also when the call was answered before anybody did. */
  readonly state: 'asked' | ApprovalOutcome
  /** Why it has to be asked for, in words. */
  readonly reason: string | null
  readonly askedSeq: SessionSeq
  readonly decidedSeq: SessionSeq | null
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
  /** `waiting`: for a person, while `approval` is asked and not decided. */
  readonly state: 'asked' | 'waiting' | 'running' | 'done' | 'failed'
  /** The latest question about it; null when it was not asked for. */
  readonly approval: ToolApproval | null
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
/**
 * A failed model call is tried again. `waiting` until the next try starts; where the turn has gone on or ended, that try
 * never came.
 */
export type RetryItem = Shown<'retry'> &
  PlannedRetry & {
    readonly seq: SessionSeq
    readonly time: number
    readonly state: 'waiting' | 'started'
  }
/** From here on the model reads `message` instead of the events in `replaces`. */
export type ReplacementItem = Shown<'replacement'> &
  Said & {
    readonly type: SurfaceEventType
    readonly message: Message
    /** The surface events it was made from, in the order it cites them. */
    readonly replaces: readonly SessionSeq[]
  }
export type TranscriptItem = SystemItem | UserItem | AnswerItem | ToolItem | AttemptItem | RetryItem | ReplacementItem
export type Items = Sequence<TranscriptItem>
type Found<Item> = { readonly position: number; readonly item: Item }

/**
 * Where things are among the items of one turn: a cache of what they say. It belongs to one list and moves along to the
 * list that succeeds it; for any other one it is made anew.
 */
export class ItemIndex {
  /** Position of the item a surface event has. */
  readonly surface: Map<number, number> = new Map()
  /** Position of the latest item of a call id, and how many items have that id. */
  readonly calls: Map<string, { readonly position: number; readonly count: number }> = new Map()
  /** Position of the call each question is about, by the id of the question. */
  readonly approvals: Map<string, number> = new Map()
  /** Position of the latest retry of a chain, by its id. */
  readonly retries: Map<string, number> = new Map()
  #items: Items = Sequence.empty

  /** Makes this the index of `items`. */
  read(items: Items): void {
    if (this.#items === items) return
    this.#items = items
    this.surface.clear()
    this.calls.clear()
    this.approvals.clear()
    this.retries.clear()
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
      if (item.approval !== null) this.approvals.set(item.approval.id, position)
    } else if (item.kind === 'retry') {
      this.retries.set(item.retryId, position)
    } else if (item.kind !== 'attempt') {
      this.surface.set(item.seq, position)
    }
  }

  /** The latest call with this id, when it has no result yet. */
  openTool(callId: string): Found<ToolItem> | null {
    const found = this.#find('tool', this.calls.get(callId)?.position)
    return found?.item.resultSeq === null ? found : null
  }

  /** The call whose latest question is this one. */
  askedTool(approvalId: string): Found<ToolItem> | null {
    const found = this.#find('tool', this.approvals.get(approvalId))
    return found?.item.approval?.id === approvalId ? found : null
  }

  /** The latest retry of a chain. */
  retry(retryId: unknown): Found<RetryItem> | null {
    return this.#find('retry', this.retries.get(retryId as string))
  }

  #find<Kind extends TranscriptItem['kind']>(
    kind: Kind,
    position = -1,
  ): Found<Extract<TranscriptItem, { readonly kind: Kind }>> | null {
    const item = position < 0 ? undefined : this.#items.at(position)
    return item?.kind === kind ? { position, item: item as Extract<TranscriptItem, { readonly kind: Kind }> } : null
  }
}

/**
 * The items after `event`; the same ones when it shows nothing. `start` is the first seq of the turn, `index` the one
 * that moves along.
 */
export function addToItems(items: Items, event: SessionEvent, start: number, index: ItemIndex): Items {
  if (!isSurfaceEvent(event) && !LOG_ONLY.has(event.type)) return items
  index.read(items)
  if (isReplaceSurfaceEvent(event)) return index.append(replacementItem(index, event, start))
  switch (event.type) {
    case 'tool/call':
      return startTool(index, event)
    case 'assistant/attempt':
      return addAttempt(items, index, event)
    case 'approval/asked':
      return askApproval(items, index, event)
    case 'approval/decided':
      return decideApproval(items, index, event)
    case 'llm/retry':
      return addRetry(items, index, event)
    case 'llm/retry-started':
      return startRetry(items, index, event)
    case 'system/message':
      return index.append({ kind: 'system', ...said(event), message: event.data.message })
    case 'user/message':
      return index.append({ kind: 'user', ...said(event), message: event.data })
    case 'assistant/message':
      return addAnswer(index, event)
    case 'tool/result':
      return finishTool(index, event)
    default:
      return items
  }
}

/** What shows something without being on the surface. */
const LOG_ONLY: ReadonlySet<string> = new Set([
  'tool/call',
  'assistant/attempt',
  'approval/asked',
  'approval/decided',
  'llm/retry',
  'llm/retry-started',
])

const keyOf = (seq: SessionSeq): string => String(seq)

function said({ seq, time }: SurfaceEvent): { readonly key: string } & Said {
  return { key: keyOf(seq), seq, time, replacedBy: null }
}

function addAttempt(items: Items, index: ItemIndex, { seq, time, data }: EventOf<'assistant/attempt'>): Items {
  const { text, reasoning } = visibleParts(data.stream)
  if (text === '' && reasoning === '') return items
  return index.append({ kind: 'attempt', key: keyOf(seq), seq, time, text, reasoning })
}

function addRetry(items: Items, index: ItemIndex, event: EventOf<'llm/retry'>): Items {
  const { seq, time } = event
  const planned = asRetry(event.data)
  return planned === null
    ? items
    : index.append({ kind: 'retry', key: keyOf(seq), seq, time, ...planned, state: 'waiting' })
}

function startRetry(items: Items, index: ItemIndex, { data }: EventOf<'llm/retry-started'>): Items {
  const { retryId, retry } = fieldsOf(data)
  const found = index.retry(retryId)
  if (found === null || found.item.retry !== retry || found.item.state !== 'waiting') return items
  return index.set(found.position, { ...found.item, state: 'started' })
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
    approval: null,
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
  const started = opened({ ...item, callSeq: seq, startedAt: time })
  return open === null ? index.append(started) : index.set(open.position, started)
}

/** A call without a result, in the state its approval and its record leave it in. */
function opened(item: ToolItem): ToolItem {
  const asked = item.approval?.state
  const isRunning = item.callSeq !== null || asked === 'allowed-once'
  return { ...item, state: asked === 'asked' ? 'waiting' : isRunning ? 'running' : 'asked' }
}

function askApproval(items: Items, index: ItemIndex, event: EventOf<'approval/asked'>): Items {
  const asked = askedApproval(event)
  if (asked === null || asked.callId === null || index.askedTool(asked.id) !== null) return items
  const open = index.openTool(asked.callId)
  if (open === null) return items
  const { id, reason, seq } = asked
  index.approvals.set(id, open.position)
  const approval: ToolApproval = { id, state: 'asked', reason, askedSeq: seq, decidedSeq: null }
  return index.set(open.position, opened({ ...open.item, approval }))
}

function decideApproval(items: Items, index: ItemIndex, event: EventOf<'approval/decided'>): Items {
  const decision = approvalDecision(event)
  const found = decision === null ? null : index.askedTool(decision.id)
  const approval = found?.item.approval
  if (decision === null || found === null || approval?.state !== 'asked') return items
  const decided: ToolApproval = { ...approval, state: decision.outcome, decidedSeq: event.seq }
  return index.set(found.position, opened({ ...found.item, approval: decided }))
}

function finishTool(index: ItemIndex, { seq, time, data }: EventOf<'tool/result'>): Items {
  const [block] = data.message.content
  const { callId } = data.message.source
  const open = index.openTool(callId)
  const item = open?.item ?? newTool(index, callId, '', '')
  const { approval } = item
  const finished: ToolItem = {
    ...item,
    state: block.isError === true ? 'failed' : 'done',
    approval: approval?.state === 'asked' ? { ...approval, state: 'cancelled' } : approval,
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
    if (position === undefined || item === undefined || !('replacedBy' in item)) continue
    changes.push([position, { ...item, replacedBy: by }])
  }
  return changes.length === 0 ? items : index.setAll(changes)
}
