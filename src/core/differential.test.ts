/**
 * Our Session beside the predecessor's (format 0), which is taken as a black box: on histories of the vocabulary both
 * share they take and refuse the same appends and derive the same messages. Where they are meant to differ is one table
 * below, and each of its lines is shown to differ.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadPeer, type PeerSession } from '../../e2e/bench/peer.ts'
import {
  answered,
  append,
  appendAny,
  called,
  citing,
  counter,
  type Draft,
  headed,
  loopLog,
  newSession,
  over,
  prompted,
  returned,
  said,
  stepStart,
  storedEvents,
  surfaceLog,
  textBlock,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  user,
} from './builders.ts'
import { SessionError, type SessionErrorCode } from './errors.ts'
import type { Message, SessionEvent } from './events.ts'
import { Session } from './session.ts'
import { isSurfaceEventType } from './vocabulary.ts'

const { Session: PeerSession } = await loadPeer()

type Shape = Record<string, unknown>
const isRecord = (value: unknown): value is Shape =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** One append to try. `intent` stands for the whole third argument, where the draft's own fields cannot say it. */
type Trial = {
  readonly name: string
  readonly draft: Draft
  readonly intent?: { readonly whole: unknown }
  /** The deviation that may show here; without it both must do the same. */
  readonly may?: string
}

// ── Deviations ──────────────────────────────────────────────────────────────────────────────────────────────────────

const gone = Symbol('gone')

/** A copy of the draft with one part of its payload set to `value`, or taken away. */
function edited(draft: Draft, path: string, value: unknown): Draft {
  if (path === '') return { ...draft, data: value }
  const data: unknown = structuredClone(draft.data)
  const keys = path.split('.')
  const last = keys.pop() as string
  const parent = keys.reduce<Shape>((part, key) => part[key] as Shape, data as Shape)
  if (value === gone) delete parent[last]
  else parent[last] = value
  return { ...draft, data }
}

type Edit = readonly [draft: Draft, path: string, ...values: readonly unknown[]]
const edits = (...list: readonly Edit[]): Omit<Trial, 'may'>[] =>
  list.flatMap(([draft, path, ...values]) =>
    values.map(value => ({
      name: `${draft.type} with ${path || 'a payload'} ${value === gone ? 'gone' : JSON.stringify(value)}`,
      draft: edited(draft, path, value),
    })),
  )
const ended = turnEnd(1)
const context: Draft = { type: 'request/context', data: { provider: 'demo', model: 'demo-chat' } }
const hidden = { value: 1, enumerable: false }
const title: Draft = { type: 'session/title', data: { title: 'x' } }
const okBlocks = toolResult('c').content
const failed = returned('c', 'no', { error: { name: 'E', code: 'E' } })

type Deviation = {
  readonly name: string
  /** Which of the two takes what the other refuses. */
  readonly takenBy: 'us' | 'predecessor'
  /** How the refusal is called, when it is ours. */
  readonly code?: SessionErrorCode
  /** Of `session-model.md`, and of our own rules. */
  readonly why: string
  /** Each of these does show it, after the log `0 said, 1 answered, 2 said`. */
  readonly trials: readonly Omit<Trial, 'may'>[]
}

/**
 * Everything in which the two may differ. What the predecessor's session alone has nothing like is not here: listeners,
 * message projections, stored events that may be ignored.
 */
