/**
 * For tests only: random logs of format 0, each event of which the predecessor's own session took, and those logs as the
 * lines of a file. Made of a list of numbers, so that a property test can shrink what it found.
 */
import type { StoredEvent } from '../format/stored.ts'

type Members = Readonly<Record<string, unknown>>
type Place = { readonly turn: number; readonly step: number }

/** What is asked of the predecessor's session (`e2e/bench/peer.ts`). */
export type V0Session = {
  readonly events: readonly { readonly type: string; readonly seq: number; readonly data: unknown }[]
  readonly surface: { readonly nodes: readonly number[] }
  append(type: string, data: unknown, intent?: unknown): { readonly seq: number }
  deriveMessages(): readonly unknown[]
}
export type V0Sessions = {
  create(id: string, seed?: V0Session['events']): V0Session
}

export type V0Log = {
  readonly header: Members & { readonly id: string; readonly createdAt: number; readonly version: 0 }
  readonly events: readonly StoredEvent[]
  /** What the predecessor tells the model before some of the events, and at the end; `length` events come before. */
  readonly said: readonly { readonly length: number; readonly messages: readonly unknown[] }[]
}

/** Where the numbers ran out. */
class Ended {}

/** A log of format 0. What it holds, and whether it ends in the middle of something, is up to `choices`. */
export function v0Log(sessions: V0Sessions, choices: readonly number[]): V0Log {
  const writer = new V0Writer(sessions, choices)
  try {
    while (writer.hasMore) writer.turn()
  } catch (error) {
    if (!(error instanceof Ended)) throw error
  }
  return writer.log()
}

const text = (value: string) => ({ type: 'text', text: value })
const TEXTS = ['', ' ', 'one', 'two ', '\n', 'ünï', '\ud83d', '\ude42', '"}{', '{"a":', '1}', '\u0000']
const PROMPTS = [undefined, '', 'You help.', 'You help.', 'You are terse.', ' \n', 'Ünïcode \ud83d\ude42 "quoted"']
const TOOL = { name: 'read', description: 'Reads', parameters: { type: 'object' } }

/** The predecessor's words for a call that repair answered. */
const NOT_STARTED =
  'The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.'

/** Events of plugins that name no other event, one valid payload each. */
const NOTES: readonly (readonly [type: string, data: Members])[] = [
  ['todo/write', { todos: [{ content: 'x', status: 'pending' }] }],
  ['agent-preset/selected', { agentPreset: 'code' }],
  ['agent-preset/selected', { agentPreset: 'plain' }],
  ['approval/asked', { id: 'a', toolName: 'read', callId: 'c1' }],
  ['approval/decided', { id: 'a', outcome: 'rejected' }],
  ['feedback/record', { text: 'good' }],
  ['hook/invoked', { turn: 1, point: 'p', handlerId: 'h', dialect: 'codex' }],
  ['hook/result', { turn: 1, point: 'p', handlerId: 'h', decision: 'allow', durationMs: 0.5, exitCode: -1 }],
  ['model/selection', { provider: 'p', model: 'm' }],
  ['permission/preset', { preset: 'ask' }],
  ['plan/mode', { active: false }],
  ['sandbox/mode', { mode: 'read-only' }],
  [
    'subagent/descriptor',
    { mode: 'continuable', version: 3, label: 'l', provider: 'p', toolFilter: { allow: ['read'] } },
  ],
  ['team/message/delivered', { version: 1, teamId: 't', messageId: 'm', targetId: 'c' }],
  ['tool-workflow/agent-start', { runId: 'r', seq: 9, label: 'l', childId: 'c' }],
  ['web/deepseek-search-llm-request', { endpoint: 'e', apiVersion: '1', body: { model: 'm', max_tokens: 1 } }],
]

type Answer = {
  readonly seqs: readonly number[]
  readonly content: readonly Members[]
  readonly usage?: Members
  readonly replayState?: unknown
  readonly isFinished: boolean
}
type Block = { readonly chunks: readonly Members[]; readonly block: Members; readonly isClosed: boolean }

