/** Builders and assertions of the storage suite; they need no test runner. */
import type { SessionHeader } from '../core/events.ts'
import { LogId, SessionId, SessionSeq } from '../core/ids.ts'
import {
  type AppendBatch,
  type Durability,
  type InheritedRange,
  type NewSession,
  type Segment,
  type SessionStorage,
  StorageError,
  type StorageErrorCode,
  type WholeLog,
} from './storage.ts'

/** A storage broke a promise of its interface. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError'
}

/** One promise of the interface. `run` opens storages with the factory, each empty, and throws when it is broken. */
export type StorageCase = {
  readonly group: string
  /** Starts with the id of its rule. */
  readonly name: string
  readonly run: (open: () => SessionStorage | Promise<SessionStorage>) => Promise<void>
}

/** A case whose storage is opened before `body` and closed after it, whatever happens. */
export function storageCase(
  group: string,
  name: string,
  body: (storage: SessionStorage) => Promise<void>,
): StorageCase {
  return {
    group,
    name,
    run: async open => {
      const storage = await open()
      try {
        await body(storage)
      } finally {
        await storage.close()
      }
    },
  }
}

/** @throws {ConformanceError} unless both are the same as JSON; the order of keys does not matter. */
export function same(what: string, actual: unknown, expected: unknown): void {
  const [came, wanted] = [canonical(actual), canonical(expected)]
  if (came === wanted) return
  throw new ConformanceError(`${what}: expected ${brief(wanted)}, got ${brief(came)}`)
}

/** @throws {ConformanceError} unless the promise rejects with a `StorageError` of that code. */
export async function refuses(what: string, code: StorageErrorCode, promise: Promise<unknown>): Promise<StorageError> {
  let result: unknown
  try {
    result = await promise
  } catch (error) {
    if (error instanceof StorageError && error.code === code) return error
    throw new ConformanceError(`${what}: expected StorageError ${code}, got ${String(error)}`, { cause: error })
  }
  throw new ConformanceError(`${what}: expected StorageError ${code}, but it resolved with ${brief(canonical(result))}`)
}

/** What a batch of the suite is made of; everything has a default. */
export type BatchParts = {
  readonly epoch?: number
  readonly logId?: LogId
  readonly text?: string
  readonly durability?: Durability
  readonly time?: number | null
  readonly create?: NewSession
} & Pick<AppendBatch, 'keyframe' | 'journal' | 'blobs'>

/** Header of a test session. */
export function header(id: string, isSeeded = false): SessionHeader {
  return { version: 3, id, createdAt: 1_000, isSeeded }
}

/** Text of events as the suite stores them: `[{"at":"log:seq"}, …]`, so that every event says where it belongs. */
export function events(log: string, firstSeq: number, count: number): string {
  return JSON.stringify(Array.from({ length: count }, (_, index) => ({ at: `${log}:${firstSeq + index}` })))
}

/** Length of the text of those events. */
export const sizeOf = (log: string, firstSeq: number, count: number): number => events(log, firstSeq, count).length

/** A range to inherit. */
export function range(log: string, from: number, to: number): InheritedRange {
  return { logId: LogId(log), from: SessionSeq(from), to: SessionSeq(to) }
}

/** A new session `id`, writing to log `id`. */
export function newSession(id: string, inherited: readonly InheritedRange[] = [], title?: string): NewSession {
  const facts = { header: header(id, inherited.length > 0), logId: LogId(id), inherited }
  return title === undefined ? facts : { ...facts, title }
}

/** A batch of `count` events of session `id`; relaxed, epoch 1. */
export function batch(id: string, firstSeq: number, count: number, parts: BatchParts = {}): AppendBatch {
  const { text = events(id, firstSeq, count), ...rest } = parts
  const segment = { firstSeq: SessionSeq(firstSeq), count, text }
  const logId = parts.create?.logId ?? LogId(id)
  return { id: SessionId(id), logId, epoch: 1, segment, durability: 'relaxed', time: 2_000, ...rest }
}

/** Creates a session with events in segments of the given sizes. */
export async function store(storage: SessionStorage, create: NewSession, sizes: readonly number[]): Promise<void> {
  const { id } = create.header
  let seq: number = create.inherited.at(-1)?.to ?? 0
  for (const [index, count] of (sizes.length === 0 ? [0] : sizes).entries()) {
    await storage.append(batch(id, seq, count, index === 0 ? { create } : {}))
    seq += count
  }
}

/** Segments of the given sizes, whose events say they are of `log`. */
export function* segmentsOf(log: string, sizes: readonly number[], from = 0): Generator<Segment> {
  let firstSeq = from
  for (const count of sizes) {
    yield { firstSeq: SessionSeq(firstSeq), count, text: events(log, firstSeq, count) }
    firstSeq += count
  }
}

/** A whole log of a session, its events in segments of the given sizes. */
export function whole(session: NewSession, sizes: readonly number[], parts: Partial<WholeLog> = {}): WholeLog {
  const segments = segmentsOf(session.logId, sizes, session.inherited.at(-1)?.to ?? 0)
  return { session, segments, time: 3_000, ...parts }
}

/** Whether a log is free: only then may a new session write to it. */
export async function isFree(storage: SessionStorage, log: string): Promise<boolean> {
  const id = `probe of ${log}`
  try {
    await storage.append(batch(id, 0, 1, { create: { ...newSession(id), logId: LogId(log) } }))
  } catch (error) {
    if (error instanceof StorageError && error.code === 'exists') return false
    throw error
  }
  await storage.delete(SessionId(id))
  return true
}

/** Where each event between `from` and `to` says it belongs, cut as callers cut: at the ends of the range only. */
export async function positions(
  storage: SessionStorage,
  id: string,
  from?: number,
  to?: number,
): Promise<readonly string[]> {
  const segments = await readAll(storage, id, from, to)
  const found: { readonly seq: number; readonly at: string }[] = []
  for (const { firstSeq, count, text } of segments) {
    const inside = JSON.parse(text) as readonly { readonly at: string }[]
    same(`events in the segment at ${firstSeq}`, inside.length, count)
    for (const [index, { at }] of inside.entries()) found.push({ seq: firstSeq + index, at })
  }
  return found.filter(({ seq }) => seq >= (from ?? 0) && seq < (to ?? Infinity)).map(({ at }) => at)
}

/** `read` with plain numbers. */
export function readAll(storage: SessionStorage, id: string, from?: number, to?: number): Promise<readonly Segment[]> {
  return storage.read(
    SessionId(id),
    from === undefined ? undefined : SessionSeq(from),
    to === undefined ? undefined : SessionSeq(to),
  )
}

/** `log:from` … `log:to-1`. */
export function seqs(log: string, from: number, to: number): readonly string[] {
  return Array.from({ length: to - from }, (_, index) => `${log}:${from + index}`)
}

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'undefined'
  )
}

function brief(text: string): string {
  return text.length > 400 ? `${text.slice(0, 400)}… (${text.length} characters)` : text
}
