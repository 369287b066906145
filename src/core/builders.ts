/**
 * For tests only: tiny builders of messages, drafts of events and whole logs, and two generators that turn a list of
 * numbers into a valid log. They take numbers, not a random source, so that this file needs no package and a property
 * test can shrink what it found.
 */
import type {
  AssistantMessage,
  ContentBlock,
  Message,
  SessionEvent,
  SessionHeader,
  SystemMessage,
  TextBlock,
  ToolCallBlock,
  ToolResultMessage,
  UserMessage,
} from './events.ts'
import { CallId, MessageId, SessionSeq } from './ids.ts'
import { Session } from './session.ts'

// ── Messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

type Content = string | readonly ContentBlock[]

export const textBlock = (text: string): TextBlock => ({ type: 'text', text })
const blocks = (content: Content): readonly ContentBlock[] =>
  typeof content === 'string' ? [textBlock(content)] : content
const nameOf = (content: Content): string => (typeof content === 'string' ? content : JSON.stringify(content))

export const user = (content: Content, id: string = `u:${nameOf(content)}`): UserMessage => ({
  id: MessageId(id),
  role: 'user',
  content: blocks(content),
  source: { kind: 'user' },
})
export const assistant = (content: Content, id: string = `a:${nameOf(content)}`): AssistantMessage => ({
  id: MessageId(id),
  role: 'assistant',
  content: blocks(content),
  source: { kind: 'model', provider: 'demo', model: 'demo-chat' },
})
export const system = (content: Content, id: string = `s:${nameOf(content)}`): SystemMessage => ({
  id: MessageId(id),
  role: 'system',
  content: content === '' ? [] : blocks(content),
  source: { kind: 'plugin', plugin: 'test' },
})
export const toolCall = (id: string, args = '{}', name = 'read'): ToolCallBlock => ({
  type: 'tool-call',
  id: CallId(id),
  name,
  arguments: args,
})
export const toolResult = (callId: string, content: Content = 'ok', id: string = `r:${callId}`): ToolResultMessage => ({
  id: MessageId(id),
  role: 'user',
  content: [{ type: 'tool-result', toolCallId: CallId(callId), content: blocks(content) }],
  source: { kind: 'tool', callId: CallId(callId) },
})

// ── Drafts: events without seq and time, right or wrong ─────────────────────────────────────────────────────────────

export type Draft = {
  readonly type: string
  readonly data: unknown
  readonly surfaceOp?: unknown
  readonly sourceEventSeqs?: unknown
  readonly ignorable?: unknown
}

export const turnStart = (turn: number): Draft => ({ type: 'turn/start', data: { turn } })
export const turnEnd = (turn: number): Draft => ({ type: 'turn/end', data: { turn, reason: { kind: 'completed' } } })
export const stepStart = (turn: number, step: number): Draft => ({ type: 'step/start', data: { turn, step } })
export const stepEnd = (turn: number, step: number): Draft => ({ type: 'step/end', data: { turn, step } })
export const said = (content: Content, id?: string): Draft => ({
  type: 'user/message',
  data: user(content, id),
  surfaceOp: 'append',
})
export const answered = (content: Content, turn = 1, step = 1): Draft => ({
  type: 'assistant/message',
  data: { turn, step, message: assistant(content), stream: [] },
  surfaceOp: 'append',
})
export const prompted = (content: Content, turn = 1, step = 1): Draft => ({
  type: 'system/message',
  data: { turn, step, message: system(content) },
  surfaceOp: 'append',
})
export const called = (callId: string, turn = 1, step = 1): Draft => ({
  type: 'tool/call',
  data: { turn, step, callId, name: 'read', arguments: '{}' },
})
export const returned = (callId: string, content: Content = 'ok', more: object = {}, turn = 1, step = 1): Draft => ({
  type: 'tool/result',
  data: { turn, step, message: toolResult(callId, content), ...more },
  surfaceOp: 'append',
})
export const headed = (reason = 'initial'): Draft => ({
  type: 'request/header',
  data: { header: { config: { provider: 'demo', model: 'demo-chat' } }, reason },
})

/** `draft` as a replacement of the nodes from `startSeq` to `endSeq`, citing `sources`. */
export const over = (draft: Draft, startSeq: number, endSeq: number, sources: readonly number[]): Draft => ({
  ...draft,
  surfaceOp: { op: 'replace', startSeq, endSeq },
  sourceEventSeqs: sources,
})

