/** What a storage promises, as plain maps that know nothing of transactions, segments or pages. For the tests of storages. */
import { type BlobId, LogId, SessionId, SessionSeq } from '../core/ids.ts'
import { header, positions, same, sizeOf } from './conformance-kit.ts'
import type { InheritedRange, RecordChange, SessionRecord, SessionStorage } from './storage.ts'

type ModelRecord = Omit<SessionRecord, 'mergedTo' | 'previous'>
type ModelGeneration = Pick<ModelRecord, 'header' | 'logId' | 'inherited' | 'nextSeq' | 'size'>

export type ModelSession = {
  record: ModelRecord
  /** Where each event says it belongs, inherited ones included. */
  events: readonly string[]
  previous: { readonly generation: ModelGeneration; readonly events: readonly string[] } | null
}

type ModelLog = { keyframes: Map<number, string>; journal: Map<number, string>; blobs: Set<BlobId> }

/** What an append of the model comes with besides its events. */
export type ModelExtras = {
  readonly keyframe?: { readonly seq: number; readonly text: string; readonly instead?: number }
  readonly journal?: { readonly part: number; readonly text: string } | 'settled'
  readonly blobs?: readonly BlobId[]
}

export class StorageModel {
  readonly sessions: Map<string, ModelSession> = new Map()
  readonly #logs = new Map<string, ModelLog>()
  readonly #blobs = new Map<BlobId, number>()
  #names = 0

  /** A log nobody has used. */
  newLog(): LogId {
    return LogId(`log${this.#names++}`)
  }

  /** The `pick`-th session, or null. */
  session(pick: number): ModelSession | null {
    const all = [...this.sessions.values()]
    return all[pick % Math.max(1, all.length)] ?? null
  }

  create(
    id: string,
    logId: LogId,
    inherited: readonly InheritedRange[],
    events: readonly string[],
    time: number,
  ): void {
    const nextSeq = SessionSeq(events.length)
    const facts = { logId, inherited, nextSeq, epoch: 1, updatedAt: time, size: 0 }
    const record = { header: header(id, inherited.length > 0), ...facts }
    this.sessions.set(id, { record, events, previous: null })
    this.#logs.set(logId, { keyframes: new Map(), journal: new Map(), blobs: new Set() })
  }

  append(session: ModelSession, count: number, time: number | null, extras: ModelExtras): void {
    const { record, events } = session
    const { logId, nextSeq, size = 0, updatedAt } = record
    session.events = [...events, ...labels(logId, nextSeq, count)]
    session.record = {
      ...record,
      nextSeq: SessionSeq(nextSeq + count),
      size: size + (count === 0 ? 0 : sizeOf(logId, nextSeq, count)),
      updatedAt: time === null || count === 0 ? updatedAt : time,
    }
    this.#extend(logId, extras)
  }

  /** A whole log in place of that of the session, in segments of those sizes. */
  replace(session: ModelSession, logId: LogId, sizes: readonly number[], extras: ModelExtras): void {
    const { record, events, previous } = session
    const { header: old, logId: oldLog, inherited, nextSeq, size = 0 } = record
    session.previous = previous ?? { generation: { header: old, logId: oldLog, inherited, nextSeq, size }, events }
    session.events = []
    session.record = {
      ...record,
      ...{ logId, inherited: [], nextSeq: SessionSeq(0), size: 0, header: header(record.header.id) },
    }
    this.#logs.set(logId, { keyframes: new Map(), journal: new Map(), blobs: new Set() })
    for (const count of sizes) this.append(session, count, null, {})
    this.#extend(logId, extras)
    this.#forgetUnused()
  }

  restore(session: ModelSession): void {
    if (session.previous === null) return
    const { generation, events } = session.previous
    session.record = { ...session.record, ...generation }
    session.events = events
    this.forgetPrevious(session)
  }

  forgetPrevious(session: ModelSession): void {
    session.previous = null
    this.#forgetUnused()
  }

  update(session: ModelSession, { title, pinned, deletedAt }: RecordChange): void {
    const { title: oldTitle, pinned: wasPinned, deletedAt: wasDeleted, epoch, ...rest } = session.record
    const next = {
      title: title === undefined ? oldTitle : title,
      pinned: pinned ?? wasPinned ?? false,
      deletedAt: deletedAt === undefined ? wasDeleted : deletedAt,
    }
    const isGone = typeof next.deletedAt === 'number'
    session.record = {
      ...rest,
      epoch: isGone && wasDeleted === undefined ? epoch + 1 : epoch,
      ...(typeof next.title === 'string' ? { title: next.title } : {}),
      ...(next.pinned ? { pinned: true } : {}),
      ...(typeof next.deletedAt === 'number' ? { deletedAt: next.deletedAt } : {}),
    }
  }

  delete(id: string): void {
    this.sessions.delete(id)
    this.#forgetUnused()
  }

  putBlob(id: BlobId, time: number): void {
    this.#blobs.set(id, time)
  }

