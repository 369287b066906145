/**
 * Version 2 to 3 (SPEC F5): the system prompt moves out of the request's header into a message of its own, at the head of
 * the surface; operations and the code tool get their new names. A log that would say something else then is refused.
 */
import { FormatError, type FormatErrorCode, formatRefusal } from './errors.ts'
import { inventoryProblem } from './inventory.ts'
import { type MessageSlot, messageSlots, unknownKind, withRenamedSources } from './message-slots.ts'
import { type MapSeq, opaqueAt, withReferences } from './references.ts'
import type { Stage, StageContext, Migration } from './migration.ts'
import type { StoredEvent, StoredHeader } from './stored.ts'

export const v2ToV3: Migration = { from: 2, to: 3, header: headerOfV3, open: context => new Promotion(context) }

function headerOfV3(older: StoredHeader): StoredHeader {
  return { ...older, version: 3, ...(older['agentPreset'] === 'code' ? { agentPreset: 'ptc' } : {}) }
}

/** The system prompt that a `request/header` of version 2 carries; '' when it carries none. */
export function promptOf({ data }: StoredEvent): string {
  const header = isMembers(data) ? data['header'] : undefined
  const system = isMembers(header) ? header['system'] : undefined
  return typeof system === 'string' ? system : ''
}

type Members = Readonly<Record<string, unknown>>

const ENVELOPE: ReadonlySet<string> = new Set([
  'type',
  'seq',
  'time',
  'data',
  'ignorable',
  'surfaceOp',
  'sourceEventSeqs',
])
const SURFACE: ReadonlySet<string> = new Set(['user/message', 'assistant/message', 'tool/result'])

const RENAMED: ReadonlyMap<string, string> = new Map([
  ['tool/code-dispatch-start', 'tool/ptc-dispatch-start'],
  ['tool/code-dispatch', 'tool/ptc-dispatch'],
])

/** Types that would begin to mean something in version 3: such an event cannot be carried over as one nobody knows. */
const ACTIVE_LATER: ReadonlySet<string> = new Set(['system/message', 'image/offload', ...RENAMED.values()])

const GENERATED_ID = 'v2-to-v3-system-'
const SYSTEM_SOURCE = { kind: 'plugin', plugin: '@deepseek-ai/dsh-system-prompt' }

class Promotion implements Stage {
  readonly #context: StageContext
  readonly #isSeeded: boolean
  /** Seq in the newer log by seq in the older one. */
  readonly #targets: number[] = []
  readonly #map: MapSeq = seq => this.#targets[seq] ?? null
  #next = 0
  #step: { readonly turn: unknown; readonly step: unknown } | null = null
  /** The system message at the head of the surface, in the newer log; null before the first step. */
  #head: number | null = null
  #prompt = ''
  /** Ids of messages, kept only where they could be mistaken for each other. */
  readonly #sourceIds = new Set<string>()
  readonly #generatedIds = new Set<string>()
  /** The last tagged marker, in both logs. */
  #marker: { readonly older: number; readonly newer: number } | null = null
  /** The last record of delivery that names another session: it has to be inherited. */
  #foreignDelivery: StoredEvent | null = null

  constructor(context: StageContext) {
    this.#context = context
    this.#isSeeded = context.header['isSeeded'] === true
  }

