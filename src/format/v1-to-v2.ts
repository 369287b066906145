/**
 * Version 1 to 2 (SPEC F5): the chunks of a model's answer move into the message they were assembled to. Chunks nobody
 * claims become an `assistant/attempt` where the last of them stood.
 */
import type { StreamChunk, StreamRecord } from '../core/events.ts'
import { isSafeNonNegativeInteger } from '../core/ids.ts'
import { packStream, type TimedChunk } from '../core/stream-records.ts'
import { FormatError, type FormatErrorCode, formatRefusal } from './errors.ts'
import { isInventoryType } from './inventory.ts'
import { type MapSeq, opaqueAt, withReferences } from './references.ts'
import type { Stage, StageContext, Migration } from './migration.ts'
import type { StoredEvent, StoredHeader } from './stored.ts'

export const v1ToV2: Migration = { from: 1, to: 2, header: headerOfV2, open: context => new Embedding(context) }

/** `isSeeded` takes the place of `seedLength`: the cut is where the tagged marker stands from now on. */
function headerOfV2(older: StoredHeader): StoredHeader {
  const isSeeded = older['seedLength'] !== undefined
  const members: [string, unknown][] = []
  let isSaid = false
  const say = () => {
    if (!isSaid) members.push(['isSeeded', isSeeded])
    isSaid = true
  }
  for (const [name, value] of Object.entries(older)) {
    // Where a header of version 2 has it: before these members, which both versions end with.
    if (name === 'seedLength' || (!isSeeded && AFTER_SEED.has(name))) say()
    if (name !== 'seedLength' && name !== 'isSeeded') members.push([name, name === 'version' ? 2 : value])
  }
  say()
  return Object.fromEntries(members) as StoredHeader
}

const AFTER_SEED: ReadonlySet<string> = new Set(['origin', 'delegationDepth', 'agentPreset'])

/** The chunks of one answer, while it is open who will claim them. */
type Attempt = {
  readonly turn: number
  readonly step: number
  /** Of the chunks, in the older log. */
  readonly seqs: number[]
  readonly chunks: TimedChunk[]
  isFinished: boolean
}

type Members = Readonly<Record<string, unknown>>

/** After these nobody can claim the chunks before them. */
const SETTLES: ReadonlySet<string> = new Set(['step/end', 'turn/end', 'llm/retry', 'llm/retry-started'])

const CHUNK_ENVELOPE: readonly string[] = ['type', 'seq', 'time', 'data']
const CHUNK_MEMBERS: readonly string[] = ['turn', 'step', 'chunk']

const CONSUMED = -1

