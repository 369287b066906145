/**
 * Format 0 was never frozen: builds of its time wrote the same fact in different ways. Here each older spelling becomes
 * the one format 1 has (SPEC F5). What an event should hold besides is not looked at; that is the inventory's business.
 */
import { isSafeNonNegativeInteger } from '../core/ids.ts'
import type { FormatErrorCode } from './errors.ts'
import { formatRefusal } from './errors.ts'
import {
  count,
  exact,
  isRecord,
  isText,
  opaque,
  type Problem,
  record,
  type Shape,
  string,
  variants,
} from './inventory-shapes.ts'
import type { StoredEvent } from './stored.ts'

const renamed: ReadonlyMap<string, string> = new Map([
  ['compact/start', 'compaction/start'],
  ['compact/summary', 'compaction/summary'],
  ['compact/end', 'compaction/end'],
  ['compact/prune', 'compaction/prune'],
])

/** Types that existed once and have no successor. */
const withdrawn: ReadonlySet<string> = new Set(['request/header-delta', 'mode/set'])

// Payloads as they were once.
const trigger = variants('kind', {}, 'open')
const wrappedSteering = exact({ turn: count, message: opaque })
const plainSteering = exact({ turn: count, content: opaque, source: opaque })
const bareEnding = exact({ kind: opaque })
const failedEnding = exact({ kind: opaque, step: count, failure: record })
const messageEnding = exact({ kind: opaque, step: count, message: string, 'code?': string })

/** Respells the events of one log, in order: ids it makes up depend on what came before. */
export class V0Spellings {
  readonly #sessionId: string
  /** Ids of messages by the seq of their event. */
  readonly #messageIds = new Map<number, string>()
  /** The last id of each chain of retries. */
  readonly #retryIds = new Map<string, string>()
  /** The id of the compaction that is going on. */
  #compactionId: string | null = null

  constructor(sessionId: string) {
    this.#sessionId = sessionId
  }

  /**
   * The event as format 1 spells it; the same one when it already does.
   *
   * @throws {FormatError} `withdrawn-type`; `payload` when what stands for an older spelling is malformed; `message-id`.
   */
  respell(event: StoredEvent): StoredEvent {
    if (withdrawn.has(event.type))
      throw formatRefusal('withdrawn-type', event, 'was withdrawn; it cannot be carried over')
    const isSteering = event.type === 'steering/message'
    const type = isSteering ? 'user/message' : (renamed.get(event.type) ?? event.type)
    const before = isSteering ? steering(event) : event.data
    const data = isRecord(before) ? this.#payload(event, type, before) : before
    return type === event.type && data === event.data ? event : { ...event, type, data }
  }

  #payload(event: StoredEvent, type: string, data: Shape): Shape {
    switch (type) {
      case 'turn/start':
        return withoutTrigger(event, data)
      case 'turn/end':
        return withEnding(event, data)
      case 'request/header':
        return withoutPrefix(event, data)
      case 'llm/retry':
        return this.#inChain(event, data)
      case 'compaction/start':
      case 'compaction/summary':
      case 'compaction/end':
        return this.#inCompaction(event, type, data)
      case 'session/end-seed':
        this.#compactionId = null
        return data
      case 'user/message':
        return this.#asCheckpoint(this.#remember(event, this.#identified(event, data)))
      case 'assistant/message':
        return this.#remember(event, this.#answer(event, data))
      case 'tool/result':
        return this.#remember(event, this.#result(event, data))
      default:
        return data
    }
  }

  /** A message that has no id because there were none when it was written. */
  newMessageId({ seq }: StoredEvent): string {
    return `legacy-message:${this.#sessionId}:${seq}`
  }

  #remember({ seq }: StoredEvent, data: Shape): Shape {
    const { id, message } = data
    const known = isRecord(message) ? message['id'] : id
    if (isText(known)) this.#messageIds.set(seq, known)
    return data
  }

  #identified(event: StoredEvent, data: Shape): Shape {
    const { id, role, content, source } = data
    const hasIdentity = id !== undefined || role !== undefined || content === undefined || source === undefined
    return hasIdentity ? data : { ...data, id: this.newMessageId(event), role: 'user' }
  }

  /** An answer used to be no message of its own, and its source was its provenance. */
  #answer(event: StoredEvent, data: Shape): Shape {
    const { content, provenance, ...rest } = data
    if (data['message'] !== undefined || content === undefined || provenance === undefined) return data
    if (!isRecord(provenance)) refuse('payload', event, 'should have an object at $.provenance', '$.provenance')
    const source = { ...provenance, kind: 'model' }
    return { ...rest, message: { id: this.newMessageId(event), role: 'assistant', content, source } }
  }

  #result(event: StoredEvent, data: Shape): Shape {
    const { callId, content, isError, ...rest } = data
    const isOld = callId !== undefined && content !== undefined && isError !== undefined
    if (!isOld || data['message'] !== undefined) return data
    const block = { type: 'tool-result', toolCallId: callId, content, isError }
    const id = this.#inheritedId(event) ?? this.newMessageId(event)
    return { ...rest, message: { id, role: 'user', content: [block], source: { kind: 'tool', callId } } }
  }

  /** A result that takes another's place is the same message. */
  #inheritedId(event: StoredEvent): string | null {
    const { surfaceOp } = event
    if (!isRecord(surfaceOp) || surfaceOp['op'] !== 'replace') return null
    const { start } = surfaceOp
    const id = this.#messageIds.get(start as number)
    if (id === undefined) {
      const where = isSafeNonNegativeInteger(start) ? `seq ${start}` : 'the start of its range'
      refuse('message-id', event, `replaces a message, but there is none with an id at ${where}`)
    }
    return id
  }

  #inChain({ seq }: StoredEvent, data: Shape): Shape {
    const { retryId } = data
    const chain = JSON.stringify(['turn', 'step', 'provider', 'policyKey'].map(key => scalar(data[key])))
    const id = retryId === undefined ? (this.#retryIds.get(chain) ?? `legacy-retry:${this.#sessionId}:${seq}`) : retryId
    if (isText(id)) this.#retryIds.set(chain, id)
    return retryId === undefined ? { ...data, retryId: id } : data
  }

  #inCompaction({ seq }: StoredEvent, type: string, data: Shape): Shape {
    const own = data['compactionId']
    if (type === 'compaction/start') {
      const id = own === undefined ? `legacy-compaction:${this.#sessionId}:${seq}` : own
      this.#compactionId = isText(id) ? id : null
    }
    const compactionId = this.#compactionId
    if (type === 'compaction/end') this.#compactionId = null
    return own === undefined && compactionId !== null ? { ...data, compactionId } : data
  }

  /** The message that stands for what a compaction took away belongs to it. */
  #asCheckpoint(data: Shape): Shape {
    const { source } = data
    const compactionId = this.#compactionId
    if (!isRecord(source) || source['kind'] !== 'plugin' || source['plugin'] !== 'compact') return data
    if (source['compactionId'] !== undefined || compactionId === null) return data
    return { ...data, source: { ...source, compactionId } }
  }
}