  push(event: StoredEvent): void {
    if (this.#isUnknown(event)) return this.#carry(event, opaqueAt(event, this.#next, this.#map))
    this.#checkEnvelope(event)
    this.#checkMessages(event, messageSlots(event))
    this.#checkDescriptor(event)
    if (SURFACE.has(event.type) && this.#head === null) {
      throw formatRefusal('order', event, 'stands before the first step, where no system message can precede it')
    }
    switch (event.type) {
      case 'tool/result':
        checkResult(event)
        break
      case 'session-log-deepseek/delivery-accepted':
        this.#checkDelivery(event)
        break
      case 'session/end-seed':
        this.#takeMarker(event)
        break
      case 'request/header':
        this.#takePrompt(event)
        break
      case 'step/start':
        this.#step = stepOf(event)
        break
      case 'turn/start':
      case 'turn/end':
      case 'step/end':
        this.#step = null
    }
    const seq = this.#next
    this.#carry(event, canonical(withReferences(event, seq, this.#map, 'startSeq')))
    if (this.#step !== null && this.#head === null) this.#putSystemMessage(event, this.#step)
  }

  end(inherited: number | null): number | null {
    const marker = this.#marker
    if (this.#isSeeded && marker === null)
      this.#refuseCut('its header says it has inherited events; no marker ends them')
    const cut = marker?.older ?? 0
    if (inherited !== null && inherited !== cut) {
      this.#refuseCut(`${inherited} events are said to be inherited; its marker says ${cut}`)
    }
    const foreign = this.#foreignDelivery
    if (foreign !== null && foreign.seq >= cut) refuseForeign(foreign)
    return marker?.newer ?? null
  }

  // ── Audit ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** True for an event of an unknown type that is carried over as it is; refuses all other events not of version 2. */
  #isUnknown(event: StoredEvent): boolean {
    const problem = inventoryProblem(event, 2)
    if (problem === null) return false
    const { code, what, path } = problem
    const isUnknown = code === 'unknown-type'
    const isKept = !isUnknown || (event.ignorable === true && !ACTIVE_LATER.has(event.type))
    this.#keep(event, isKept, code, what, path)
    return isUnknown
  }

  /** Lists what is carried over as it is, where that may be done; else refuses it. */
  #keep(event: StoredEvent, isKept: boolean, code: FormatErrorCode, what: string, path?: string): void {
    const { repair } = this.#context
    if (repair === null || !isKept) throw formatRefusal(code, event, what, { path })
    const message = `${event.type} at seq ${event.seq} ${what}; it was carried over as it is`
    repair({ code: 'kept-verbatim', seq: event.seq, message })
  }

  #checkEnvelope(event: StoredEvent): void {
    const refuse = (code: FormatErrorCode, what: string, path: string): never => {
      throw formatRefusal(code, event, what, { path })
    }
    for (const key of Object.keys(event)) if (!ENVELOPE.has(key)) refuse('envelope', `may not have the key ${key}`, key)
    const { type, surfaceOp, sourceEventSeqs } = event
    const isSurface = SURFACE.has(type)
    if (isSurface && surfaceOp === undefined) refuse('surface-op', 'should have a surfaceOp', 'surfaceOp')
    if (!isSurface && surfaceOp !== undefined) refuse('envelope', 'may not have a surfaceOp', 'surfaceOp')
    if (sourceEventSeqs !== undefined && (!isSurface || type === 'assistant/message')) {
      refuse('envelope', 'may not have sourceEventSeqs', 'sourceEventSeqs')
    }
  }

  #checkMessages(event: StoredEvent, slots: readonly MessageSlot[]): void {
    for (const { message, path } of slots) {
      const { id } = message
      if (typeof id !== 'string' || !id.startsWith(GENERATED_ID)) continue
      if (this.#generatedIds.has(id)) {
        const what = `has the id of a system message that was put in before it, at ${path}.id`
        throw formatRefusal('message-id', event, what, { path: `${path}.id` })
      }
      this.#sourceIds.add(id)
    }
    const problem = unknownKind(slots)
    if (problem !== null) this.#keep(event, true, 'payload', `${problem.what}, at ${problem.path}`, problem.path)
  }

  /** Only a log of version 0 was asked this before. */
  #checkDescriptor({ type, seq, data }: StoredEvent): void {
    const version = type === 'subagent/descriptor' && isMembers(data) ? data['version'] : 3
    if (version === 3) return
    this.#keep({ type, seq } as StoredEvent, true, 'payload', 'should have 3 at $.version', '$.version')
  }

  #checkDelivery(event: StoredEvent): void {
    const { sessionFormatVersion: version, sessionId } = isMembers(event.data) ? event.data : {}
    if (version === 3) {
      const path = '$.sessionFormatVersion'
      throw formatRefusal('delivery', event, 'says of this log of version 2 that it has version 3', { path })
    }
    const { id, parentSession } = this.#context.header
    if (version !== 2 || sessionId === id) return
    if (!this.#isSeeded || parentSession === undefined) refuseForeign(event)
    this.#foreignDelivery = event
  }

  #takeMarker(event: StoredEvent): void {
    if (!isMembers(event.data) || event.data['inherited'] !== true) return
    if (!this.#isSeeded) {
      throw formatRefusal('inherited-cut', event, 'ends inherited events; the header says there are none')
    }
    this.#marker = { older: event.seq, newer: this.#next }
  }

  #refuseCut(what: string): never {
    const { id } = this.#context.header
    throw new FormatError('inherited-cut', `The log of session ${id} is cut wrong: ${what}`, { sessionId: id })
  }

  // ── The head ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #takePrompt(event: StoredEvent): void {
    const prompt = promptOf(event)
    if (prompt === this.#prompt) return
    if (this.#step === null) {
      throw formatRefusal('order', event, 'changes the system prompt outside of a step', { path: '$.header.system' })
    }
    this.#prompt = prompt
    this.#putSystemMessage(event, this.#step)
  }

  /** Puts a system message with the current prompt beside `anchor`: the head of the surface, in place of the one before. */
  #putSystemMessage(anchor: StoredEvent, { turn, step }: { readonly turn: unknown; readonly step: unknown }): void {
    const { sha256, header } = this.#context
    const identity = ['session-format-v2-to-v3', header.id, anchor.seq, anchor.type]
    const id = GENERATED_ID + sha256(JSON.stringify(identity))
    if (this.#sourceIds.has(id)) {
      throw formatRefusal('message-id', anchor, 'needs a system message, and a message before it has the id of that')
    }
    this.#generatedIds.add(id)
    const seq = this.#next
    const head = this.#head
    const content = this.#prompt === '' ? [] : [{ type: 'text', text: this.#prompt }]
    const place =
      head === null
        ? { surfaceOp: 'append' }
        : { sourceEventSeqs: [head], surfaceOp: { op: 'replace', startSeq: head, endSeq: head } }
    const data = { turn, step, message: { id, role: 'system', source: SYSTEM_SOURCE, content } }
    this.#head = seq
    this.#next += 1
    this.#context.emit({ type: 'system/message', seq, time: anchor.time, data, ...place }, anchor.seq, true)
  }

  #carry(older: StoredEvent, newer: StoredEvent): void {
    this.#targets[older.seq] = newer.seq
    this.#next += 1
    this.#context.emit(newer, older.seq)
  }
}