class Embedding implements Stage {
  readonly #context: StageContext
  /** The marker of the cut stands before the event of this seq; null when nothing is inherited. */
  readonly #cut: number | null
  /** Seq in the newer log by seq in the older one. */
  readonly #targets: number[] = []
  readonly #map: MapSeq = seq => {
    const target = this.#targets[seq]
    return target === undefined || target === CONSUMED ? null : target
  }
  #next = 0
  #lastTime: number
  /** Where the marker stands in the newer log. */
  #marker: number | null = null
  #attempt: Attempt | null = null
  /** What came after the last chunk of the attempt: it stands behind the attempt, if that is settled. */
  #held: StoredEvent[] = []
  #turn: { readonly number: unknown } | null = null
  #isStepOpen = false
  /** Whether the event just before put a message into the queue of the next turn. */
  #isTurnQueued = false

  constructor(context: StageContext) {
    const { createdAt, seedLength } = context.header
    if (seedLength !== undefined && !isSafeNonNegativeInteger(seedLength)) {
      const what = 'The header should have a safe integer of at least 0 at $.seedLength'
      throw new FormatError('header', what, { path: '$.seedLength' })
    }
    this.#context = context
    this.#cut = seedLength ?? null
    this.#lastTime = createdAt
  }

  push(event: StoredEvent): void {
    this.#targets.push(CONSUMED)
    if (event.type === 'assistant/chunk') this.#takeChunk(event)
    else if (event.type === 'assistant/message') this.#takeMessage(event)
    else this.#takeOther(event)
    this.#isTurnQueued = queuesTurn(event)
  }

  end(inherited: number | null): number | null {
    this.#settle()
    const cut = this.#cut
    if (inherited !== null && inherited !== (cut ?? 0)) {
      this.#refuseCut(`${inherited} events are said to be inherited; its header says ${cut ?? 'none'}`)
    }
    if (cut === null) return null
    const length = this.#targets.length
    if (cut > length) this.#refuseCut(`its header says that ${cut} events are inherited; it has ${length}`)
    if (this.#marker === null) this.#mark(this.#lastTime, Math.max(0, length - 1))
    return this.#marker
  }

  // ── What comes in ─────────────────────────────────────────────────────────────────────────────────────────────────

  #takeChunk(event: StoredEvent): void {
    const { turn, step, chunk } = chunkOf(event)
    const open = this.#attempt
    if (open !== null && (open.isFinished || open.turn !== turn || open.step !== step)) this.#settle()
    const attempt = this.#attempt ?? { turn, step, seqs: [], chunks: [], isFinished: false }
    this.#refuseSplit(attempt, event)
    this.#attempt = attempt
    // The attempt will stand where its last chunk did, so behind these.
    this.#release()
    attempt.seqs.push(event.seq)
    attempt.chunks.push({ time: event.time, chunk })
    attempt.isFinished = chunk.type === 'finish'
  }

  #takeMessage(event: StoredEvent): void {
    const { sourceEventSeqs: sources, ...rest } = event
    const { data } = event
    if (!isMembers(data)) throw formatRefusal('payload', event, 'should have an object as its payload', { path: '$' })
    if (Object.hasOwn(data, 'stream')) {
      throw formatRefusal('payload', event, 'should have nothing at $.stream in version 1', { path: '$.stream' })
    }
    const attempt = this.#attempt
    const isListEmpty = Array.isArray(sources) && sources.length === 0
    let stream: StreamRecord[] = []
    if (attempt === null) {
      if (sources !== undefined && !isListEmpty) refuseStream(event, 'cites chunks, and none stand before it')
    } else if (isListEmpty || attempt.turn !== data['turn'] || attempt.step !== data['step']) {
      this.#settle()
    } else {
      const { seqs, chunks } = attempt
      if (sources === undefined) refuseStream(event, `does not cite the ${seqs.length} chunks before it`)
      if (!Array.isArray(sources) || sources.length !== seqs.length || seqs.some((seq, at) => seq !== sources[at])) {
        refuseStream(event, `should cite exactly the ${seqs.length} chunks of its attempt, in order`)
      }
      this.#refuseSplit(attempt, event)
      this.#attempt = null
      this.#release()
      stream = packStream(chunks)
    }
    this.#put({ ...rest, data: { ...data, stream } })
  }

  #takeOther(event: StoredEvent): void {
    if (!isInventoryType(event.type, 1)) this.#admitUnknown(event)
    if (event.type === 'session-log-deepseek/delivery-accepted') this.#checkDelivery(event)
    if (SETTLES.has(event.type)) this.#settle()
    if (event.type === 'turn/start') this.#openTurn(event)
    if (event.type === 'turn/end') this.#turn = null
    if (STEP_STATES.has(event.type)) this.#isStepOpen = event.type === 'step/start'
    if (this.#attempt === null) this.#put(event)
    else this.#held.push(event)
  }

  /** A record of delivery of this version names this session, unless it is inherited. */
  #checkDelivery(event: StoredEvent): void {
    const { sessionFormatVersion: version, sessionId } = isMembers(event.data) ? event.data : {}
    const { id } = this.#context.header
    if (version !== 1 || sessionId === id || event.seq < (this.#cut ?? 0)) return
    throw formatRefusal('delivery', event, `names another session than ${id}`, { path: '$.sessionId' })
  }

  #admitUnknown(event: StoredEvent): void {
    const { repair } = this.#context
    const what = 'is of a type that version 1 does not have'
    if (repair === null || event.ignorable !== true) throw formatRefusal('unknown-type', event, what)
    const message = `${event.type} at seq ${event.seq} ${what}; it was carried over as it is`
    repair({ code: 'kept-verbatim', seq: event.seq, message })
  }

  /** Old builds forgot to end a turn when the next one was waiting already; nothing else ends one. */
  #openTurn(event: StoredEvent): void {
    const turn = this.#turn
    const number = isMembers(event.data) ? event.data['turn'] : undefined
    if (turn !== null) {
      const isNext = typeof turn.number === 'number' && number === turn.number + 1
      if (!isNext || this.#isStepOpen || !this.#isTurnQueued) {
        throw formatRefusal('order', event, 'starts a turn inside an open one')
      }
      this.#settle()
      const data = { turn: turn.number, reason: { kind: 'interrupted' } }
      this.#markBefore(event)
      this.#emit({ type: 'turn/end', seq: this.#next, time: event.time, data }, event.seq, true)
    }
    this.#turn = { number }
  }

  // ── What goes out ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Nobody claimed the chunks: they become an attempt in the place of the last one, before what came after it. */
  #settle(): void {
    const attempt = this.#attempt
    if (attempt === null) return
    this.#attempt = null
    const { turn, step, seqs, chunks } = attempt
    const { time } = chunks.at(-1) as TimedChunk
    const seq = seqs.at(-1) as number
    this.#markBefore({ type: 'assistant/attempt', seq, time })
    const data = { turn, step, stream: packStream(chunks) }
    this.#emit({ type: 'assistant/attempt', seq: this.#next, time, data }, seq, true)
    this.#release()
  }

  #release(): void {
    const held = this.#held
    this.#held = []
    for (const event of held) this.#put(event)
  }

  #put(event: StoredEvent): void {
    this.#markBefore(event)
    if (event.type === 'session/end-seed') return this.#putEndSeed(event)
    const split = event.type === 'user/message' ? splitGoal(event) : null
    if (split !== null) {
      const { change, message } = split
      this.#emit({ type: 'goal/change', seq: this.#next, time: event.time, data: change }, event.seq, true)
      event = message
    }
    this.#carry(event)
  }

  #putEndSeed(event: StoredEvent): void {
    const { data } = event
    if (!isMembers(data) || Object.keys(data).length > 0) {
      throw formatRefusal('payload', event, 'should have an empty object as its payload', { path: '$' })
    }
    if (event.seq !== this.#cut) return this.#carry(event)
    this.#marker = this.#next
    this.#carry({ ...event, data: { inherited: true } })
  }

  #carry(event: StoredEvent): void {
    const seq = this.#next
    const isKnown = isInventoryType(event.type, 1)
    const carried = isKnown ? withReferences(event, seq, this.#map, 'start') : opaqueAt(event, seq, this.#map)
    this.#targets[event.seq] = seq
    this.#emit(carried, event.seq)
  }

  #emit(event: StoredEvent, from: number, isGenerated?: true): void {
    this.#next += 1
    this.#lastTime = event.time
    if (isGenerated === true) this.#context.emit(event, from, true)
    else this.#context.emit(event, from)
  }

  // ── The cut ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The marker stands before the first event that is not inherited, unless that is an end of the seed: then it is it. */
  #markBefore({ type, seq, time }: Pick<StoredEvent, 'type' | 'seq' | 'time'>): void {
    if (this.#cut === null || this.#marker !== null || seq < this.#cut) return
    if (type !== 'session/end-seed' || seq !== this.#cut) this.#mark(time, seq)
  }

  #mark(time: number, beside: number): void {
    this.#marker = this.#next
    this.#emit({ type: 'session/end-seed', seq: this.#next, time, data: { inherited: true } }, beside, true)
  }

  #refuseSplit({ seqs }: Attempt, event: StoredEvent): void {
    const first = seqs[0]
    if (this.#cut === null || first === undefined || first >= this.#cut || event.seq < this.#cut) return
    const what = `belongs to chunks from seq ${first} on, and what is inherited ends before seq ${this.#cut}`
    throw formatRefusal('inherited-cut', event, what)
  }

  #refuseCut(what: string): never {
    const { id } = this.#context.header
    throw new FormatError('inherited-cut', `The log of session ${id} is cut wrong: ${what}`, { sessionId: id })
  }
}