/** `draft` citing `sources`, whatever they are. */
export const citing = (draft: Draft, sources: unknown): Draft => ({ ...draft, sourceEventSeqs: sources })

/** The drafts as a log that starts at seq `base`. */
export const logFrom = (base: number, ...drafts: readonly Draft[]): SessionEvent[] =>
  drafts.map(({ type, data, ...rest }, index) => ({
    type,
    seq: SessionSeq(base + index),
    time: 1000 + base + index,
    data,
    ...rest,
  })) as SessionEvent[]

export const log = (...drafts: readonly Draft[]): SessionEvent[] => logFrom(0, ...drafts)

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

export const header = (more: Partial<SessionHeader> = {}): SessionHeader => ({
  version: 3,
  id: 'test',
  createdAt: 1,
  isSeeded: false,
  ...more,
})

/** A clock that counts. */
export const counter = (time = 1000): (() => number) => {
  return () => (time += 1)
}

export const newSession = (...drafts: readonly Draft[]): Session => {
  const session = Session.create({ id: 'test', now: counter() })
  for (const draft of drafts) append(session, draft)
  return session
}

export const restored = (events: readonly SessionEvent[], more: Partial<SessionHeader> = {}): Session =>
  Session.fromRestore({ header: header(more), events, now: counter() })

/** `append` without its types, for what only a run-time check can refuse. */
export const appendAny = (session: Session, ...args: readonly unknown[]): SessionEvent =>
  (session.append as unknown as (...args: unknown[]) => SessionEvent).apply(session, [...args])

/** Appends a draft; its surface fields become the intent. */
export const append = (session: Session, { type, data, ...intent }: Draft): SessionEvent =>
  appendAny(session, type, data, ...(Object.keys(intent).length === 0 ? [] : [intent]))

/** What storage makes of a value. */
export const throughJson = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value

/** All events of a session, as storage would hold them; those that are not resident come from `others`. */
export const storedEvents = (session: Session, others: readonly SessionEvent[] = []): SessionEvent[] =>
  Array.from({ length: session.length }, (_, seq) => throughJson((session.eventAt(seq) ?? others[seq]) as SessionEvent))

/** Seqs of the events that are in memory. */
export const residentSeqs = (session: Session): number[] =>
  Array.from({ length: session.length }, (_, seq) => seq).filter(seq => session.eventAt(seq) !== undefined)

// ── Generators ──────────────────────────────────────────────────────────────────────────────────────────────────────

export type Generated = {
  readonly drafts: readonly Draft[]
  /** The surface by a model of its own: positions found and cut out by hand. */
  readonly nodes: readonly number[]
  readonly replacements: number
}

/** Reads choices one after another; when they run out, zeroes. */
const reader = (choices: readonly number[]): { pick: (below: number) => number; readonly more: boolean } => {
  let next = 0
  return {
    pick: below => (choices[next++] ?? 0) % below,
    get more() {
      return next < choices.length
    },
  }
}

/** A log being written, with the surface beside it. */
const writer = (): {
  readonly drafts: Draft[]
  readonly nodes: number[]
  readonly replacements: { count: number }
  put: (draft: Draft) => number
  cover: (draft: Draft, from: number, to: number, extra?: readonly number[]) => number
} => {
  const drafts: Draft[] = []
  const nodes: number[] = []
  const replacements = { count: 0 }
  return {
    drafts,
    nodes,
    replacements,
    put: draft => {
      if (draft.surfaceOp === 'append') nodes.push(drafts.length)
      return drafts.push(draft) - 1
    },
    cover: (draft, from, to, extra = []) => {
      const shadowed = nodes.slice(from, to + 1)
      const sources = [...new Set([...extra, ...shadowed])]
      replacements.count += 1
      nodes.splice(from, to - from + 1, drafts.length)
      return drafts.push(over(draft, shadowed[0] as number, shadowed.at(-1) as number, sources)) - 1
    },
  }
}

