/** For tests only: sessions with everything a view shows, and a source whose reads wait to be let go. */
import {
  append,
  called,
  citing,
  type Draft,
  headed,
  newSession,
  over,
  prompted,
  returned,
  said,
  stepEnd,
  stepStart,
  system,
  textBlock,
  toolCall,
  turnStart,
} from '../core/builders.ts'
import { PalimpsestError } from '../core/errors.ts'
import type {
  AssistantMessage,
  ContentBlock,
  SessionEvent,
  StreamChunk,
  StreamRecord,
  TurnEndReason,
} from '../core/events.ts'
import type { Committed } from '../core/fold.ts'
import { MessageId } from '../core/ids.ts'
import type { AssistantStreamFrame } from '../core/live.ts'
import type { Session } from '../core/session.ts'
import { localSource } from './local-source.ts'
import type { SessionSource, SessionStatus, SessionUpdate } from './source.ts'
import type { Transcript, TranscriptTurn } from './transcript.ts'
import type { TranscriptItem } from './turn-items.ts'

// ── What a transcript shows, without how it holds it ────────────────────────────────────────────────────────────────

export type PlainTurn = Omit<TranscriptTurn, 'items'> & { readonly items: readonly TranscriptItem[] }

export const plainTurns = ({ turns }: Transcript): PlainTurn[] =>
  [...turns].map(turn => ({ ...turn, items: [...turn.items] }))

export const plain = (transcript: Transcript): object => {
  const { from, to, live } = transcript
  return { from, to, live, turns: plainTurns(transcript) }
}

/** All items, in the order they are shown. */
export const itemsOf = ({ turns }: Transcript): TranscriptItem[] => [...turns].flatMap(turn => [...turn.items])

// ── Drafts ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export const ended = (turn: number, reason: TurnEndReason = { kind: 'completed' }): Draft => ({
  type: 'turn/end',
  data: { turn, reason },
})
export const streamed = (text: string, time0 = 100, dt: readonly number[] = [5]): StreamRecord => ({
  type: 'text-chunks',
  time0,
  index: 0,
  dt,
  texts: [text, '.'],
})
export const thought = (text: string): StreamRecord => ({
  type: 'reasoning-chunks',
  time0: 90,
  index: 7,
  dt: [],
  texts: [text],
})
export const attempted = (stream: readonly unknown[], turn = 1, step = 1): Draft => ({
  type: 'assistant/attempt',
  data: { turn, step, stream },
})
export const questioned = (id: unknown, callId?: unknown, more: object = {}): Draft => ({
  type: 'approval/asked',
  data: { id, toolName: 'read', ...(callId === undefined ? {} : { callId }), ...more },
})
export const decided = (id: unknown, outcome: unknown = 'allowed-once'): Draft => ({
  type: 'approval/decided',
  data: { id, outcome },
})
/** Without a `limit` there is no last one. */
export const retryPlanned = (
  retryId: unknown,
  retry: unknown = 1,
  { limit = 5, ...more }: { readonly limit?: number | null; readonly [key: string]: unknown } = {},
): Draft => ({
  type: 'llm/retry',
  data: {
    ...{ retryId, turn: 1, step: 1, provider: 'demo', policyKey: 'default', retry, delayMs: 500 },
    ...(limit === null ? { mode: 'always' } : { mode: 'normal', maxRetries: limit }),
    ...{ failure: { message: 'reset', code: 'TRANSPORT' }, ...more },
  },
})
export const retryStarted = (retryId: unknown, retry: unknown = 1): Draft => ({
  type: 'llm/retry-started',
  data: { retryId, turn: 1, step: 1, retry },
})
const modelMessage = (content: readonly ContentBlock[], id: string): AssistantMessage => ({
  id: MessageId(id),
  role: 'assistant',
  content,
  source: { kind: 'model', provider: 'demo', model: 'demo-chat' },
})
export const answer = (
  content: readonly ContentBlock[] | string,
  more: {
    id?: string
    turn?: number
    step?: number
    stream?: readonly unknown[]
    usage?: unknown
    interrupted?: true
  } = {},
): Draft => {
  const { id = 'a', turn = 1, step = 1, stream = [], ...rest } = more
  const blocks = typeof content === 'string' ? [textBlock(content)] : content
  return {
    type: 'assistant/message',
    data: { turn, step, message: modelMessage(blocks, id), stream, ...rest },
    surfaceOp: 'append',
  }
}