const STEP_STATES: ReadonlySet<string> = new Set(['turn/start', 'turn/end', 'step/start', 'step/end'])

/** What a chunk event says. Upstream lets what is surplus here vanish; whoever wrote it meant something. */
function chunkOf(event: StoredEvent): { readonly turn: number; readonly step: number; readonly chunk: StreamChunk } {
  const refuse = (code: FormatErrorCode, path: string, expected: string): never => {
    throw formatRefusal(code, event, `should have ${expected} at ${path}`, { path })
  }
  for (const key of Object.keys(event)) if (!CHUNK_ENVELOPE.includes(key)) refuse('envelope', key, 'nothing')
  if (!Number.isSafeInteger(event.time)) refuse('envelope', 'time', 'a safe integer')
  const { data } = event
  if (!isMembers(data)) return refuse('payload', '$', 'an object')
  for (const key of Object.keys(data)) if (!CHUNK_MEMBERS.includes(key)) refuse('payload', `$.${key}`, 'nothing')
  const { turn, step, chunk } = data
  if (!isSafeNonNegativeInteger(turn)) return refuse('payload', '$.turn', 'a safe integer of at least 0')
  if (!isSafeNonNegativeInteger(step)) return refuse('payload', '$.step', 'a safe integer of at least 0')
  if (!isMembers(chunk)) return refuse('payload', '$.chunk', 'an object')
  return { turn, step, chunk: chunk as StreamChunk }
}

function queuesTurn({ type, data }: StoredEvent): boolean {
  if (type !== 'agent/inbox/spliced' || !isMembers(data)) return false
  const { target, inserted } = data
  return target === 'next-turn' && Array.isArray(inserted) && inserted.length > 0
}

/** Old builds kept the change of a goal in the source of the message that told the model about it. */
function splitGoal(event: StoredEvent): { readonly change: Members; readonly message: StoredEvent } | null {
  const { data } = event
  const source = isMembers(data) ? data['source'] : undefined
  if (!isMembers(data) || !isMembers(source) || source['kind'] !== 'goal' || !Object.hasOwn(source, 'change'))
    return null
  const { change } = source
  if (!isMembers(change)) {
    throw formatRefusal('payload', event, 'should have an object at $.source.change', { path: '$.source.change' })
  }
  return { change, message: { ...event, data: { ...data, source: { kind: 'plugin', plugin: 'goal' } } } }
}

function refuseStream(event: StoredEvent, what: string): never {
  throw formatRefusal('stream', event, what)
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