  collect(before: number): void {
    const used = new Set([...this.#logs.values()].flatMap(({ blobs }) => [...blobs]))
    for (const [id, time] of this.#blobs) if (time < before && !used.has(id)) this.#blobs.delete(id)
  }

  /** @throws {ConformanceError} unless the storage shows what the model holds. */
  async compare(storage: SessionStorage, blobs: readonly BlobId[]): Promise<void> {
    const all = [...this.sessions.values()]
    const byKey = (a: ModelSession, b: ModelSession) => (isBefore(a.record, b.record) ? -1 : 1)
    for (const deleted of [false, true]) {
      const expected = all.filter(({ record }) => (record.deletedAt !== undefined) === deleted).sort(byKey)
      const listed = await storage.list({ deleted })
      same('records in order', listed.map(plain), expected.map(plainModel))
      same(
        'the first of them',
        (await storage.list({ deleted, limit: 1 })).map(plain),
        expected.slice(0, 1).map(plainModel),
      )
    }
    for (const session of all) {
      const id = SessionId(session.record.header.id)
      const record = await storage.get(id)
      same(`record of ${id}`, record && plain(record), plainModel(session))
      same(`merged to, of ${id}`, (record?.mergedTo ?? 0) <= session.events.length, true)
      same(`events of ${id}`, await positions(storage, id), session.events)
      for (const atMost of [session.events.length, Math.floor(session.events.length / 2)]) {
        const found = await storage.keyframe(id, SessionSeq(atMost))
        same(
          `keyframe of ${id} for ${atMost}`,
          found && [found.logId, found.seq, found.text],
          this.#keyframe(session, atMost),
        )
      }
      const journal = [...(this.#logs.get(session.record.logId)?.journal ?? [])].sort(([a], [b]) => a - b)
      same(
        `journal of ${id}`,
        (await storage.journal(id)).map(({ part, text }) => [part, text]),
        journal,
      )
    }
    const kept = await Promise.all(blobs.map(async id => (await storage.getBlob(id)) !== null))
    same(
      'blobs',
      kept,
      blobs.map(id => this.#blobs.has(id)),
    )
  }

  #extend(logId: LogId, { keyframe, journal, blobs = [] }: ModelExtras): void {
    const log = this.#logs.get(logId)
    if (log === undefined) throw new RangeError(`Log ${logId} is not in the model`)
    if (keyframe?.instead !== undefined) log.keyframes.delete(keyframe.instead)
    if (keyframe) log.keyframes.set(keyframe.seq, keyframe.text)
    if (journal === 'settled' || journal?.part === 0) log.journal.clear()
    if (journal !== undefined && journal !== 'settled') log.journal.set(journal.part, journal.text)
    for (const blob of blobs) log.blobs.add(blob)
  }

  /** The last keyframe of a log that has the event before it, or the one after it, in this session. */
  #keyframe(session: ModelSession, atMost: number): unknown {
    const ranges = rangesOf(session).reverse()
    for (let seq = atMost; seq > 0; seq--) {
      for (const { logId, from, to } of ranges) {
        const text = from <= seq && seq <= to ? this.#logs.get(logId)?.keyframes.get(seq) : undefined
        if (text !== undefined) return [logId, seq, text]
      }
    }
    return null
  }

  #forgetUnused(): void {
    const used = new Set<string>()
    for (const { record, previous } of this.sessions.values()) {
      for (const { logId, inherited } of previous ? [record, previous.generation] : [record]) {
        for (const log of [logId, ...inherited.map(range => range.logId)]) used.add(log)
      }
    }
    for (const logId of this.#logs.keys()) if (!used.has(logId)) this.#logs.delete(logId)
  }
}

export const labels = (log: string, from: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${log}:${from + index}`)

/** Where the events of a session are. */
function rangesOf({ record }: ModelSession): InheritedRange[] {
  const from = record.inherited.at(-1)?.to ?? SessionSeq(0)
  return [...record.inherited, { logId: record.logId, from, to: record.nextSeq }]
}

/** The ranges a fork of the first `count` events inherits. */
export function inheritedBy(session: ModelSession, count: number): readonly InheritedRange[] {
  return rangesOf(session)
    .map(range => ({ ...range, to: SessionSeq(Math.min(range.to, count)) }))
    .filter(({ from, to }) => from < to)
}

function isBefore(a: ModelRecord, b: ModelRecord): boolean {
  const rank = ({ pinned, deletedAt, updatedAt }: ModelRecord) =>
    deletedAt === undefined ? [pinned ? 1 : 0, updatedAt] : [0, deletedAt]
  const [[pinA = 0, timeA = 0], [pinB = 0, timeB = 0]] = [rank(a), rank(b)]
  if (pinA !== pinB) return pinA > pinB
  return timeA === timeB ? a.header.id > b.header.id : timeA > timeB
}

/** Without what depends on how segments were merged. */
function plain({ mergedTo: _mergedTo, previous, ...record }: SessionRecord): object {
  if (previous === undefined) return record
  const { mergedTo: _, ...rest } = previous
  return { ...record, previous: rest }
}

const plainModel = ({ record, previous }: ModelSession): object =>
  previous === null ? record : { ...record, previous: previous.generation }
