/** A model's answer in the log: chunks packed into records, and read back from them (SPEC L13). */
import { SessionError } from './errors.ts'
import type { StreamChunk, StreamRecord } from './events.ts'
import { isSafeNonNegativeInteger } from './ids.ts'
import { snapshotJson } from './json.ts'

/** A chunk and when it arrived, epoch ms. */
export type TimedChunk = { readonly time: number; readonly chunk: StreamChunk }

type OpenRun = {
  type: string
  time0: number
  index: number
  dt: number[]
  id?: string
  name?: string
  parts: string[]
  last: number
}

/**
 * Chunks as log records: deltas of one block in columns, every delta boundary kept, everything else as it came. Where
 * times are safe integers and chunks lossless JSON, `expandStream` gives back exactly the same.
 */
export function packStream(chunks: readonly TimedChunk[]): StreamRecord[] {
  const records: StreamRecord[] = []
  let run: OpenRun | null = null
  const close = () => {
    if (run !== null) records.push(recordOf(run))
    run = null
  }
  for (const timed of chunks) {
    const { time, chunk } = timed
    const delta = asDelta(chunk)
    if (delta === null) {
      close()
      records.push({ type: 'chunk', time, chunk })
    } else if (run !== null && joins(run, delta, time)) {
      const open: OpenRun = run
      open.dt.push(time - open.last)
      open.parts.push(delta.part)
      open.last = time
    } else {
      close()
      const { part, ...rest } = delta
      run = { ...rest, time0: time, dt: [], parts: [part], last: time }
    }
  }
  close()
  return records
}

type Delta = { type: string; index: number; part: string; id?: string; name?: string }

/** The delta a run can hold; null for all else, and for a delta of a model that does not keep to the type. */
function asDelta(chunk: StreamChunk): Delta | null {
  const size = Object.keys(chunk).length
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta': {
      const { type, index, text } = chunk
      if (size !== 3 || !isSafeNonNegativeInteger(index) || !isString(text)) return null
      return { type: type === 'text-delta' ? 'text-chunks' : 'reasoning-chunks', index, part: text }
    }
    case 'tool-call-delta': {
      const { index, id, name, argumentsDelta } = chunk
      const named = name === undefined ? {} : { name }
      if (size !== ('name' in named ? 5 : 4) || !isSafeNonNegativeInteger(index) || !isString(argumentsDelta))
        return null
      if (!isText(id) || !(name === undefined || isText(name))) return null
      return { type: 'tool-call-chunks', index, part: argumentsDelta, id, ...named }
    }
    default:
      return null
  }
}

function joins(run: OpenRun, delta: Delta, time: number): boolean {
  const gap = time - run.last
  return (
    run.type === delta.type &&
    run.index === delta.index &&
    run.id === delta.id &&
    run.name === delta.name &&
    Number.isSafeInteger(gap) &&
    run.last + gap === time
  )
}

function recordOf({ type, time0, index, dt, id, name, parts }: OpenRun): StreamRecord {
  if (type !== 'tool-call-chunks') {
    return { type: type as 'text-chunks' | 'reasoning-chunks', time0, index, dt, texts: parts }
  }
  return { type, time0, index, dt, id: id as string, ...(name === undefined ? {} : { name }), args: parts }
}

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Shape = Readonly<Record<string, unknown>>

const isString = (value: unknown): value is string => typeof value === 'string'
const isText = (value: unknown): value is string => isString(value) && value !== ''

/** The keys of each record; a `name` may be missing. */
const KEYS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text-chunks', ['type', 'time0', 'index', 'dt', 'texts']],
  ['reasoning-chunks', ['type', 'time0', 'index', 'dt', 'texts']],
  ['tool-call-chunks', ['type', 'time0', 'index', 'dt', 'id', 'name', 'args']],
  ['chunk', ['type', 'time', 'chunk']],
])

/**
 * The chunks that log records stand for, with their times. Nothing about `records` is trusted: admission of events
 * does not look into a stream. What is inside a chunk that was kept as it came is not checked.
 *
 * @throws {SessionError} `stream` with the `path` of what is wrong, such as `$[3].dt[0]`.
 */