const deviations: readonly Deviation[] = [
  {
    name: 'an answer that cites',
    takenBy: 'predecessor',
    code: 'surface-sources',
    why: '§3.2 step 4, §8.1, S3: in format 0 an answer cites its chunks; since format 2 it holds its stream and may not cite',
    trials: [
      { name: 'an earlier event', draft: citing(answered('x'), [0]) },
      { name: 'nothing', draft: citing(answered('x'), []) },
    ],
  },
  {
    name: 'an answer that replaces',
    takenBy: 'predecessor',
    code: 'surface-sources',
    why: '§3.2 step 9, S3, S6: what is replaced must be cited, and an answer may not cite',
    trials: [
      { name: 'one node', draft: over(answered('x'), 1, 1, [1]) },
      { name: 'a range', draft: over(answered('x'), 0, 2, [0, 1, 2]) },
    ],
  },
  {
    name: 'a payload without the shape of its type',
    takenBy: 'predecessor',
    code: 'payload',
    why: '§2 “not checked by live append”, decision 12, L9, L16: what restore would refuse is refused at once',
    trials: edits(
      [turnStart(1), '', null, 'x', 1, [], {}],
      [turnStart(1), 'turn', gone, null, '1', -1, 1.5, 2 ** 60, Number.MAX_SAFE_INTEGER],
      [ended, 'reason', gone, null, 'completed', {}],
      [stepStart(1, 1), 'step', gone, '1', -1],
      [said('x'), '', null, [], 'x'],
      [said('x'), 'id', gone, '', 1],
      [said('x'), 'role', gone, 'assistant', 'system'],
      [said('x'), 'content', gone, null, 'x', {}, [null], ['x'], [{}], [{ type: 'text' }], [{ type: 'text', text: 1 }]],
      [said('x'), 'source', gone, null, {}, { kind: '' }],
      [answered('x'), 'turn', gone, -1],
      [answered('x'), 'step', gone, '1'],
      [answered('x'), 'message', gone, null, []],
      [answered('x'), 'message.id', gone, ''],
      [answered('x'), 'message.role', 'user'],
      [answered('x'), 'message.content', gone, 'x', [{ type: 'tool-call', id: 1, name: 'n', arguments: '' }]],
      [answered('x'), 'message.source.kind', gone, 'user'],
      [answered('x'), 'message.source.provider', gone, ''],
      [answered('x'), 'message.source.model', gone, 1],
      [called('c'), 'callId', gone, ''],
      [called('c'), 'name', gone, 1],
      [called('c'), 'arguments', gone, {}],
      [returned('c'), 'step', gone],
      [returned('c'), 'message', gone, null],
      [returned('c'), 'message.id', gone],
      [returned('c'), 'message.role', 'assistant'],
      [returned('c'), 'message.content', gone, [], [textBlock('x')], [...okBlocks, ...okBlocks]],
      [returned('c'), 'message.content.0.toolCallId', gone, 'other'],
      [returned('c'), 'message.content.0.content', gone, 'x', [null]],
      [returned('c'), 'message.source.kind', gone, 'user'],
      [returned('c'), 'message.source.callId', gone, 'other'],
      [headed(), 'header', gone, null, [], {}],
      [headed(), 'header.config.provider', gone, ''],
      [headed(), 'header.config.model', gone, ''],
      [headed(), 'header.config.reasoningEffort', '', 1],
      [headed(), 'reason', gone, 'other'],
      [headed(), 'startsSeries', false],
      [context, 'provider', gone, ''],
      [context, 'model', gone],
    ),
  },
  {
    name: 'a header that is not canonical',
    takenBy: 'predecessor',
    code: 'payload',
    why: '§1.6, §2 step 7, H1: since format 3 append refuses what a canonical header drops',
    trials: edits(
      [headed(), 'header.tools', []],
      [headed(), 'header.adapterDefaults', {}, { maxTokens: true }, { other: true }],
    ),
  },
  {
    name: 'a header that holds the prompt',
    takenBy: 'predecessor',
    code: 'payload',
    why: '§1.6, §8.1, H1: since format 3 the prompt is a `system/message`',
    trials: edits([headed(), 'header.system', 'prompt', '', null]),
  },
  {
    name: 'an answer without its stream',
    takenBy: 'predecessor',
    code: 'payload',
    why: '§1.2, §8.1, L9: since format 2 an answer holds its stream',
    trials: edits([answered('x'), 'stream', gone, null, {}]),
  },
  {
    name: 'a failure whose block does not say so',
    takenBy: 'predecessor',
    code: 'payload',
    why: '§2 step 7, L9: since format 3 a result with an `error` has `isError`',
    trials: [{ name: failed.type, draft: failed }, ...edits([failed, 'message.content.0.isError', false])],
  },
  {
    name: 'a hidden element of an array',
    takenBy: 'predecessor',
    code: 'not-json',
    why: '§2 “non-enumerable own properties”, L3: the predecessor looks for them in objects only',
    trials: [{ name: 'the first of two', draft: { ...title, data: [Object.defineProperty([1, 2], '0', hidden)] } }],
  },
  {
    name: 'a type outside the vocabulary',
    takenBy: 'predecessor',
    code: 'unknown-type',
    why: '§6.1, decision 12, L6: the predecessor leaves this to its storage',
    trials: ['nobody/knows', '', 'steering/message'].map(type => ({ name: `"${type}"`, draft: { ...title, type } })),
  },
  {
    name: 'a delta',
    takenBy: 'predecessor',
    code: 'unknown-type',
    why: '§8.1: `assistant/chunk` is of formats 0 and 1 only',
    trials: [{ name: 'assistant/chunk', draft: { type: 'assistant/chunk', data: { turn: 1, step: 1, chunk: {} } } }],
  },
  {
    name: 'an end of the seed written by a caller',
    takenBy: 'predecessor',
    code: 'reserved-type',
    why: '§1.2, L7: the predecessor leaves this to its types',
    trials: [{ name: 'session/end-seed', draft: { type: 'session/end-seed', data: {} } }],
  },
  {
    name: 'a third argument that is no intent',
    takenBy: 'predecessor',
    code: 'intent',
    why: '§2 step 1, L5: the predecessor reads the two keys it knows, of anything, and drops those that are undefined',
    trials: [
      { name: 'a surface key, though undefined', draft: citing(title, undefined) },
      ...[null, 0, '', 'append', true, ['append'], { other: 1 }, { ignorable: true }, { [Symbol('x')]: 1 }].map(
        whole => ({ name: `${String(JSON.stringify(whole))} for a log-only type`, draft: title, intent: { whole } }),
      ),
      ...[
        { surfaceOp: 'append', other: 1 },
        { surfaceOp: 'append', ignorable: true },
        { surfaceOp: 'append', [Symbol('x')]: 1 },
        Object.assign(new Date(0), { surfaceOp: 'append' }),
        Object.assign(Object.create({ a: 1 }) as object, { surfaceOp: 'append' }),
        Object.defineProperty({}, 'surfaceOp', { value: 'append' }),
        Object.create({ surfaceOp: 'append' }) as object,
      ].map((whole, index) => ({ name: `number ${index} for a surface type`, draft: said('x'), intent: { whole } })),
    ],
  },
  {
    name: 'a system message',
    takenBy: 'us',
    why: '§1.1, §8.1, S1: the fourth surface type came with format 3',
    trials: [
      { name: 'appended', draft: prompted('x') },
      { name: 'replacing', draft: over(prompted('x'), 1, 2, [1, 2]) },
    ],
  },
]

