/**
 * Format 0 to 1 (SPEC F5): older spellings are respelled, and what is then not in the inventory of format 0 is refused.
 * Every event keeps its seq, its order and its time.
 */
import { FormatError, formatRefusal } from './errors.ts'
import { type InventoryProblem, inventoryProblem, isInventoryType } from './inventory.ts'
import { isRecord, isText, type Shape } from './inventory-shapes.ts'
import type { Emit, Stage, StageContext, Migration } from './migration.ts'
import type { StoredEvent, StoredHeader } from './stored.ts'
import { V0Spellings } from './v0-spellings.ts'

/** Format 0 to 1. */
export const v0ToV1: Migration = {
  from: 0,
  to: 1,
  header: (older: StoredHeader): StoredHeader => ({ ...older, version: 1 }),
  open: (context: StageContext): Stage => new V0ToV1(context),
}

/** The only version of `subagent/descriptor` that format 1 has. */
const DESCRIPTOR_VERSION = 3

class V0ToV1 implements Stage {
  readonly #header: StoredHeader
  readonly #emit: Emit
  readonly #repair: StageContext['repair']
  readonly #spellings: V0Spellings

  constructor({ header, emit, repair }: StageContext) {
    this.#header = header
    this.#emit = emit
    this.#repair = repair
    this.#spellings = new V0Spellings(header.id)
  }

  push(event: StoredEvent): void {
    // Most events of such a log. Format 2 looks at them when it makes streams of them.
    this.#emit(event.type === 'assistant/chunk' ? event : this.#carried(event), event.seq)
  }

  end(inherited: number | null): number | null {
    return inherited
  }

  #carried(event: StoredEvent): StoredEvent {
    if (this.#repair !== null && event.type === 'context/message') return this.#contextMessage(event, this.#repair)
    const respelled = this.#respelled(event)
    if (respelled === null) return event
    const refusal = refusalOf(respelled)
    if (refusal !== null) {
      const mayStay = refusal.code === 'payload' || event.ignorable === true
      const error = formatRefusal(refusal.code, respelled, refusal.what, { path: refusal.path })
      if (!mayStay || !this.#kept(event, error)) throw error
    }
    this.#checkDelivery(respelled)
    return respelled
  }

  /** Null for an event that is malformed but kept. */
  #respelled(event: StoredEvent): StoredEvent | null {
    try {
      return this.#spellings.respell(event)
    } catch (error) {
      const mayStay = error instanceof FormatError && error.code === 'payload' && isInventoryType(event.type, 0)
      if (!mayStay || !this.#kept(event, error)) throw error
      return null
    }
  }

  /** Whether an event that cannot be carried over may pass as it is; it is listed then. */
  #kept({ seq }: StoredEvent, { message }: FormatError): boolean {
    this.#repair?.({ code: 'kept-verbatim', seq, message: `${message}; it was kept as it is` })
    return this.#repair !== null
  }

  #checkDelivery(event: StoredEvent): void {
    if (event.type !== 'session-log-deepseek/delivery-accepted' || !isRecord(event.data)) return
    const { sessionId, sessionFormatVersion } = event.data
    const { id, seedLength } = this.#header
    const isInherited = typeof seedLength === 'number' && event.seq < seedLength
    if (!isText(sessionId) || sessionFormatVersion !== undefined || sessionId === id || isInherited) return
    throw formatRefusal('delivery', event, 'names another session, and is not inherited from one', {
      path: '$.sessionId',
    })
  }

  /** The oldest logs had a type of their own for what software tells the model. */
  #contextMessage(event: StoredEvent, repair: NonNullable<StageContext['repair']>): StoredEvent {
    const { seq, data } = event
    const old: Shape = isRecord(data) ? data : {}
    const { id, role: _role, content, source, ...rest } = isRecord(old['message']) ? old['message'] : old
    const message = { id: isText(id) ? id : this.#spellings.newMessageId(event), role: 'user', content }
    const as = (from: unknown) =>
      this.#spellings.respell({ ...event, type: 'user/message', data: { ...message, source: from } })

    const own = isRecord(source) && source['kind'] === 'plugin' && isText(source['plugin']) ? source['plugin'] : null
    let carried = as(own === null ? { kind: 'plugin', plugin: 'context' } : source)
    if (own !== null && inventoryProblem(carried, 0) !== null) carried = as({ kind: 'plugin', plugin: own })
    const problem = inventoryProblem(carried, 0)
    if (problem !== null) throw formatRefusal('payload', event, problem.what, { path: problem.path })
    const loss = Object.keys(rest).length === 0 ? '' : '; what else it held was left out'
    repair({
      code: 'context-message',
      seq,
      message: `context/message at seq ${seq} became a message of a plugin${loss}`,
    })
    return carried
  }
}

function refusalOf(event: StoredEvent): InventoryProblem | null {
  const { type, data } = event
  if (type === 'subagent/descriptor' && isRecord(data)) {
    const { version } = data
    if (typeof version === 'number' && version !== DESCRIPTOR_VERSION) {
      const what = `has descriptor version ${version}; only version ${DESCRIPTOR_VERSION} can be carried over`
      return { code: 'payload', what, path: '$.version' }
    }
  }
  return inventoryProblem(event, 0)
}