/** Any log admission accepts: appends of all four surface types, log-only events, replacements of any allowed range. */
export function surfaceLog(choices: readonly number[]): Generated {
  const source = reader(choices)
  const { drafts, nodes, replacements, put, cover } = writer()
  while (source.more) {
    const name = String(drafts.length)
    switch (source.pick(8)) {
      case 0:
        put(turnStart(1))
        break
      case 1:
        put({ type: 'session/title', data: { title: name } })
        break
      case 2:
        put(answered(source.pick(4) === 0 ? [] : name))
        break
      case 3:
        put(returned(`c${name}`, name))
        break
      case 4:
        put(prompted(source.pick(2) === 0 ? '' : name))
        break
      case 5:
        put(said(name))
        break
      default: {
        if (nodes.length === 0) break
        const from = source.pick(nodes.length)
        const to = from + source.pick(nodes.length - from)
        const target = drafts[nodes[from] as number] as Draft
        const extra = drafts.length > 0 && source.pick(3) === 0 ? [source.pick(drafts.length)] : []
        if (target.type === 'tool/result' && from === to && source.pick(2) === 0) {
          const { message } = target.data as { message: ToolResultMessage }
          const content = [{ ...message.content[0], content: [textBlock(`pruned ${name}`)] }]
          const data = { ...(target.data as object), message: { ...message, content } }
          cover({ ...target, data }, from, to, extra)
        } else if (from === 0 && target.type === 'system/message') {
          cover(prompted(source.pick(2) === 0 ? '' : name), 0, 0, extra)
        } else cover(source.pick(4) === 0 ? prompted(name) : said(`summary ${name}`), from, to, extra)
      }
    }
  }
  return { drafts, nodes, replacements: replacements.count }
}

/**
 * A log as the agent loop writes it: turns of steps, calls answered in model order, prompts, failed attempts,
 * compactions at balanced cuts, pruned results. Every turn is closed; cut the list to get one that is not.
 */
export function loopLog(choices: readonly number[]): Generated {
  const { drafts, nodes, replacements, put, cover } = writer()
  const source = reader(choices)
  let calls = 0
  const answersOpen = new Map<number, number>()
  /** Calls without a result before each cut of the surface; a compaction may only cut at zero. */
  const openAt = (position: number): number =>
    nodes.slice(0, position).reduce((sum, seq) => sum + (answersOpen.get(seq) ?? 0), 0)
  const compact = (): void => {
    const first = drafts[nodes[0] ?? -1]?.type === 'system/message' ? 1 : 0
    const to = nodes.length - 1 - source.pick(3)
    if (to < first || openAt(to + 1) !== 0) return
    put({ type: 'compaction/start', data: { compactionId: String(drafts.length), turn: null } })
    cover(said(`summary ${drafts.length}`), first, to)
  }
  for (let turn = 1; source.more; turn += 1) {
    put(turnStart(turn))
    put(said(`question ${turn}`))
    const steps = 1 + source.pick(3)
    for (let step = 1; step <= steps; step += 1) {
      put(stepStart(turn, step))
      if (!drafts.some(draft => draft.type === 'system/message'))
        put(prompted(source.pick(2) ? 'prompt' : '', turn, step))
      if (source.pick(5) === 0) {
        put({ type: 'assistant/attempt', data: { turn, step, stream: [] } })
        put({ type: 'llm/retry', data: { turn, step } })
      }
      put(headed('change'))
      const ids = Array.from({ length: step === steps ? 0 : source.pick(4) }, () => `call-${(calls += 1)}`)
      const asked = put(answered([textBlock(`answer ${drafts.length}`), ...ids.map(id => toolCall(id))], turn, step))
      answersOpen.set(asked, ids.length)
      for (const id of ids) {
        const call = put(called(id, turn, step))
        const result = put(citing(returned(id, `result of ${id}`, {}, turn, step), [call]))
        answersOpen.set(result, -1)
        if (source.pick(4) !== 0) continue
        const old = drafts[result] as Draft
        const { message } = old.data as { message: ToolResultMessage }
        const content = [{ ...message.content[0], content: [textBlock('pruned')] }]
        const position = nodes.indexOf(result)
        const data = { ...(old.data as object), message: { ...message, content } }
        answersOpen.set(cover({ ...old, data }, position, position), -1)
      }
      put(stepEnd(turn, step))
    }
    put(turnEnd(turn))
    if (source.pick(3) === 0) compact()
  }
  return { drafts, nodes, replacements: replacements.count }
}

/** Ids of messages, for comparing lists at a glance. */
export const idsOf = (messages: Iterable<Message>): string[] => [...messages].map(message => message.id)