// ── Whole sessions from numbers ─────────────────────────────────────────────────────────────────────────────────────

/**
 * A session with everything a transcript shows, from a list of choices: turns that end well, badly or not at all, steps,
 * calls side by side whose results come in any order, call ids that come again, calls that are asked for, decided or not,
 * failed attempts and their retries, stopped answers, things said between turns, pruned results, condensed ranges with
 * records of the work, new prompts, and payloads of plugins that fit nowhere.
 */
export function talk(choices: readonly number[]): {
  readonly session: Session
  readonly entries: readonly Committed[]
} {
  const session = newSession()
  const entries: Committed[] = []
  const questions: string[] = []
  session.subscribe(entry => entries.push(entry))
  let next = 0
  const pick = (below: number): number => (choices[next++] ?? 0) % below
  const put = (draft: Draft): number => append(session, draft).seq

  for (let turn = 1; next < choices.length; turn += 1) {
    if (pick(4) === 1) put(said(`aside ${turn}`))
    astray()
    if (pick(6) === 1 && turn > 1) put(returned(`stray-${turn}`, 'ok', {}, turn - 1))
    put(turnStart(turn))
    const steps = 1 + pick(3)
    for (let step = 1; step <= steps; step += 1) {
      put(stepStart(turn, step))
      if (session.surface.length === 0) put(prompted(pick(2) === 1 ? '' : 'prompt', turn, step))
      if (step === 1) put(said(`question ${turn}`))
      if (pick(3) === 1) put({ type: 'session/title', data: { title: String(turn) } })
      for (let retry = 1; pick(4) === 1; retry += 1) {
        put(attempted([[], [streamed(' ')], [thought('hm'), streamed('half')]][pick(3)] ?? [], turn, step))
        if (pick(3) === 1) break
        put(retryPlanned(`retry-${turn}-${step}`, retry, { limit: pick(2) === 1 ? null : 5 }))
        if (pick(4) !== 1) put(retryStarted(`retry-${turn}-${step}`, retry))
      }
      put(headed('change'))
      runStep(turn, step)
      if (pick(3) === 1) prune()
      if (pick(5) !== 1) put(stepEnd(turn, step))
      if (pick(6) === 1) condense()
    }
    if (pick(5) === 1) renew(turn)
    if (pick(8) !== 1) put(ended(turn, REASONS[pick(REASONS.length)]))
    if (pick(3) === 1) condense()
  }
  return { session, entries }

  function runStep(turn: number, step: number): void {
    const ids = Array.from({ length: pick(4) }, (_, index) =>
      pick(5) === 1 ? 'again' : `call-${turn}-${step}-${index}`,
    )
    const interrupted = pick(6) === 1
    const blocks = [textBlock(`answer ${turn}.${step}`), ...ids.map(id => toolCall(id))]
    put(
      answer(interrupted ? [textBlock('half an ans')] : blocks, {
        id: `m-${turn}-${step}`,
        turn,
        step,
        stream: pick(2) === 1 ? [] : [streamed('answer'), { type: 'chunk', time: 300, chunk: USAGE }],
        ...(interrupted ? { interrupted: true } : {}),
      }),
    )
    const open: { id: string; call: number }[] = []
    for (const id of interrupted ? [] : ids) {
      if (pick(6) === 1) question(id)
      if (pick(8) === 1) continue
      open.push({ id, call: put(called(id, turn, step)) })
      if (pick(3) === 1) question(id)
      if (pick(3) === 1) decide()
      astray()
      if (pick(2) === 1) finish(turn, step, open)
    }
    while (open.length > 0 && pick(8) !== 1) finish(turn, step, open)
  }

  /** Somebody is asked about a call. Now and then the name of the question is one that was used. */
  function question(callId: string): void {
    const id = pick(8) === 1 ? `q-${pick(session.length)}` : `q-${session.length}`
    put(questioned(id, callId, pick(2) === 1 ? { reason: 'it writes' } : {}))
    questions.push(id)
    if (pick(2) === 1) decide()
  }

  /** Somebody decides, mostly about what was asked last. */
  function decide(): void {
    const id = questions.at(pick(4) === 1 ? pick(questions.length || 1) : -1)
    put(decided(id ?? 'nothing', OUTCOMES[pick(OUTCOMES.length)]))
  }

  /** Something that no reader of the log finds a place for. */
  function astray(): void {
    if (pick(5) === 1) put(ASTRAY[pick(ASTRAY.length)] as Draft)
  }

  function finish(turn: number, step: number, open: { id: string; call: number }[]): void {
    const [{ id, call } = { id: '', call: 0 }] = open.splice(pick(open.length), 1)
    const result = returned(id, `result of ${id}`, {}, turn, step)
    if (pick(3) !== 1) return void put(citing(result, [call]))
    const { message, ...data } = result.data as { message: { content: readonly [object] } }
    const failed = { ...message, content: [{ ...message.content[0], isError: true }] }
    put({ ...result, data: { ...data, message: failed, error: { name: 'E', code: 'FAILED' } } })
  }

  /** A result somewhere on the surface gets less content. */
  function prune(): void {
    const { nodes } = session.surface
    const results = nodes.filter(seq => session.eventAt(seq)?.type === 'tool/result')
    const seq = results[pick(results.length || 1)]
    const old = seq === undefined ? undefined : session.eventAt(seq)
    if (seq === undefined || old?.type !== 'tool/result') return
    const { message } = old.data
    const content = [{ ...message.content[0], content: [textBlock('pruned')] }]
    put({ type: 'compaction/prune', data: { shadowedSeqs: [seq] } })
    put(over({ type: old.type, data: { ...old.data, message: { ...message, content } } }, seq, seq, [seq]))
  }

  /** A range of the surface becomes one message, made from it and from records of the work. */
  function condense(): void {
    const { nodes } = session.surface
    const first = session.eventAt(nodes[0] ?? 0)?.type === 'system/message' ? 1 : 0
    if (nodes.length - first < 1) return
    const from = first + pick(nodes.length - first)
    const to = from + pick(nodes.length - from)
    const range = nodes.slice(from, to + 1)
    const start = put({ type: 'compaction/start', data: { compactionId: 'c', turn: null } })
    const summary = put({ type: 'compaction/summary', data: { compactionId: 'c' } })
    // Now and then something that is no part of the range is cited as well.
    const extra = pick(4) === 1 ? [pick(session.length)] : []
    const sources = [...new Set([start, summary, ...range, ...extra])]
    put(over(said(`summary ${summary}`), range[0] as number, range.at(-1) as number, sources))
  }

  /** The prompt at the head is replaced. */
  function renew(turn: number): void {
    const head = session.surface.at(0)
    if (head === undefined || session.eventAt(head)?.type !== 'system/message') return
    const draft = { type: 'system/message', data: { turn, step: 1, message: system(`prompt ${turn}`) } }
    put(over(draft, head, head, [head]))
  }
}