/** What may differ whoever tries it: an answer with sources. */
const mayOf = ({ draft: { type, surfaceOp, sourceEventSeqs }, may }: Trial): string | undefined =>
  may ??
  (type !== 'assistant/message' || sourceEventSeqs === undefined
    ? undefined
    : surfaceOp === 'append'
      ? 'an answer that cites'
      : 'an answer that replaces')

// ── From our format to theirs ───────────────────────────────────────────────────────────────────────────────────────

/** The payload without `stream`, and with `more`; hidden keys, symbols and getters stay what they are. */
function withoutStream(data: unknown, more: object = {}): unknown {
  if (!isRecord(data)) return data
  const { stream: _, ...own } = Object.getOwnPropertyDescriptors(data)
  return Object.assign(Object.create(Object.getPrototypeOf(data) as object | null, own) as object, more)
}

/** The deltas of a stream of text runs, one chunk each. */
function chunksOf(data: unknown): unknown[] {
  const { turn, step, stream } = isRecord(data) ? data : {}
  const runs = (Array.isArray(stream) ? stream : []) as { readonly index: number; readonly texts: readonly string[] }[]
  return runs.flatMap(({ index, texts }) =>
    texts.map(text => ({ turn, step, chunk: { type: 'text-delta', index, text } })),
  )
}

const names: Record<string, string> = { startSeq: 'start', endSeq: 'end', start: 'startSeq', end: 'endSeq' }

/** The operation in the other spelling, each of its seqs through `seqOf`; what is no object stays as it is. */
function respelled(op: unknown, seqOf: (seq: unknown) => unknown): unknown {
  if (!isRecord(op) || Object.getPrototypeOf(op) !== Object.prototype) return op
  return Object.fromEntries(
    Object.entries(op).map(([key, value]) => [names[key] ?? key, names[key] ? seqOf(value) : value]),
  )
}

// ── Both sessions ───────────────────────────────────────────────────────────────────────────────────────────────────

type Outcome = { readonly event: { readonly data: unknown } } | { readonly error: unknown }
type PeerAppend = readonly [type: string, data: unknown, intent?: unknown]

const outcomeOf = (run: () => { readonly data: unknown }): Outcome => {
  try {
    return { event: run() }
  } catch (error) {
    return { error }
  }
}
const shown = (outcome: Outcome): string => ('event' in outcome ? 'takes it' : `refuses it (${String(outcome.error)})`)

/** The draft for a person who looks for the difference; it may hold what JSON cannot carry. */
const printed = (draft: Draft): string => {
  try {
    return JSON.stringify(draft)
  } catch (error) {
    return `${draft.type}, not to be printed: ${String(error)}`
  }
}

type State = {
  readonly length: number
  readonly nodes: readonly number[]
  readonly replacements: number
  readonly messages: readonly unknown[]
}

const stateOf = (session: Session | PeerSession): State => ({
  length: session instanceof Session ? session.length : session.seq,
  nodes: [...session.surface.nodes],
  replacements: session.surface.replaceGeneration,
  messages: session.deriveMessages(),
})
const isSameList = (left: readonly unknown[], right: readonly unknown[]): boolean =>
  left.length === right.length && left.every((value, index) => value === right[index])

/** What a refusal leaves: the same numbers, and the very same messages. */
function expectSame(after: State, before: State, { name }: Trial): void {
  const same =
    after.length === before.length &&
    after.replacements === before.replacements &&
    isSameList(after.nodes, before.nodes) &&
    isSameList(after.messages, before.messages)
  if (!same) expect(after, `${name}: a refusal changed something`).toBe(before)
}

/** Messages are frozen and shared: the text of each is made once. */
const texts = new WeakMap<object, string>()
const textOfMessage = (message: unknown): string => {
  const text = texts.get(message as object) ?? JSON.stringify(message)
  texts.set(message as object, text)
  return text
}
const textOf = ({ messages, ...numbers }: State): string =>
  [JSON.stringify(numbers), ...messages.map(textOfMessage)].join('\n')

/** Our session and the predecessor's with the same history, and what may be asked of the two. */
class Pair {
  readonly ours: Session = newSession()
  peer: PeerSession = PeerSession.create('test')
  /** Our seqs as theirs: each delta is an event of its own there. */
  readonly #seqs: number[] = []
  readonly #taken: PeerAppend[] = []