function stepOf({ data }: StoredEvent): { readonly turn: unknown; readonly step: unknown } {
  const { turn, step } = isMembers(data) ? data : {}
  return { turn, step }
}

function refuseForeign(event: StoredEvent): never {
  const path = '$.sessionId'
  throw formatRefusal('delivery', event, 'names another session and is not inherited', { path })
}

const DECIMAL = /^(0|[1-9]\d*)$/

/** A result says one thing about success; one that repair made for a call that never started has the id of that repair. */
function checkResult(event: StoredEvent): void {
  const { error, message } = isMembers(event.data) ? event.data : {}
  if (error === undefined || !isMembers(message)) return
  const { id, source, content } = message
  const block: unknown = Array.isArray(content) ? content[0] : undefined
  if (!isMembers(block) || block['isError'] !== true) {
    const path = '$.message.content[0].isError'
    throw formatRefusal('tool-result', event, `has an error and should have true at ${path}`, { path })
  }
  if (!isMembers(error) || error['code'] !== 'TOOL_NOT_STARTED') return
  const callId = isMembers(source) ? source['callId'] : undefined
  const prefix = `interrupted-tool-result-${String(callId)}-`
  const digits = typeof id === 'string' && id.startsWith(prefix) ? id.slice(prefix.length) : ''
  if (!DECIMAL.test(digits) || !Number.isSafeInteger(Number(digits))) {
    const path = '$.message.id'
    throw formatRefusal('message-id', event, `should have the id of the repair that made it at ${path}`, { path })
  }
}

/** The event as a writer of version 3 has it: new names, no prompt in headers, no empty `tools` or `adapterDefaults`. */
function canonical(event: StoredEvent): StoredEvent {
  const { type, data } = event
  const name = RENAMED.get(type)
  if (name !== undefined) return { ...event, type: name }
  if (type === 'request/header') return withCanonicalHeader(event)
  if (type === 'agent-preset/selected' && isMembers(data) && data['agentPreset'] === 'code') {
    return { ...event, data: { ...data, agentPreset: 'ptc' } }
  }
  return withRenamedSources(event)
}

function withCanonicalHeader(event: StoredEvent): StoredEvent {
  const { data } = event
  const header = isMembers(data) ? data['header'] : undefined
  if (!isMembers(data) || !isMembers(header)) return event
  const { tools, adapterDefaults } = header
  const members = Object.entries(header).filter(([name]) => {
    if (name === 'tools') return !Array.isArray(tools) || tools.length > 0
    if (name === 'adapterDefaults') return !isMembers(adapterDefaults) || Object.keys(adapterDefaults).length > 0
    return name !== 'system'
  })
  if (members.length === Object.keys(header).length) return event
  return { ...event, data: { ...data, header: Object.fromEntries(members) } }
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