// ── What depends on nothing but the event ───────────────────────────────────────────────────────────────────────────

/** A value as part of a key. What is no scalar is refused later. */
const scalar = (value: unknown): unknown => (typeof value === 'object' ? null : value)

function refuse(code: FormatErrorCode, event: StoredEvent, what: string, path?: string): never {
  throw formatRefusal(code, event, what, { path })
}

function expectNone(event: StoredEvent, at: string, problem: Problem): void {
  if (problem === null) return
  const path = `$${at}${problem[0]}`
  refuse('payload', event, `should have ${problem[1]} at ${path}`, path)
}

/** The user's message a steering message is. */
function steering(event: StoredEvent): unknown {
  const { data } = event
  const isWrapped = isRecord(data) && data['message'] !== undefined
  expectNone(event, '', (isWrapped ? wrappedSteering : plainSteering)(data))
  const { turn: _turn, message, ...own } = data as Shape
  return isWrapped ? message : own
}

function withoutTrigger(event: StoredEvent, data: Shape): Shape {
  const { trigger: cause, ...rest } = data
  if (cause === undefined) return data
  expectNone(event, '.trigger', trigger(cause))
  return rest
}

function withoutPrefix(event: StoredEvent, data: Shape): Shape {
  const { header, reason } = data
  if (reason === 'fallback')
    refuse('withdrawn-type', event, "has the reason 'fallback', which was withdrawn", '$.reason')
  if (!isRecord(header)) return data
  const { messagePrefix, ...rest } = header
  if (messagePrefix === undefined) return data
  if (!Array.isArray(messagePrefix)) {
    refuse('payload', event, 'should have an array at $.header.messagePrefix', '$.header.messagePrefix')
  }
  return { ...data, header: rest }
}

function withEnding(event: StoredEvent, data: Shape): Shape {
  const { reason } = data
  if (!isRecord(reason)) return data
  switch (reason['kind']) {
    case 'aborted':
      return reason['reason'] === undefined ? { ...data, reason: { ...reason, reason: { kind: 'legacy' } } } : data
    case 'disposed':
      expectNone(event, '.reason', bareEnding(reason))
      return { ...data, reason: { kind: 'aborted', reason: { kind: 'disposed' } } }
    case 'error':
      return reason['error'] === undefined
        ? { ...data, reason: { kind: 'error', error: oldFailure(event, reason) } }
        : data
    default:
      return data
  }
}

function oldFailure(event: StoredEvent, reason: Shape): unknown {
  const { failure, message, code = 'UNKNOWN' } = reason
  const isFailure = failure !== undefined
  expectNone(event, '.reason', (isFailure ? failedEnding : messageEnding)(reason))
  return isFailure ? failure : { message, code }
}
