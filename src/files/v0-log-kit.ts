/**
 * For tests only: random logs of format 0, each event of which the predecessor's own session took: turns, steps, requests,
 * answers and tools. Made of a list of numbers, so that a property test can shrink what it found.
 */
import { type Members, type Streamed, streamOf, text } from './v0-stream-kit.ts'
import { Ended, type V0Log, type V0Sessions, V0Talk } from './v0-talk-kit.ts'

export type { V0Log } from './v0-talk-kit.ts'

type Place = { readonly turn: number; readonly step: number }

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

const PROMPTS = [undefined, '', 'You help.', 'You help.', 'You are terse.', ' \n', 'Ünïcode \ud83d\ude42 "quoted"']
const TOOL = { name: 'read', description: 'Reads', parameters: { type: 'object' } }

/** The predecessor's words for a call that repair answered. */
const NOT_STARTED =
  'The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.'

class V0Writer extends V0Talk {
  #turn = 0
  #stepSeq = 0
  #prompt = ''
  #provider: string | null = null
  /** The turn before was never ended, as old builds did when another message waited. */
  #isForgotten = false

  // ── Turns and steps ───────────────────────────────────────────────────────────────────────────────────────────────

  turn(): void {
    if (!this.#isForgotten) this.#between()
    this.#isForgotten = false
    this.#turn += 1
    const { turn } = this.#place(0)
    this.put('turn/start', { turn })
    if (this.hasHead && this.chance(2)) this.say()
    if (this.#prompt === '' && this.chance(5)) this.#requestHeader(['', undefined])
    const steps = this.pick(4)
    for (let step = 1; step <= steps; step += 1) this.#step(this.#place(step))
    if (steps > 0 && this.chance(4)) this.compact(turn)
    if (this.chance(6)) {
      this.splice('next-turn', true)
      this.#isForgotten = true
      return
    }
    const failure = { message: 'no', code: 'E' }
    const reason = this.one<Members>([
      ...[{ kind: 'completed' }, { kind: 'blocked' }, { kind: 'max-tokens' }, { kind: 'interrupted' }],
      ...[
        { kind: 'aborted', reason: { kind: 'user' } },
        { kind: 'error', error: failure },
        { kind: 'other', x: [1] },
      ],
    ])
    this.put('turn/end', { turn, reason })
  }

  #place(step: number): Place {
    return { turn: this.#turn, step }
  }

  /** What happens while no turn is open: somebody opens the session again, or forks it. */
  #between(): void {
    while (this.chance(3)) this.aside()
    if (this.hasHead && this.chance(3)) this.compact(null)
    if (!this.chance(4)) return
    if (this.chance(2)) {
      const { id } = this.header
      const { seedLength: _, ...header } = this.header
      this.header = { ...header, id: `${id}f`, parentSession: id, seedLength: this.events.length }
      // Not every build marked the end of what a fork begins with.
      if (this.chance(2)) return
    }
    this.session = this.sessions.create(this.header.id, this.session.events)
    const marker = this.session.events.at(-1)
    if (marker === undefined || marker.seq < this.events.length) return
    this.keep(marker.seq, { type: marker.type, seq: marker.seq, time: this.time, data: marker.data })
  }

  #step(place: Place): void {
    this.#stepSeq = this.put('step/start', place)
    this.hasHead = true
    if (this.chance(2)) this.say()
    while (this.#provider === null || this.chance(3)) this.#requestHeader(PROMPTS)
    if (this.chance(4)) this.put('request/context', { provider: this.#provider, model: 'm', contextWindow: 9 })
    this.#failures(place)
    const calls = this.#answer(place)
    this.#calls(place, calls)
    while (this.chance(3)) this.aside()
    if (this.chance(2)) this.#prune()
    this.put('step/end', place)
  }

  #requestHeader(prompts: readonly (string | undefined)[]): void {
    const system = this.one(prompts)
    this.said.push(this.now())
    this.#provider = this.one(['p', 'q'])
    this.#prompt = system ?? ''
    const [limit, defaults] = this.one<readonly [Members, Members]>([
      [{}, {}],
      [{ stop: [] }, { adapterDefaults: {} }],
      [{ maxTokens: 9 }, { adapterDefaults: { maxTokens: true } }],
    ])
    const config = { provider: this.#provider, model: 'm', ...limit }
    const tools = this.one<Members>([{}, { tools: [] }, { tools: [TOOL] }])
    const header = { config, ...tools, ...defaults, ...(system === undefined ? {} : { system }) }
    const reason = this.one(['initial', 'change', 'resume', 'series'])
    this.put('request/header', { header, reason, ...(reason === 'change' ? {} : { startsSeries: true }) })
  }

  // ── Answers ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Attempts that failed: some are tried again, some are given up, some had finished. */
  #failures(place: Place): void {
    /** Retries count on as long as the provider is the same. */
    const chains = new Map<string | null, { readonly retryId: string; retry: number }>()
    while (this.chance(4)) {
      const { isFinished } = this.#stream(place, 'failed')
      while (this.chance(4)) this.aside()
      if (isFinished && this.chance(3)) return
      const chain = chains.get(this.#provider) ?? { retryId: this.id('retry'), retry: 0 }
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
      this.put('llm/retry', { ...place, ...chain, ...about })
      if (!this.chance(3)) this.put('llm/retry-started', { ...place, ...chain })
    }
  }

  /** Calls the answer asks for. */
  #answer(place: Place): readonly Members[] {
    const kind = this.one(['whole', 'whole', 'whole', 'interrupted', 'unclaimed', 'unstreamed', 'none'] as const)
    if (kind === 'none') return []
    if (kind === 'unstreamed' && this.chance(2)) this.#stream(place, 'failed')
    const streamed = kind === 'unstreamed' ? null : this.#stream(place, kind === 'unclaimed' ? 'failed' : kind)
    if (kind === 'unclaimed') return []
    while (this.chance(4)) this.aside()
    const { seqs, content, usage, replayState } = streamed ?? { seqs: [], content: [text('unstreamed')] }
    const source = {
      kind: 'model',
      provider: this.#provider,
      model: 'm',
      ...(replayState === undefined ? {} : { replayState }),
    }
    const data = {
      ...place,
      message: { id: this.id('a'), role: 'assistant', content, source },
      ...(usage === undefined ? {} : { usage }),
      ...(kind === 'interrupted' ? { interrupted: true } : {}),
    }
    // Without chunks the list may be missing, as long as no others are waiting.
    const isWaiting = this.events.slice(this.#stepSeq).some(({ type }) => type === 'assistant/chunk')
    const isListed = isWaiting || this.chance(2)
    this.put('assistant/message', data, { surfaceOp: 'append', ...(isListed ? { sourceEventSeqs: seqs } : {}) })
    return content.filter(({ type }) => type === 'tool-call')
  }

  #stream(place: Place, kind: 'whole' | 'interrupted' | 'failed'): Omit<Streamed, 'chunks'> & { seqs: number[] } {
    const { chunks, ...streamed } = streamOf(this, kind)
    const seqs: number[] = []
    for (const chunk of chunks) {
      seqs.push(this.put('assistant/chunk', { ...place, chunk }))
      if (this.chance(9)) this.aside()
      if (this.chance(40)) this.#requestHeader(PROMPTS)
    }
    return { seqs, ...streamed }
  }

  // ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  #calls(place: Place, calls: readonly Members[]): void {
    const started: { readonly call: Members; readonly seq: number | null }[] = []
    const start = (call: Members) => {
      const isStarted = !this.chance(5)
      const { id: callId, name, arguments: given } = call
      const seq = isStarted ? this.put('tool/call', { ...place, callId, name, arguments: given }) : null
      started.push({ call, seq })
    }
    for (const call of calls) {
      start(call)
      if (this.chance(3)) this.aside()
      if (this.chance(2)) this.#return(place, started)
    }
    while (started.length > 0) this.#return(place, started)
  }

  #return(place: Place, started: { readonly call: Members; readonly seq: number | null }[]): void {
    const [next] = started.splice(this.pick(Math.max(started.length, 1)), 1)
    if (next === undefined) return
    const { call, seq } = next
    const callId = call['id'] as string
    if (seq !== null && this.chance(5)) this.#dispatch(callId)
    const source = { kind: 'tool', callId }
    const result = (id: string, value: string, more: Members = {}) => {
      const content = [{ type: 'tool-result', toolCallId: callId, content: [text(value)], ...more }]
      return { ...place, message: { id, role: 'user', content, source } }
    }
    if (seq === null) {
      const id = `interrupted-tool-result-${callId}-${this.events.length}`
      const error = { name: 'ToolNotStartedError', code: 'TOOL_NOT_STARTED' }
      this.put('tool/result', { ...result(id, NOT_STARTED, { isError: true }), error }, { surfaceOp: 'append' })
      return
    }
    const data = this.one<(id: string) => Members>([
      id => result(id, 'ok'),
      id => ({ ...result(id, 'ok', { isError: false }), meta: { nested: [null, 1.5], seq: 2 } }),
      id => ({ ...result(id, 'no', { isError: true }), error: { name: 'E', code: 'TOOL_FAILED' } }),
      id => result(id, 'no', { isError: true }),
    ])(this.id('r'))
    const cites = this.chance(5) ? {} : { sourceEventSeqs: [seq] }
    this.put('tool/result', data, { surfaceOp: 'append', ...cites })
  }

  /** Calls that a program of the code tool makes. */
  #dispatch(rootCallId: string): void {
    const call = { rootCallId, parentCallId: rootCallId, subCallId: this.id('sub'), name: 'read', arguments: { a: 1 } }
    this.put('tool/code-dispatch-start', call)
    if (this.chance(3)) return
    this.put('tool/code-dispatch', { ...call, isError: false, content: [text('x')] })
  }

  #prune(): void {
    const results = this.nodes.filter(seq => this.events[seq]?.type === 'tool/result')
    if (results.length === 0) return
    const seq = this.one(results)
    const data = structuredClone(this.events[seq]?.data) as { message: { content: { content: unknown }[] } }
    ;(data.message.content[0] as { content: unknown }).content = [text('pruned')]
    const span = { shadowedRange: { start: seq, end: seq }, shadowedSeqs: [seq], shadowedTokenCount: 7 }
    if (this.chance(2)) this.put('compaction/prune', span)
    this.put('tool/result', data, this.over([seq]))
  }
}