const USAGE: StreamChunk = { type: 'usage', usage: { inputTokens: 10, outputTokens: 2 } }
const OUTCOMES = ['allowed-once', 'rejected', 'cancelled', 'unavailable'] as const
const ASTRAY: readonly Draft[] = [
  ...[undefined, 'no such call', 7, ''].map(callId => questioned('stray', callId)),
  questioned('', 'again'),
  questioned('stray', 'again', { toolName: null }),
  questioned('__proto__', 'again'),
  ...['stray', '__proto__', null].map(id => decided(id)),
  ...['__proto__', 0, '1'].map(retry => retryPlanned('retry-1-1', retry)),
  ...[{ failure: { message: 'no code' } }, { delayMs: null }].map(more => retryPlanned('retry-1-1', 1, more)),
  retryPlanned('__proto__', 1),
  ...[9, '1'].map(retry => retryStarted('retry-1-1', retry)),
  retryStarted('__proto__', 1),
  ...['approval/asked', 'approval/decided', 'llm/retry', 'llm/retry-started'].map(type => ({ type, data: null })),
]
const REASONS: readonly TurnEndReason[] = [
  { kind: 'completed' },
  { kind: 'aborted', reason: { kind: 'user' } },
  { kind: 'error', error: { code: 'AUTH', message: 'no' } },
  { kind: 'interrupted' },
]