class V0Writer {
  readonly #choices: readonly number[]
  readonly #sessions: V0Sessions
  readonly #mayStop: boolean
  readonly #events: StoredEvent[] = []
  readonly #said: { length: number; messages: readonly unknown[] }[] = []
  /** Seqs of messages of people, of all that may be cited, and whether each of those is about a command. */
  readonly #people: number[] = []
  readonly #citable: number[] = []
  #session: V0Session
  #header: V0Log['header']
  #next = 0
  #time = 1_000
  #ids = 0
  #turn = 0
  #hasHead = false
  #stepSeq = 0
  #prompt = ''
  #provider: string | null = null
  #queue: string[] = []
  /** The turn before was never ended, as old builds did when another message waited. */
  #isForgotten = false

  constructor(sessions: V0Sessions, choices: readonly number[]) {
    this.#sessions = sessions
    this.#choices = choices
    this.#mayStop = this.#pick(2) === 1
    const more = this.#one<Members>([
      {},
      { cwd: '/w' },
      { agentPreset: 'code' },
      { origin: 'subagent' },
      { seedLength: 0 },
    ])
    this.#header = { version: 0, id: 's', createdAt: 900, delegationDepth: this.#pick(2), ...more }
    this.#session = sessions.create('s')
  }

  get hasMore(): boolean {
    return this.#next < this.#choices.length
  }

  log(): V0Log {
    return { header: this.#header, events: this.#events, said: [...this.#said, this.#now()] }
  }

  #now() {
    return { length: this.#events.length, messages: structuredClone(this.#session.deriveMessages()) }
  }

  #pick(below: number): number {
    return (this.#choices[this.#next++] ?? 0) % below
  }

  #one<Value>(list: readonly Value[]): Value {
    return list[this.#pick(list.length)] as Value
  }

  /** True once in `times`; never when the numbers have run out. */
  #chance(times: number): boolean {
    return this.#pick(times) === times - 1
  }

  #id(kind: string): string {
    this.#ids += 1
    return `${kind}${this.#ids}`
  }

  #put(type: string, data: Members, intent?: Members): number {
    if (this.#mayStop && !this.hasMore) throw new Ended()
    if (this.#chance(3)) this.#time += this.#one([1, 7, 1_000, -3])
    const { seq } = this.#session.append(type, data, intent)
    this.#keep(seq, { type, seq, time: this.#time, data, ...intent })
    return seq
  }

  #keep(seq: number, event: StoredEvent): void {
    if (seq !== this.#events.length) throw new Error(`Expected seq ${this.#events.length}; found ${seq}`)
    this.#events.push(structuredClone(event))
    if (event.type !== 'assistant/chunk') this.#citable.push(seq)
  }

  // ── Turns and steps ───────────────────────────────────────────────────────────────────────────────────────────────

  turn(): void {
    if (!this.#isForgotten) this.#between()
    this.#isForgotten = false
    this.#turn += 1
    const { turn } = this.#place(0)
    this.#put('turn/start', { turn })
    if (this.#hasHead && this.#chance(2)) this.#say()
    if (this.#prompt === '' && this.#chance(5)) this.#requestHeader(['', undefined])
    const steps = this.#pick(4)
    for (let step = 1; step <= steps; step += 1) this.#step(this.#place(step))
    if (steps > 0 && this.#chance(4)) this.#compact(turn)
    if (this.#chance(6)) {
      this.#splice('next-turn', true)
      this.#isForgotten = true
      return
    }
    const failure = { message: 'no', code: 'E' }
    const reason = this.#one<Members>([
      ...[{ kind: 'completed' }, { kind: 'blocked' }, { kind: 'max-tokens' }, { kind: 'interrupted' }],
      ...[
        { kind: 'aborted', reason: { kind: 'user' } },
        { kind: 'error', error: failure },
        { kind: 'other', x: [1] },
      ],
    ])
    this.#put('turn/end', { turn, reason })
  }

  #place(step: number): Place {
    return { turn: this.#turn, step }
  }

  /** What happens while no turn is open: somebody opens the session again, or forks it. */
  #between(): void {
    while (this.#chance(3)) this.#aside()
    if (this.#hasHead && this.#chance(3)) this.#compact(null)
    if (!this.#chance(4)) return
    if (this.#chance(2)) {
      const { id } = this.#header
      const { seedLength: _, ...header } = this.#header
      this.#header = { ...header, id: `${id}f`, parentSession: id, seedLength: this.#events.length } as V0Log['header']
      // Not every build marked the end of what a fork begins with.
      if (this.#chance(2)) return
    }
    this.#session = this.#sessions.create(this.#header.id, this.#session.events)
    const marker = this.#session.events.at(-1)
    if (marker === undefined || marker.seq < this.#events.length) return
    this.#keep(marker.seq, { type: marker.type, seq: marker.seq, time: this.#time, data: marker.data })
  }

  #step(place: Place): void {
    this.#stepSeq = this.#put('step/start', place)
    this.#hasHead = true
    if (this.#chance(2)) this.#say()
    while (this.#provider === null || this.#chance(3)) this.#requestHeader(PROMPTS)
    if (this.#chance(4)) this.#put('request/context', { provider: this.#provider, model: 'm', contextWindow: 9 })
    this.#failures(place)
    const calls = this.#answer(place)
    this.#calls(place, calls)
    while (this.#chance(3)) this.#aside()
    if (this.#chance(2)) this.#prune()
    this.#put('step/end', place)
  }

  #requestHeader(prompts: readonly (string | undefined)[]): void {
    const system = this.#one(prompts)
    this.#said.push(this.#now())
    this.#provider = this.#one(['p', 'q'])
    this.#prompt = system ?? ''
    const [limit, defaults] = this.#one<readonly [Members, Members]>([
      [{}, {}],
      [{ stop: [] }, { adapterDefaults: {} }],
      [{ maxTokens: 9 }, { adapterDefaults: { maxTokens: true } }],
    ])
    const config = { provider: this.#provider, model: 'm', ...limit }
    const tools = this.#one<Members>([{}, { tools: [] }, { tools: [TOOL] }])
    const header = { config, ...tools, ...defaults, ...(system === undefined ? {} : { system }) }
    const reason = this.#one(['initial', 'change', 'resume', 'series'])
    this.#put('request/header', { header, reason, ...(reason === 'change' ? {} : { startsSeries: true }) })
  }

  // ── Answers ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Attempts that failed: some are tried again, some are given up, some had finished. */
  #failures(place: Place): void {
    /** Retries count on as long as the provider is the same. */
    const chains = new Map<string | null, { readonly retryId: string; retry: number }>()
    while (this.#chance(4)) {
      const { isFinished } = this.#stream(place, 'failed')
      while (this.#chance(4)) this.#aside()
      if (isFinished && this.#chance(3)) return
      const chain = chains.get(this.#provider) ?? { retryId: this.#id('retry'), retry: 0 }
      chain.retry += 1
      chains.set(this.#provider, chain)
      const failure = { message: 'reset', code: 'TRANSPORT' }
      const about = {
        provider: this.#provider,
        mode: 'normal',
        policyKey: 'default',
        maxRetries: 9,
        delayMs: 5,
        failure,
      }
      this.#put('llm/retry', { ...place, ...chain, ...about })
      if (!this.#chance(3)) this.#put('llm/retry-started', { ...place, ...chain })
    }
  }

  /** Calls the answer asks for. */
  #answer(place: Place): readonly Members[] {
    const kind = this.#one(['whole', 'whole', 'whole', 'interrupted', 'unclaimed', 'unstreamed', 'none'] as const)
    if (kind === 'none') return []
    if (kind === 'unstreamed' && this.#chance(2)) this.#stream(place, 'failed')
    const streamed = kind === 'unstreamed' ? null : this.#stream(place, kind === 'unclaimed' ? 'failed' : kind)
    if (kind === 'unclaimed') return []
    while (this.#chance(4)) this.#aside()
    const { seqs, content, usage, replayState } = streamed ?? { seqs: [], content: [text('unstreamed')] }
    const source = {
      kind: 'model',
      provider: this.#provider,
      model: 'm',
      ...(replayState === undefined ? {} : { replayState }),
    }
    const data = {
      ...place,
      message: { id: this.#id('a'), role: 'assistant', content, source },
      ...(usage === undefined ? {} : { usage }),
      ...(kind === 'interrupted' ? { interrupted: true } : {}),
    }
    // Without chunks the list may be missing, as long as no others are waiting.
    const isWaiting = this.#events.slice(this.#stepSeq).some(({ type }) => type === 'assistant/chunk')
    const isListed = isWaiting || this.#chance(2)
    this.#put('assistant/message', data, { surfaceOp: 'append', ...(isListed ? { sourceEventSeqs: seqs } : {}) })
    return content.filter(({ type }) => type === 'tool-call')
  }

  #stream(place: Place, kind: 'whole' | 'interrupted' | 'failed'): Answer {
    const isCut = kind !== 'whole'
    const blocks = Array.from({ length: this.#pick(4) }, (_, index) => this.#block(index, isCut))
    const seqs: number[] = []
    const put = (chunk: Members) => {
      seqs.push(this.#put('assistant/chunk', { ...place, chunk }))
      if (this.#chance(9)) this.#aside()
      if (this.#chance(40)) this.#requestHeader(PROMPTS)
    }
    const at = blocks.map(() => 0)
    for (;;) {
      // One of those that were begun, or the next one: some models write several blocks at once.
      const begun = at.findIndex(position => position === 0)
      const reach = begun === -1 ? blocks.length : begun + 1
      const open = blocks.flatMap(({ chunks }, index) =>
        index < reach && (at[index] ?? 0) < chunks.length ? [index] : [],
      )
      if (open.length === 0) break
      const index = this.#chance(5) ? this.#one(open) : (open[0] as number)
      const position = at[index] as number
      at[index] = position + 1
      put(blocks[index]?.chunks[position] as Members)
    }
    const usage = this.#one<Members | undefined>([undefined, { inputTokens: 3, outputTokens: 1, totalTokens: 4 }])
    if (usage !== undefined) put({ type: 'usage', usage })
    const said = blocks.map(({ block }) => block)
    const shared = { seqs, ...(usage === undefined ? {} : { usage }) }
    if (kind === 'interrupted') {
      const visible = said.filter(({ text: value }) => typeof value === 'string' && value.trim() !== '')
      return { ...shared, content: visible, isFinished: false }
    }
    const failure = { message: 'cut', code: 'E' }
    const reason = isCut
      ? this.#one<Members | null>([null, { kind: 'error', failure }, { kind: 'aborted', failure }])
      : this.#one<Members>([{ kind: 'stop' }, { kind: 'tool-calls' }, { kind: 'max-tokens' }])
    const replayState = isCut ? undefined : this.#one([undefined, undefined, 'opaque', { at: [1.5, null] }])
    if (reason !== null) put({ type: 'finish', reason, ...(replayState === undefined ? {} : { replayState }) })
    const content = reason?.['kind'] === 'max-tokens' ? said.filter(({ type }) => type !== 'tool-call') : said
    return { ...shared, content, isFinished: reason !== null, ...(replayState === undefined ? {} : { replayState }) }
  }

  #block(index: number, mayBeCut: boolean): Block {
    const kind = this.#one(['text', 'reasoning', 'tool-call', 'tool-call'])
    const parts = Array.from({ length: 1 + this.#pick(5) }, () => this.#one(TEXTS))
    const written = parts.join('')
    const id = kind === 'tool-call' ? this.#id('c') : ''
    const isNamedOnce = this.#chance(2)
    const deltas = parts.map((part, position): Members => {
      if (kind !== 'tool-call') return { type: `${kind}-delta`, index, text: part }
      const named = isNamedOnce && position > 0 ? {} : { name: 'read' }
      return { type: 'tool-call-delta', index, id, ...named, argumentsDelta: part }
    })
    const block =
      kind === 'tool-call' ? { type: kind, id, name: 'read', arguments: written } : { type: kind, text: written }
    const start = this.#chance(4) ? [] : [{ type: 'block-start', index, blockType: kind }]
    const isClosed = !(mayBeCut && this.#chance(2))
    const end = isClosed ? [{ type: 'block-end', index, block }] : []
    // A member no build gives a delta: it is no delta for a row then.
    if (this.#chance(12)) deltas[0] = { ...deltas[0], extra: null }
    return { block, isClosed, chunks: [...start, ...deltas, ...end] }
  }

  // ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  #calls(place: Place, calls: readonly Members[]): void {
    const started: { readonly call: Members; readonly seq: number | null }[] = []
    const start = (call: Members) => {
      const isStarted = !this.#chance(5)
      const { id: callId, name, arguments: given } = call
      const seq = isStarted ? this.#put('tool/call', { ...place, callId, name, arguments: given }) : null
      started.push({ call, seq })
    }
    for (const call of calls) {
      start(call)
      if (this.#chance(3)) this.#aside()
      if (this.#chance(2)) this.#return(place, started)
    }
    while (started.length > 0) this.#return(place, started)
  }

  #return(place: Place, started: { readonly call: Members; readonly seq: number | null }[]): void {
    const [next] = started.splice(this.#pick(Math.max(started.length, 1)), 1)
    if (next === undefined) return
    const { call, seq } = next
    const callId = call['id'] as string
    if (seq !== null && this.#chance(5)) this.#dispatch(callId)
    const source = { kind: 'tool', callId }
    const result = (id: string, value: string, more: Members = {}) => {
      const content = [{ type: 'tool-result', toolCallId: callId, content: [text(value)], ...more }]
      return { ...place, message: { id, role: 'user', content, source } }
    }
    if (seq === null) {
      const id = `interrupted-tool-result-${callId}-${this.#events.length}`
      const error = { name: 'ToolNotStartedError', code: 'TOOL_NOT_STARTED' }
      // Drawn first: the id says where the event stands.
      this.#put('tool/result', { ...result(id, NOT_STARTED, { isError: true }), error }, { surfaceOp: 'append' })
      return
    }
    const data = this.#one<(id: string) => Members>([
      id => result(id, 'ok'),
      id => ({ ...result(id, 'ok', { isError: false }), meta: { nested: [null, 1.5], seq: 2 } }),
      id => ({ ...result(id, 'no', { isError: true }), error: { name: 'E', code: 'TOOL_FAILED' } }),
      id => result(id, 'no', { isError: true }),
    ])(this.#id('r'))
    const cites = this.#chance(5) ? {} : { sourceEventSeqs: [seq] }
    this.#put('tool/result', data, { surfaceOp: 'append', ...cites })
  }

  /** Calls that a program of the code tool makes. */
  #dispatch(rootCallId: string): void {
    const call = { rootCallId, parentCallId: rootCallId, subCallId: this.#id('sub'), name: 'read', arguments: { a: 1 } }
    this.#put('tool/code-dispatch-start', call)
    if (this.#chance(3)) return
    this.#put('tool/code-dispatch', { ...call, isError: false, content: [text('x')] })
  }

  #prune(): void {
    const results = this.#nodes.filter(seq => this.#events[seq]?.type === 'tool/result')
    if (results.length === 0) return
    const seq = this.#one(results)
    const data = structuredClone(this.#events[seq]?.data) as { message: { content: { content: unknown }[] } }
    ;(data.message.content[0] as { content: unknown }).content = [text('pruned')]
    const span = { shadowedRange: { start: seq, end: seq }, shadowedSeqs: [seq], shadowedTokenCount: 7 }
    if (this.#chance(2)) this.#put('compaction/prune', span)
    this.#put('tool/result', data, this.#over([seq]))
  }

  // ── Messages and what cites them ──────────────────────────────────────────────────────────────────────────────────

  get #nodes(): readonly number[] {
    return this.#session.surface.nodes
  }

  #message(source: Members = { kind: 'user' }, prefix = 'u'): Members {
    return { id: this.#id(prefix), role: 'user', content: [text(this.#one(TEXTS))], source }
  }

  #say(intent: Members = { surfaceOp: 'append' }): void {
    const source = this.#one<Members>([
      { kind: 'user' },
      { kind: 'user', rpcId: 'x' },
      { kind: 'plugin', plugin: 'tools-code-mode' },
      { kind: 'plugin', plugin: 'notes', form: 'notice', summary: 's' },
      { kind: 'plugin', plugin: 'memory', form: 'snapshot', sections: [] },
    ])
    const seq = this.#put('user/message', this.#message(source), intent)
    if (source['kind'] === 'user') this.#people.push(seq)
  }

  #over(span: readonly number[]): Members {
    const [start, end] = [span[0], span.at(-1)]
    const sources = this.#chance(3) ? [...new Set([...span, this.#one(this.#citable)])] : span
    const sourceEventSeqs = this.#chance(2) ? sources : sources.toSorted((left, right) => left - right)
    return { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs }
  }

  #span(): readonly number[] {
    const nodes = this.#nodes
    const from = this.#pick(Math.max(nodes.length, 1))
    return nodes.slice(from, from + 1 + this.#pick(8))
  }

  #compact(turn: number | null): void {
    const command = this.#chance(3) ? { sourceCommandId: this.#command() } : {}
    const bracket = { compactionId: this.#id('cmp'), ...command }
    const start = this.#put('compaction/start', { ...bracket, turn })
    const span = this.#span()
    if (span.length === 0 || this.#chance(4)) {
      this.#put('compaction/end', { ...bracket, turn, error: 'nothing to do' })
      return
    }
    const summary = this.#put('compaction/summary', {
      ...bracket,
      summary: [text('so far')],
      shadowedRange: { start: span[0], end: span.at(-1) },
      shadowedSeqs: span,
      shadowedTokenCount: 9,
      provider: 'p',
      model: 'm',
    })
    const { surfaceOp } = this.#over(span)
    const source = { kind: 'plugin', plugin: 'compact', ...bracket }
    this.#put('user/message', this.#message(source), { surfaceOp, sourceEventSeqs: [start, summary, ...span] })
    this.#put('compaction/end', { ...bracket, turn })
  }

  #command(): string {
    const commandId = this.#id('cmd')
    this.#put('command/run', { commandId, name: 'compact', source: { kind: 'user' } })
    const cited = this.#citable.filter(seq => this.#events[seq]?.type.startsWith('command/') === false)
    const sourceEventSeq = this.#one([undefined, ...cited])
    const source = sourceEventSeq === undefined ? {} : { sourceEventSeq }
    if (this.#chance(2)) this.#put('command/done', { commandId, kind: 'success', text: 'done', ...source })
    return commandId
  }

  #splice(target: 'next-turn' | 'next-step', isInsert: boolean): void {
    const inserted = isInsert ? [this.#message({ kind: 'plugin', plugin: 'tools-code-mode' }, 'q')] : []
    const removedCount = isInsert ? 0 : this.#queue.length
    this.#queue = isInsert ? [...this.#queue, target] : []
    const removed = removedCount === 0 ? {} : { removedCount, outcome: 'canceled' }
    this.#put('agent/inbox/spliced', { target, start: 0, inserted, ...removed })
  }

  /** Something beside the conversation, or a word of it where one may stand. */
  #aside(): void {
    const people = this.#people
    switch (this.#pick(8)) {
      case 0:
        return this.#splice(this.#one(['next-turn', 'next-step']), this.#chance(2))
      case 1:
        if (this.#hasHead) this.#say()
        return
      case 2: {
        const span = this.#span()
        if (span.length > 0) this.#say(this.#over(span))
        return
      }
      case 3: {
        const cites = people.length > 0 && this.#chance(2) ? [this.#one(people)] : []
        const source = { kind: cites.length > 0 ? 'fallback' : 'user' }
        this.#put('session/title', { title: 'x', messageSeqs: cites, source })
        return
      }
      case 4: {
        const cited = people.slice(-2)
        const messages = cited.map(seq => this.#events[seq]?.data)
        const about = {
          titleProvider: 'p',
          route: { provider: 'p', model: 'm' },
          system: 'Title it.',
          messages,
          maxTokens: 9,
        }
        if (people.length > 0) this.#put('session/title-llm-request', { ...about, messageSeqs: cited })
        return
      }
      case 5:
        this.#command()
        return
      case 6: {
        const throughSeq = this.#events.length - 1
        const sessionId = this.#header.id
        if (throughSeq >= 0) this.#put('session-log-deepseek/delivery-accepted', { sessionId, throughSeq })
        return
      }
      default:
        this.#put(...this.#one(NOTES))
    }
  }
}