  /**
   * Tries one append on both and compares. Returns what both did, or the deviation that showed; after one in which only
   * our session took it, the two are not to be compared any more.
   */
  try(trial: Trial): 'taken' | 'refused' | (string & {}) {
    const { draft } = trial
    const theirs = this.#translated(trial)
    const before = { ours: stateOf(this.ours), peer: stateOf(this.peer) }
    const [mine, other] = [outcomeOf(() => this.#append(trial)), outcomeOf(() => this.peer.append(...theirs))]
    if ('event' in mine && 'event' in other) {
      this.#seqs.push(this.peer.seq - 1)
      this.#taken.push(theirs)
      expect(JSON.stringify(withoutStream(mine.event.data))).toBe(JSON.stringify(withoutChunk(draft, other.event.data)))
      this.#compare()
      return 'taken'
    }
    if ('error' in mine) expectSame(stateOf(this.ours), before.ours, trial)
    if ('error' in other) expectSame(stateOf(this.peer), before.peer, trial)
    if ('error' in mine && 'error' in other) {
      // What a getter throws comes through; all else is a refusal with a code.
      if (!(mine.error instanceof SessionError)) expect(mine.error).toBe(other.error)
      return 'refused'
    }
    const deviation = deviations.find(each => each.name === mayOf(trial))
    const code = 'error' in mine && mine.error instanceof SessionError ? mine.error.code : undefined
    if (deviation?.takenBy !== ('event' in mine ? 'us' : 'predecessor') || deviation.code !== code) {
      const what = `${trial.name}, as event ${before.ours.length} on ${before.ours.nodes.join(' ')}`
      expect.fail(`${what}: our session ${shown(mine)}, the predecessor ${shown(other)}: ${printed(draft)}`)
    }
    if ('event' in other) this.#rebuild()
    return deviation.name
  }

  /** Both logs as seeds: both take them, end them the same and derive the same. */
  reopen(): void {
    const ours = Session.create({ id: 'again', now: counter(), seed: storedEvents(this.ours) })
    const peer = PeerSession.create('again', this.peer.events)
    expect(ours.deriveMessages()).toEqual(this.ours.deriveMessages())
    expect(peer.deriveMessages()).toEqual(ours.deriveMessages())
    expect(peer.surface.nodes).toEqual(ours.surface.nodes.map(seq => this.#seqs[seq]))
    expect([ours, peer].map(session => lastOf(session)?.type)).toEqual(['session/end-seed', 'session/end-seed'])
  }

  #append({ draft, intent }: Trial): SessionEvent {
    return intent === undefined ? append(this.ours, draft) : appendAny(this.ours, draft.type, draft.data, intent.whole)
  }

  /** The trial in format 0. The deltas of an answer or attempt are appended at once, what holds them is returned. */
  #translated({ draft, intent }: Trial): PeerAppend {
    const { type, data, ...fields } = draft
    const answer = type === 'assistant/message'
    const attempt = type === 'assistant/attempt'
    const cited: number[] = []
    if (answer || attempt) {
      for (const chunk of chunksOf(data)) {
        this.#taken.push(['assistant/chunk', chunk])
        cited.push(this.peer.append('assistant/chunk', chunk).seq)
      }
    }
    const payload = answer ? withoutStream(data) : attempt ? withoutStream(data, { chunk: { type: 'finish' } }) : data
    const name = attempt ? 'assistant/chunk' : type
    if (intent !== undefined) return [name, payload, intent.whole]
    if (Object.keys(fields).length === 0) return [name, payload]
    const { surfaceOp, sourceEventSeqs: sources } = fields
    const theirs: Shape = { ...fields }
    if ('surfaceOp' in fields) theirs['surfaceOp'] = respelled(surfaceOp, this.#seqOf)
    // An answer without deltas is one that is known to have had none.
    if (answer && sources === undefined) theirs['sourceEventSeqs'] = cited
    else if (Array.isArray(sources)) theirs['sourceEventSeqs'] = sources.map(this.#seqOf)
    return [name, payload, theirs]
  }

  readonly #seqOf = (seq: unknown): unknown => {
    if (!Number.isSafeInteger(seq) || (seq as number) < 0 || Object.is(seq, -0)) return seq
    const { length } = this.ours
    return (seq as number) < length ? this.#seqs[seq as number] : (seq as number) - length + this.peer.seq
  }

  #compare(): void {
    const [ours, peer] = [stateOf(this.ours), stateOf(this.peer)]
    const translated = { ...ours, length: this.#taken.length, nodes: ours.nodes.map(seq => this.#seqs[seq] as number) }
    expect(ours.length).toBe(this.#seqs.length)
    // As texts: comparing all messages part by part after each event would take most of the time.
    if (textOf(peer) !== textOf(translated)) expect.fail(`${textOf(peer)}\nshould be\n${textOf(translated)}`)
  }

  /** The predecessor's session without what only it has taken. */
  #rebuild(): void {
    this.peer = PeerSession.create('test')
    for (const args of this.#taken) this.peer.append(...args)
    this.#compare()
  }
}

const lastOf = (session: Session | PeerSession): { readonly type: string } | undefined =>
  session instanceof Session ? session.eventAt(session.length - 1) : session.events.at(-1)

/** Their payload as ours: the chunk that stands for an attempt is taken out again. */
function withoutChunk({ type }: Draft, data: unknown): unknown {
  if (type !== 'assistant/attempt' || !isRecord(data)) return data
  const { chunk: _, ...rest } = data
  return rest
}

const pairOf = (...drafts: readonly Draft[]): Pair => {
  const pair = new Pair()
  for (const draft of drafts) expect(pair.try({ name: 'history', draft })).toBe('taken')
  return pair
}

// ── Histories ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** A draft in the shared vocabulary: a system message becomes a person's, and answers have a few deltas. */
function shared(draft: Draft, index: number): Draft {
  if (draft.type === 'system/message') {
    const { content } = (draft.data as { message: Message }).message
    return { ...draft, type: 'user/message', data: user(content) }
  }
  if (draft.type !== 'assistant/message' && draft.type !== 'assistant/attempt') return draft
  const texts = ['a', 'b', ''].slice(0, index % 4)
  if (texts.length === 0) return draft
  const stream = [{ type: 'text-chunks', time0: 1, index: 0, dt: texts.slice(1).map(() => 1), texts }]
  return { ...draft, data: { ...(draft.data as object), stream } }
}

/** Most of the time is the predecessor's; a busy machine must not make it a failure. */
const patience = 60_000
const choices = fc.array(fc.nat({ max: 1 << 16 }), { maxLength: 100, size: 'max' })
const histories = fc
  .tuple(fc.constantFrom(surfaceLog, loopLog), choices)
  .map(([generate, numbers]) => generate(numbers).drafts.map(shared))

/** The draft with its seqs moved to where the events of its history have landed among others. */
function landing(draft: Draft, landed: readonly (number | undefined)[]): Draft {
  const moved = (seq: unknown): unknown => landed[seq as number] ?? seq
  const { surfaceOp: op, sourceEventSeqs: sources } = draft
  return {
    ...draft,
    ...(isRecord(op) ? { surfaceOp: { ...op, startSeq: moved(op['startSeq']), endSeq: moved(op['endSeq']) } } : {}),
    ...(Array.isArray(sources) ? { sourceEventSeqs: sources.map(moved) } : {}),
  }
}

// ── Values that JSON carries, and others ────────────────────────────────────────────────────────────────────────────

const cycle = (): object => {
  const list: unknown[] = []
  return { list: [list.push(list), list] }
}
const deep = (depth: number): unknown => {
  let value: unknown = 0
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { value }
  return value
}
const part = { a: 1 }
const unfit: readonly (() => unknown)[] = [
  () => undefined,
  () => ({ a: undefined }),
  () => [undefined],
  () => Number.NaN,
  () => Number.POSITIVE_INFINITY,
  () => -0,
  () => [[-0]],
  () => 1n,
  () => Symbol('x'),
  () => () => 1,
  () => new Date(0),
  () => new Map([[1, 2]]),
  () => new Set([1]),
  () => /x/,
  () => new Error('x'),
  () => new Uint8Array(2),
  () => Object('x') as unknown,
  () => Object(1) as unknown,
  () =>
    new (class Point {
      x = 1
    })(),
  () => new Array<number>(3),
  () => Object.assign([1], { extra: 1 }),
  () => Object.assign([1], { [Symbol('x')]: 1 }),
  () => new (class List extends Array<unknown> {})(),
  cycle,
  () => ({ [Symbol('x')]: 1 }),
  () => Object.defineProperty({}, 'hidden', { value: 1 }),
  () => Object.create(part) as unknown,
  () => ({ toJSON: () => 1 }),
  () => Object.assign([], { 0: 1, 2: 1 }),
]
const fit: readonly (() => unknown)[] = [
  () => null,
  () => [],
  () => ({}),
  () => 'x\ud800',
  () => '',
  () => 5e-324,
  () => Number.MAX_VALUE,
  () => 2 ** 60,
  () => Object.assign(Object.create(null) as object, { a: 1 }),
  () =>
    JSON.parse('{"__proto__": {"a": 1}, "constructor": 1, "hasOwnProperty": null, "": 0, "2": 0, "1": 0}') as unknown,
  () => ({ x: part, y: [part, part] }),
  () => Object.freeze({ a: Object.freeze([1]) }),
  () => ({
    get a() {
      return [1]
    },
  }),
  () => Object.defineProperty([1], '0', { get: () => 2, enumerable: true }),
  () => new Proxy({ a: [1] }, {}),
  () => deep(400),
  () => Array.from({ length: 300 }, () => 0),
]
const thrown = new Error('from a getter')
const throwing = (): unknown => ({
  get a() {
    throw thrown
  },
})

// ── Hostile appends ─────────────────────────────────────────────────────────────────────────────────────────────────

type Pick = <Value>(list: readonly Value[]) => Value

/** Reads choices one after another, round and round. */
const picker = (numbers: readonly number[]): Pick => {
  let next = 0
  return <Value>(list: readonly Value[]) => list[(numbers[next++ % numbers.length] ?? 0) % list.length] as Value
}

const upTo = (length: number): number[] => Array.from({ length }, (_, number) => number)
const odd: readonly unknown[] = [
  ...[undefined, null, true, '', '0', 'append', -1, 0.5, Number.NaN, -0, 2 ** 53, Number.POSITIVE_INFINITY, 10n],
  ...[Symbol('x'), () => 0, [], [0], {}, new Date(0), new Map()],
]
/** What a rewrite of a tool result may not change, and at last what it may. */
const rewrites: readonly ((result: Draft, name: string) => Draft)[] = [
  result => edited(result, 'turn', 7),
  result => edited(result, 'step', 7),
  result => edited(result, 'message.id', 'other'),
  result => edited(edited(result, 'message.source.callId', 'x'), 'message.content.0.toolCallId', 'x'),
  result => edited(result, 'message.content.0.isError', true),
  result => edited(result, 'message.content.0.isError', false),
  result => edited(result, 'message.content.0.extra', 1),
  result => edited(result, 'message.source.extra', 1),
  result => edited(result, 'message.extra', null),
  result => edited(result, 'extra', []),
  result => edited(result, 'meta', gone),
  result => edited(result, 'meta', { lines: [1, 2] }),
  result => edited(edited(result, 'error', { name: 'E', code: 'other' }), 'message.content.0.isError', true),
  result => edited(result, 'error', gone),
  (result, name) => edited(result, 'message.content.0.content', [textBlock(name)]),
  result => edited(result, 'message.content.0.content', []),
  result => ({ ...result, data: Object.fromEntries(Object.entries(result.data as object).reverse()) }),
]
const failure: Draft = edited(failed, 'message.content.0.isError', true)

/** Something to try instead of `draft`, or null where it does not apply. Wrong in most cases, not in all. */
type Hostile = (draft: Draft, pick: Pick, session: Session) => Omit<Trial, 'name'> | null

const hostile: Readonly<Record<string, Hostile>> = {
  'no marker': draft => (isSurfaceEventType(draft.type) ? { draft: { type: draft.type, data: draft.data } } : null),
  'a marker that says nothing': (draft, pick) =>
    isSurfaceEventType(draft.type) ? { draft: { ...draft, surfaceOp: pick([undefined, ...odd]) } } : null,
  'a marker on a log-only type': (draft, pick, { length }) =>
    isSurfaceEventType(draft.type)
      ? null
      : {
          draft: pick([
            { ...draft, surfaceOp: 'append' },
            over(draft, 0, 0, [0]),
            over(draft, 0, length - 1, upTo(length)),
          ]),
        },
  'sources on a log-only type': (draft, pick) =>
    isSurfaceEventType(draft.type) ? null : { draft: citing(draft, pick<unknown>([[], [0], null])) },
  'any two ends': (_, pick, { length }) => {
    const seqs = upTo(length + 2)
    return { draft: over(pick([said('any'), returned('any'), answered('any')]), pick(seqs), pick(seqs), upTo(length)) }
  },
  'two nodes as ends': (_, pick, { surface: { nodes }, length }) =>
    nodes.length === 0 ? null : { draft: over(said('two'), pick(nodes), pick(nodes), pick([nodes, upTo(length)])) },
  'a range with a node not cited': (_, pick, { surface: { nodes } }) => {
    if (nodes.length === 0) return null
    const from = pick(upTo(nodes.length))
    const shadowed = nodes.slice(from, from + 1 + pick([0, 1, 2, 5]))
    const left = pick([shadowed[0], shadowed.at(-1), undefined])
    const cited = [...nodes.slice(0, from), ...shadowed].filter(seq => seq !== left)
    const draft = pick([said('covers'), returned('covers'), answered('covers')])
    return { draft: over(draft, shadowed[0] as number, shadowed.at(-1) as number, pick([cited, cited.toReversed()])) }
  },
  'odd ends': (_, pick, { surface: { nodes }, length }) => {
    const end = (): number => pick<unknown>([0, ...nodes, ...odd]) as number
    return { draft: over(pick([said('odd'), returned('odd')]), end(), end(), upTo(length)) }
  },
  'odd keys': (_, pick, { surface: { nodes }, length }) => {
    const node = nodes[0] ?? 0
    const op = { op: 'replace', startSeq: node, endSeq: node }
    const other = pick<object>([
      op,
      { ...op, extra: 1 },
      { ...op, start: node },
      { op: 'replace', start: node, end: node },
      { op: 'replace', startSeq: node },
      { startSeq: node, endSeq: node },
      { ...op, op: pick(odd) },
      { ...op, op: 'append' },
      { ...op, extra: undefined },
      Object.assign(Object.create(null) as object, { op: 'replace' }),
      [op],
    ])
    return { draft: { ...said('keys'), surfaceOp: other, sourceEventSeqs: upTo(length) } }
  },
  'odd sources': (draft, pick, { length }) => {
    if (!isSurfaceEventType(draft.type)) return null
    const source = (): unknown => pick<unknown>([...upTo(length + 2), ...odd])
    const list = pick<unknown>([[source()], [source(), source()], [0, source(), 0], [], new Array(1), pick(odd)])
    return { draft: citing({ ...draft, surfaceOp: 'append' }, list) }
  },
  'an answer that replaces': (_, pick, { surface: { nodes } }) => {
    const node = pick(nodes)
    return nodes.length === 0 ? null : { draft: over(answered('instead'), node, node, [node]) }
  },
  'a failed result': () => ({ draft: failure }),
  'a result with meta': (_, pick) => ({
    draft: returned('m', 'ok', { meta: pick<unknown>([null, { lines: [1] }, []]) }),
  }),
  'a rewrite of a result': (_, pick, session) => {
    const results = session.surface.nodes.filter(seq => session.eventAt(seq)?.type === 'tool/result')
    if (results.length === 0) return null
    const seq = pick(results)
    const { type, data } = session.eventAt(seq) as SessionEvent
    const rewritten = pick(rewrites)({ type, data }, `pruned ${session.length}`)
    return { draft: over(rewritten, seq, seq, [seq]) }
  },
  'a rewrite of what is no such result': (_, pick, session) => {
    const { nodes } = session.surface
    if (nodes.length === 0) return null
    const from = pick(upTo(nodes.length))
    const shadowed = nodes.slice(from, from + pick([1, 2]))
    const { type, data } = session.eventAt(pick(shadowed)) as SessionEvent
    const draft = type === 'tool/result' ? { type, data } : returned('c')
    return { draft: over(draft, shadowed[0] as number, shadowed.at(-1) as number, shadowed) }
  },
  'what JSON cannot carry': (draft, pick) => ({ draft: holding(draft, pick(unfit)(), pick) }),
  'what JSON just carries': (draft, pick) => ({ draft: holding(draft, pick(fit)(), pick) }),
  'a getter that throws': (draft, pick) => ({ draft: holding(draft, throwing(), pick) }),
  'a retired type or reason': (_, pick) => ({
    draft: pick([{ type: 'request/header-delta', data: {} }, headed('fallback')]),
  }),
  'a deviation': (_, pick) => {
    const { name, trials } = pick(deviations.filter(({ takenBy }) => takenBy === 'predecessor'))
    return { ...pick(trials), may: name }
  },
}

/** The draft with a value in a place where its shape does not matter. */
function holding(draft: Draft, value: unknown, pick: Pick): Draft {
  const extra = pick([value, { list: [1, value] }, [[value]]])
  if (draft.type === 'session/title') return { ...draft, data: extra }
  return { ...draft, data: { ...(draft.data as object), [draft.type === 'tool/result' ? 'meta' : 'extra']: extra } }
}

const kinds = Object.entries(hostile)

describe('histories of the shared vocabulary', () => {
  it(
    '[L1, L3, L15, S1, S2, S3, S5, S6, S7, S9, S10] are taken by both and derive to the same messages',
    () => {
      fc.assert(
        fc.property(histories, drafts => {
          pairOf(...drafts).reopen()
        }),
        { numRuns: 100 },
      )
    },
    patience,
  )

  it(
    '[L3, L17, S1, S2, S3, S4, S5, S6, S7] what is wrong in between is refused by both and changes neither',
    () => {
      const numbers = fc.array(fc.nat({ max: 1 << 16 }), { minLength: 20, maxLength: 300, size: 'max' })
      fc.assert(
        fc.property(histories, numbers, (drafts, choices) => {
          const pick = picker(choices)
          const pair = new Pair()
          const landed: (number | undefined)[] = []
          for (const draft of drafts) {
            const instead = pick([false, false, true])
            const [name, make] = pick(kinds)
            const trial = make(landing(draft, landed), pick, pair.ours)
            if (trial !== null) pair.try({ name, ...trial })
            const taken = !instead && pair.try({ name: 'as it was', draft: landing(draft, landed) }) === 'taken'
            landed.push(taken ? pair.ours.length - 1 : undefined)
          }
          pair.reopen()
        }),
        { numRuns: 100 },
      )
    },
    patience,
  )

  it(
    '[L3, L4] any value is carried by both or by neither',
    () => {
      const anything = fc.anything({
        maxDepth: 3,
        withBigInt: true,
        withBoxedValues: true,
        withDate: true,
        withMap: true,
        withNullPrototype: true,
        withObjectString: true,
        withSet: true,
        withSparseArray: true,
        withTypedArray: true,
        withUnicodeString: true,
      })
      fc.assert(
        fc.property(fc.oneof(anything, fc.jsonValue()), data => {
          const pair = new Pair()
          pair.try({ name: 'any value', draft: { ...title, data } })
          pair.reopen()
        }),
        { numRuns: 400 },
      )
    },
    patience,
  )
})

describe('one by one', () => {
  /** 0 turn/start, 1 said, 2 answered, 3 tool/call, 4 tool/result, 5 said; on the surface 1 2 4 5. */
  const history = [turnStart(1), said('a'), answered([toolCall('c')]), called('c'), returned('c'), said('b')]
  /** 6 stands for 2…4: on the surface 1 6 5. */
  const compacted = [...history, over(said('summary'), 2, 4, [2, 4])]
  const result = returned('c')

  it.each<[string, readonly Draft[], Draft, 'taken' | 'refused']>([
    ['[S1] a message without marker', history, { type: 'user/message', data: user('x') }, 'refused'],
    ['[S1] a log-only event with one', history, { ...turnEnd(1), surfaceOp: 'append' }, 'refused'],
    ['[S1] a log-only event with sources', history, citing(turnEnd(1), [0]), 'refused'],
    [
      '[S2] an operation with another key',
      history,
      { ...over(said('x'), 1, 1, [1]), surfaceOp: { op: 'replace', startSeq: 1, endSeq: 1, by: 1 } },
      'refused',
    ],
    ['[S3] sources that are log-only', history, citing(said('x'), [3, 0]), 'taken'],
    ['[S3] no sources, said', history, citing(said('x'), []), 'refused'],
    ['[S3] a source twice', history, citing(said('x'), [1, 1]), 'refused'],
    ['[S3] itself as source', history, citing(said('x'), [6]), 'refused'],
    ['[S3] a later source', history, citing(said('x'), [7]), 'refused'],
    ['[S3] half a source', history, citing(said('x'), [0.5]), 'refused'],
    ['[S3] a hole', history, citing(said('x'), new Array(1)), 'refused'],
    ['[S4] itself as an end', history, over(said('x'), 5, 6, [5]), 'refused'],
    ['[S5] a range', history, over(said('x'), 2, 4, [2, 4]), 'taken'],
    ['[S5] start after end', history, over(said('x'), 4, 2, [2, 4]), 'refused'],
    ['[S5] a log-only end', history, over(said('x'), 3, 4, [3, 4]), 'refused'],
    ['[S5] a shadowed end', compacted, over(said('x'), 2, 6, [2, 4, 6]), 'refused'],
    ['[S5] seqs that run backwards', compacted, over(said('x'), 6, 5, [5, 6]), 'taken'],
    ['[S5] seqs that run forwards, positions that do not', compacted, over(said('x'), 5, 6, [5, 6]), 'refused'],
    ['[S6] a node not cited', history, over(said('x'), 1, 4, [1, 4]), 'refused'],
    ['[S6] more than is shadowed', history, over(said('x'), 1, 2, [5, 2, 0, 1]), 'taken'],
    ['[S7] a pruned result', history, over(edited(result, 'message.content.0.content', []), 4, 4, [4]), 'taken'],
    ['[S7] another id', history, over(edited(result, 'message.id', 'x'), 4, 4, [4]), 'refused'],
    ['[S7] another call', history, over(returned('other'), 4, 4, [4]), 'refused'],
    [
      '[S7] a failure made of it',
      history,
      over(edited(result, 'message.content.0.isError', true), 4, 4, [4]),
      'refused',
    ],
    ['[S7] meta put to it', history, over(edited(result, 'meta', 1), 4, 4, [4]), 'refused'],
    ['[S7] over two nodes', history, over(result, 4, 5, [4, 5]), 'refused'],
    ['[S7] over an answer', history, over(result, 2, 2, [2]), 'refused'],
    ['[S7] a summary over a result', history, over(said('x'), 4, 4, [4]), 'taken'],
    ['[S10] an empty answer', history, answered([]), 'taken'],
    ['[S10] an empty message of a person', history, said([]), 'taken'],
    ['[L3] −0', history, { ...title, data: { a: -0 } }, 'refused'],
    ['[L3] undefined', history, { ...title, data: { a: undefined } }, 'refused'],
    ['[L4] __proto__', history, { ...title, data: JSON.parse('{"__proto__": 1}') as unknown }, 'taken'],
  ])('%s', (name, drafts, draft, expected) => {
    const pair = pairOf(...drafts)
    expect(pair.try({ name, draft })).toBe(expected)
    pair.reopen()
  })

  it('[L13, S10] an answer with its stream is the same message as one with its deltas', () => {
    const texts = ['on', 'e', ' two']
    const stream = [{ type: 'text-chunks', time0: 1, index: 0, dt: [1, 1], texts }]
    const pair = pairOf(said('a'), { ...edited(answered('one two'), 'stream', stream) }, over(said('b'), 0, 1, [0, 1]))
    expect(pair.peer.events.map(({ type }) => type)).toEqual([
      'user/message',
      'assistant/chunk',
      'assistant/chunk',
      'assistant/chunk',
      'assistant/message',
      'user/message',
    ])
    expect(pair.peer.surface.nodes).toEqual([5])
    expect(pair.ours.surface.nodes).toEqual([2])
  })

  it('[L4] depth is no matter to either', () => {
    const data = deep(20_000)
    expect(newSession({ ...title, data }).length).toBe(1)
    expect(PeerSession.create('test').append(title.type, data).seq).toBe(0)
  })

  it('[L1, L4] what a getter appends comes first in both', () => {
    const titlesAfter = (session: Session | PeerSession): unknown[] => {
      const put = (data: unknown): unknown => (session as PeerSession).append('session/title', data)
      put({
        get title() {
          put({ title: 'inner' })
          return 'outer'
        },
      })
      return [0, 1].map(seq => (session instanceof Session ? session.eventAt(seq) : session.events[seq])?.data)
    }
    const titles = titlesAfter(PeerSession.create('test'))
    expect(titles).toEqual([{ title: 'inner' }, { title: 'outer' }])
    expect(titlesAfter(newSession())).toEqual(titles)
  })
})

describe('deviations', () => {
  const all = deviations.flatMap(deviation => deviation.trials.map(trial => [deviation, trial] as const))

  it.each(all.map(([deviation, trial]) => [`${deviation.name}: ${trial.name}`, deviation, trial] as const))(
    '[L16] %s',
    (_, { name }, trial) => {
      expect(pairOf(said('a'), answered('b'), said('c')).try({ ...trial, may: name })).toBe(name)
    },
  )

  it('[L16] the predecessor takes live what it will not open again', () => {
    const peer = PeerSession.create('test')
    peer.append('user/message', edited(said('x'), 'id', gone).data, { surfaceOp: 'append' })
    expect(() => PeerSession.create('again', peer.events)).toThrow()
  })
})