export const eventsOf = (entries: readonly Committed[]): SessionEvent[] => entries.map(entry => entry.event)

// ── Frames ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export const startFrame = (messageId: string, turn = 1, attemptId = `try-${messageId}`): AssistantStreamFrame => ({
  kind: 'start',
  attemptId,
  messageId,
  revision: 1,
  turn,
  step: 1,
})
export const chunkFrame = (messageId: string, chunk: StreamChunk, time = 50): AssistantStreamFrame => ({
  kind: 'chunk',
  attemptId: `try-${messageId}`,
  revision: 1,
  index: 0,
  time,
  chunk,
})
export const textFrame = (messageId: string, text: string, index = 0): AssistantStreamFrame =>
  chunkFrame(messageId, { type: 'text-delta', index, text })
export const endFrame = (messageId: string): AssistantStreamFrame => ({
  kind: 'end',
  attemptId: `try-${messageId}`,
  revision: 1,
  outcome: { kind: 'abandoned' },
})

// ── A source ────────────────────────────────────────────────────────────────────────────────────────────────────────

export class TestError extends PalimpsestError {
  override readonly name = 'TestError'
}

/** A read that waits. */
export type Read = { readonly from: number; readonly to: number; let: () => void; fail: (error: unknown) => void }

/** A source over a session, whose reads wait until they are let go, or fail. */
export class TestSource implements SessionSource {
  readonly id = 'test'
  readonly session: Session
  readonly #local: SessionSource
  readonly #listeners = new Set<(update: SessionUpdate) => void>()
  frames: readonly AssistantStreamFrame[] = []
  status: SessionStatus
  /** Every read so far; a surface read is from 0 to its length. */
  readonly reads: Read[] = []

  constructor(session: Session) {
    this.session = session
    this.#local = localSource(session)
    this.status = this.#local.status
    session.subscribe(entry => this.tell({ kind: 'committed', entries: [entry] }))
  }

  get length(): number {
    return this.session.length
  }
  get usage(): SessionSource['usage'] {
    return this.#local.usage
  }
  get listeners(): number {
    return this.#listeners.size
  }

  tell(update: SessionUpdate): void {
    for (const listener of [...this.#listeners]) listener(update)
  }
  stream(...frames: readonly AssistantStreamFrame[]): void {
    for (const frame of frames) {
      this.frames = frame.kind === 'end' ? [] : frame.kind === 'start' ? [frame] : [...this.frames, frame]
    }
    this.tell({ kind: 'frames', frames })
  }
  say(status: SessionStatus): void {
    this.status = status
    this.tell({ kind: 'status', status })
  }
  append(...drafts: readonly Draft[]): void {
    for (const draft of drafts) append(this.session, draft)
  }

  async *readEvents({ from, to }: { readonly from: number; readonly to: number }): AsyncGenerator<SessionEvent> {
    await this.#wait(from, to)
    yield* this.#local.readEvents({ from, to })
  }
  async readSurface(): ReturnType<SessionSource['readSurface']> {
    const surface = await this.#local.readSurface()
    await this.#wait(0, surface.length)
    return surface
  }
  subscribe(listener: (update: SessionUpdate) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #wait(from: number, to: number): Promise<void> {
    return new Promise((done, fail) => this.reads.push({ from, to, let: done, fail }))
  }
}

/** Lets everything that waits for nothing else happen. */
export const settled = (): Promise<void> => new Promise(done => setTimeout(done))
