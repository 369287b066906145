/** For tests only: a log of format 0 being written, with what people say, what cites it, and what stands beside it. */
import type { StoredEvent } from '../format/stored.ts'
import { Draw, type Members, text, TEXTS } from './v0-stream-kit.ts'

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
export class Ended extends Error {}

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

/** Writes with the predecessor's own session, which takes every event or throws. */
export class V0Talk extends Draw {
  protected readonly events: StoredEvent[] = []
  protected readonly said: { readonly length: number; readonly messages: readonly unknown[] }[] = []
  protected session: V0Session
  protected header: V0Log['header']
  protected time = 1_000
  /** A step was begun: from now on messages may stand on the surface. */
  protected hasHead = false
  protected readonly sessions: V0Sessions
  readonly #mayStop: boolean
  /** Seqs of messages of people, and of all that may be cited. */
  readonly #people: number[] = []
  readonly #citable: number[] = []
  readonly #pending = { 'next-turn': 0, 'next-step': 0 }

  constructor(sessions: V0Sessions, choices: readonly number[]) {
    super(choices)
    this.sessions = sessions
    this.#mayStop = this.pick(2) === 1
    const some: readonly Members[] = [
      {},
      { cwd: '/w' },
      { agentPreset: 'code' },
      { origin: 'subagent' },
      { seedLength: 0 },
    ]
    this.header = { version: 0, id: 's', createdAt: 900, delegationDepth: this.pick(2), ...this.one(some) }
    this.session = sessions.create('s')
  }

  log(): V0Log {
    return { header: this.header, events: this.events, said: [...this.said, this.now()] }
  }

  protected now(): V0Log['said'][number] {
    return { length: this.events.length, messages: structuredClone(this.session.deriveMessages()) }
  }

  protected put(type: string, data: Members, intent?: Members): number {
    if (this.#mayStop && !this.hasMore) throw new Ended()
    if (this.chance(3)) this.time += this.one([1, 7, 1_000, -3])
    const { seq } = this.session.append(type, data, intent)
    this.keep(seq, { type, seq, time: this.time, data, ...intent })
    return seq
  }

  protected keep(seq: number, event: StoredEvent): void {
    if (seq !== this.events.length) throw new RangeError(`Expected seq ${this.events.length}; found ${seq}`)
    this.events.push(structuredClone(event))
    if (event.type !== 'assistant/chunk') this.#citable.push(seq)
  }

  protected get nodes(): readonly number[] {
    return this.session.surface.nodes
  }

  protected message(source: Members = { kind: 'user' }, prefix = 'u'): Members {
    return { id: this.id(prefix), role: 'user', content: [text(this.one(TEXTS))], source }
  }

  protected say(intent: Members = { surfaceOp: 'append' }): void {
    const source = this.one<Members>([
      { kind: 'user' },
      { kind: 'user', rpcId: 'x' },
      { kind: 'plugin', plugin: 'tools-code-mode' },
      { kind: 'plugin', plugin: 'notes', form: 'notice', summary: 's' },
      { kind: 'plugin', plugin: 'memory', form: 'snapshot', sections: [] },
    ])
    const seq = this.put('user/message', this.message(source), intent)
    if (source['kind'] === 'user') this.#people.push(seq)
  }

  protected over(span: readonly number[]): Members {
    const [start, end] = [span[0], span.at(-1)]
    const sources = this.chance(3) ? [...new Set([...span, this.one(this.#citable)])] : span
    const sourceEventSeqs = this.chance(2) ? sources : sources.toSorted((left, right) => left - right)
    return { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs }
  }

  protected span(): readonly number[] {
    const nodes = this.nodes
    const from = this.pick(Math.max(nodes.length, 1))
    return nodes.slice(from, from + 1 + this.pick(8))
  }

  protected compact(turn: number | null): void {
    const command = this.chance(3) ? { sourceCommandId: this.command() } : {}
    const bracket = { compactionId: this.id('cmp'), ...command }
    const start = this.put('compaction/start', { ...bracket, turn })
    const span = this.span()
    if (span.length === 0 || this.chance(4)) {
      this.put('compaction/end', { ...bracket, turn, error: 'nothing to do' })
      return
    }
    const summary = this.put('compaction/summary', {
      ...bracket,
      summary: [text('so far')],
      shadowedRange: { start: span[0], end: span.at(-1) },
      shadowedSeqs: span,
      shadowedTokenCount: 9,
      provider: 'p',
      model: 'm',
    })
    const { surfaceOp } = this.over(span)
    const source = { kind: 'plugin', plugin: 'compact', ...bracket }
    this.put('user/message', this.message(source), { surfaceOp, sourceEventSeqs: [start, summary, ...span] })
    this.put('compaction/end', { ...bracket, turn })
  }

  protected command(): string {
    const commandId = this.id('cmd')
    this.put('command/run', { commandId, name: 'compact', source: { kind: 'user' } })
    const cited = this.#citable.filter(seq => this.events[seq]?.type.startsWith('command/') === false)
    const sourceEventSeq = this.one([undefined, ...cited])
    const source = sourceEventSeq === undefined ? {} : { sourceEventSeq }
    if (this.chance(2)) this.put('command/done', { commandId, kind: 'success', text: 'done', ...source })
    return commandId
  }

  protected splice(target: 'next-turn' | 'next-step', isInsert: boolean): void {
    const inserted = isInsert ? [this.message({ kind: 'plugin', plugin: 'tools-code-mode' }, 'q')] : []
    const removedCount = isInsert ? 0 : this.#pending[target]
    this.#pending[target] += inserted.length - removedCount
    const removed = removedCount === 0 ? {} : { removedCount, outcome: 'canceled' }
    this.put('agent/inbox/spliced', { target, start: 0, inserted, ...removed })
  }

  /** Something beside the conversation, or a word of it where one may stand. */
  protected aside(): void {
    const people = this.#people
    switch (this.pick(8)) {
      case 0:
        return this.splice(this.one(['next-turn', 'next-step']), this.chance(2))
      case 1:
        if (this.hasHead) this.say()
        return
      case 2: {
        const span = this.span()
        if (span.length > 0) this.say(this.over(span))
        return
      }
      case 3: {
        const cites = people.length > 0 && this.chance(2) ? [this.one(people)] : []
        const source = { kind: cites.length > 0 ? 'fallback' : 'user' }
        this.put('session/title', { title: 'x', messageSeqs: cites, source })
        return
      }
      case 4: {
        const cited = people.slice(-2)
        const messages = cited.map(seq => this.events[seq]?.data)
        const about = {
          titleProvider: 'p',
          route: { provider: 'p', model: 'm' },
          system: 'Title it.',
          messages,
          maxTokens: 9,
        }
        if (people.length > 0) this.put('session/title-llm-request', { ...about, messageSeqs: cited })
        return
      }
      case 5:
        this.command()
        return
      case 6: {
        const throughSeq = this.events.length - 1
        const sessionId = this.header.id
        if (throughSeq >= 0) this.put('session-log-deepseek/delivery-accepted', { sessionId, throughSeq })
        return
      }
      default:
        this.put(...this.one(NOTES))
    }
  }
}