export function expandStream(records: unknown): readonly TimedChunk[] {
  const copy = copied(records)
  if (!Array.isArray(copy)) fail('$', 'an array of records', copy)
  return copy.flatMap((record: unknown, position) => expandRecord(record, `$[${position}]`))
}

function copied(records: unknown): unknown {
  try {
    return snapshotJson(records)
  } catch (error) {
    // A getter may throw anything.
    const known = error instanceof SessionError ? error : null
    const { message, path = '$' } = known ?? { message: 'Expected stream records; reading them failed' }
    throw new SessionError('stream', message, { path }, { cause: error })
  }
}

function expandRecord(value: unknown, path: string): readonly TimedChunk[] {
  if (!isShape(value)) fail(path, 'a record', value)
  const record = value
  const { type, time, chunk, index, id, name, dt } = record
  const keys = KEYS.get(type)
  if (keys === undefined) {
    fail(`${path}.type`, 'the type of a record', type, isText(type) ? JSON.stringify(type.slice(0, 40)) : undefined)
  }
  for (const key of Object.keys(record)) if (!keys.includes(key)) fail(`${path}.${key}`, 'no such key', record[key])
  const isRaw = type === 'chunk'
  const timeKey = isRaw ? 'time' : 'time0'
  if (!Number.isSafeInteger(record[timeKey])) fail(`${path}.${timeKey}`, 'a safe integer', record[timeKey])
  if (isRaw) {
    if (!isShape(chunk)) fail(`${path}.chunk`, 'an object', chunk)
    return [{ time: time as number, chunk: chunk as StreamChunk }]
  }

  if (!isSafeNonNegativeInteger(index)) fail(`${path}.index`, 'a safe integer of at least 0', index)
  const isCall = type === 'tool-call-chunks'
  if (isCall && !isText(id)) fail(`${path}.id`, 'a non-empty string', id)
  if (name !== undefined && !isText(name)) fail(`${path}.name`, 'a non-empty string or nothing', name)
  const partsKey = isCall ? 'args' : 'texts'
  const parts = record[partsKey]
  if (!Array.isArray(parts) || parts.length === 0) fail(`${path}.${partsKey}`, 'a non-empty array', parts)
  if (!Array.isArray(dt)) fail(`${path}.dt`, 'an array', dt)
  if (dt.length !== parts.length - 1) fail(`${path}.dt`, `an array of ${parts.length - 1}`, dt)

  let at = record['time0'] as number
  return parts.map((part: unknown, member): TimedChunk => {
    if (!isString(part)) fail(`${path}.${partsKey}[${member}]`, 'a string', part)
    if (member > 0) {
      const gap: unknown = dt[member - 1]
      const gapPath = `${path}.dt[${member - 1}]`
      if (!Number.isInteger(gap)) fail(gapPath, 'an integer', gap)
      at += gap as number
      if (!Number.isSafeInteger(at)) fail(gapPath, 'a gap to a safe integer', gap)
    }
    return { time: at, chunk: deltaOf(record, index, part) }
  })
}

function deltaOf({ type, id, name }: Shape, index: number, part: string): StreamChunk {
  if (type === 'text-chunks') return { type: 'text-delta', index, text: part }
  if (type === 'reasoning-chunks') return { type: 'reasoning-delta', index, text: part }
  const named = name === undefined ? {} : { name: name as string }
  return { type: 'tool-call-delta', index, id: id as string, ...named, argumentsDelta: part }
}

const isShape = (value: unknown): value is Shape => typeof value === 'object' && value !== null && !Array.isArray(value)

function fail(path: string, expected: string, value: unknown, found: string = kindOf(value)): never {
  throw new SessionError('stream', `Expected ${expected} at ${path}; found ${found}`, { path })
}

/** What a JSON value is, without its content: streams hold what people said. */
function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'number' || value === null || value === '') return JSON.stringify(value)
  if (Array.isArray(value)) return `an array of ${value.length}`
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
