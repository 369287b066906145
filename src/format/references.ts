/**
 * Every place in an event that names other events by seq, and nothing else: numbers that only look like one (tool
 * arguments, texts, `throughSeq` of a delivery, `seq` of a workflow) are never touched (SPEC F6).
 */
import { isSafeNonNegativeInteger } from '../core/ids.ts'
import { formatRefusal } from './errors.ts'
import type { StoredEvent } from './stored.ts'

/** Seq in the newer log of an event of the older one; null when that event became part of another. */
export type MapSeq = (seq: number) => number | null

/** How the newer log spells the ends of a replaced range: version 3 says `startSeq` and `endSeq`. */
export type RangeSpelling = 'start' | 'startSeq'

type Members = Readonly<Record<string, unknown>>
type Moved<Value> = (value: Value, path: string) => Value

/**
 * The event as it stands at `seq` of the newer log: its references moved by `map`, the operation of versions 0–2 checked
 * and spelled the newer way. The same object when nothing changes. A member that is not there is no reference; whether
 * it may be missing is a matter of its payload.
 *
 * @throws {FormatError} `reference` for what names no earlier event that was carried over, `surface-op` for an operation
 * that versions 0–2 do not have.
 */
export function withReferences(event: StoredEvent, seq: number, map: MapSeq, spelling: RangeSpelling): StoredEvent {
  const { data, sourceEventSeqs, surfaceOp } = event
  const one = (value: unknown, path: string): unknown => {
    if (!isSafeNonNegativeInteger(value) || value >= event.seq) {
      const found = typeof value === 'number' ? String(value) : `a ${typeof value}`
      throw formatRefusal('reference', event, `should name an earlier event at ${path}; found ${found}`, { path })
    }
    const target = map(value)
    if (target !== null) return target
    const what = `names the event at seq ${value} at ${path}, which became part of another event`
    throw formatRefusal('reference', event, what, { path })
  }
  const list = (value: unknown, path: string): unknown => (Array.isArray(value) ? movedList(value, path, one) : value)

  if (sourceEventSeqs !== undefined && !Array.isArray(sourceEventSeqs)) {
    throw formatRefusal('reference', event, 'should have a list at sourceEventSeqs', { path: 'sourceEventSeqs' })
  }
  const sources = list(sourceEventSeqs, 'sourceEventSeqs')
  const operation = surfaceOp === undefined ? undefined : movedOperation(event, spelling, one)
  const payload = isMembers(data) ? movedPayload(event.type, data, one, list) : data
  if (seq === event.seq && sources === sourceEventSeqs && operation === surfaceOp && payload === data) return event
  return {
    ...event,
    seq,
    data: payload,
    ...(sources === undefined ? {} : { sourceEventSeqs: sources }),
    ...(operation === undefined ? {} : { surfaceOp: operation }),
  }
}

/**
 * An event nobody knows, as it stands at `seq` of the newer log: as it is, but for the list of its sources, which every
 * reader takes for seqs. It is moved, without those that became part of other events.
 */
export function opaqueAt(event: StoredEvent, seq: number, map: MapSeq): StoredEvent {
  const { sourceEventSeqs: sources } = event
  if (!Array.isArray(sources)) return event.seq === seq ? event : { ...event, seq }
  const moved = (sources as readonly number[]).map(map).filter(target => target !== null)
  if (event.seq === seq && moved.length === sources.length && moved.every((target, at) => target === sources[at])) {
    return event
  }
  const { sourceEventSeqs: _sources, ...rest } = event
  return { ...rest, seq, ...(moved.length === 0 ? {} : { sourceEventSeqs: moved }) }
}

function movedPayload(type: string, data: Members, one: Moved<unknown>, list: Moved<unknown>): Members {
  switch (type) {
    case 'command/done':
      return withMember(data, 'sourceEventSeq', one)
    case 'compaction/summary':
    case 'compaction/prune': {
      const range: Moved<unknown> = (value, path) =>
        isMembers(value) ? withMember(withMember(value, 'start', one, path), 'end', one, path) : value
      return withMember(withMember(data, 'shadowedRange', range), 'shadowedSeqs', list)
    }
    case 'session/title':
    case 'session/title-llm-request':
      return withMember(data, 'messageSeqs', list)
    default:
      return data
  }
}

function withMember(data: Members, name: string, move: Moved<unknown>, at = '$'): Members {
  if (!Object.hasOwn(data, name)) return data
  const value = data[name]
  const moved = move(value, `${at}.${name}`)
  return moved === value ? data : { ...data, [name]: moved }
}

function movedList(list: readonly unknown[], path: string, one: Moved<unknown>): readonly unknown[] {
  let copy: unknown[] | null = null
  for (let position = 0; position < list.length; position += 1) {
    const value = list[position]
    const moved = one(value, `${path}[${position}]`)
    if (copy === null && moved === value) continue
    copy ??= list.slice()
    copy[position] = moved
  }
  return copy ?? list
}

function movedOperation(event: StoredEvent, spelling: RangeSpelling, one: Moved<unknown>): unknown {
  const operation = event.surfaceOp
  if (operation === 'append') return operation
  const keys = isMembers(operation) ? Object.keys(operation) : []
  const isExact = keys.length === 3 && ['op', 'start', 'end'].every(key => keys.includes(key))
  if (!isMembers(operation) || !isExact || operation['op'] !== 'replace') {
    const what = "should have 'append', or exactly {op: 'replace', start, end}, at surfaceOp"
    const found = isMembers(operation) ? `an object with the keys ${keys.slice(0, 8).join(', ')}` : typeof operation
    throw formatRefusal('surface-op', event, `${what}; found ${found}`, { path: 'surfaceOp' })
  }
  const start = one(operation['start'], 'surfaceOp.start')
  const end = one(operation['end'], 'surfaceOp.end')
  if (spelling === 'startSeq') return { op: 'replace', startSeq: start, endSeq: end }
  return start === operation['start'] && end === operation['end'] ? operation : { op: 'replace', start, end }
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
