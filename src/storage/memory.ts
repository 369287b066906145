/** Session logs in this realm's memory: for tests, previews, and where the platform offers no storage. */
import { type BlobId, type LogId, SessionId, type SessionSeq } from '../core/ids.ts'
import { planMerge } from './pages.ts'
import { randomId } from './random-id.ts'
import { fitSegments, planKeyframe, planRead, seamsOf } from './segments.ts'
import {
  type AppendBatch,
  type JournalPart,
  type ListOptions,
  type NewKeyframe,
  type NewSession,
  type RecordChange,
  type Segment,
  type SeqRange,
  type SessionRecord,
  type SessionStorage,
  StorageError,
  type StoredKeyframe,
  type WholeLog,
} from './storage.ts'
import {
  changed,
  checkWholeLog,
  claimed,
  compareKeys,
  inheritedNotStored,
  listKey,
  logInUse,
  logsOf,
  notStored,
  planAppend,
  planLog,
  positionOf,
  segmentsIn,
  toMerge,
  withoutPrevious,
  withPreviousBack,
  withSegment,
} from './stored-session.ts'

/** A storage that keeps every promise but the last: it is gone with the page. */
export function memoryStorage(): SessionStorage {
  return new MemoryStorage()
}

/** What is kept under a log id. */
class MemoryLog {
  segments: Segment[] = []
  /** Text of each keyframe, by seq. */
  readonly keyframes = new Map<SessionSeq, string>()
  journal: JournalPart[] = []
  readonly blobs = new Set<BlobId>()

  write({ keyframe, journal, blobs = [] }: Pick<AppendBatch, 'keyframe' | 'journal'> & Pick<WholeLog, 'blobs'>): void {
    if (keyframe !== undefined) this.#put(keyframe)
    if (journal === 'settled' || journal?.part === 0) this.journal = []
    if (journal !== undefined && journal !== 'settled') {
      const { part, text } = journal
      this.journal = [...this.journal.filter(each => each.part !== part), { part, text }]
    }
    for (const blob of blobs) this.blobs.add(blob)
  }

  #put({ seq, text, instead }: NewKeyframe): void {
    if (instead !== undefined) this.keyframes.delete(instead)
    this.keyframes.set(seq, text)
  }
}

/** Each method is one synchronous step, which makes it atomic. Records are cloned on the way in and out. */
class MemoryStorage implements SessionStorage {
  readonly kind = 'memory'
  readonly name: string = randomId()
  readonly #records = new Map<SessionId, SessionRecord>()
  readonly #logs = new Map<LogId, MemoryLog>()
  readonly #blobs = new Map<BlobId, { readonly bytes: Uint8Array; readonly time: number }>()
  #closed = false

  async list({ limit = Infinity, after, deleted = false }: ListOptions = {}): Promise<readonly SessionRecord[]> {
    this.#checkOpen()
    const below = after && listKey(after)
    const found = [...this.#records.values()]
      .filter(record => (record.deletedAt !== undefined) === deleted)
      .map(record => ({ record, key: listKey(positionOf(record)) }))
      .filter(({ key }) => below === undefined || compareKeys(key, below) < 0)
      .sort((a, b) => compareKeys(b.key, a.key))
    return structuredClone(found.slice(0, limit).map(({ record }) => record))
  }

  async get(id: SessionId): Promise<SessionRecord | null> {
    this.#checkOpen()
    return structuredClone(this.#records.get(id) ?? null)
  }

  async claim(id: SessionId): Promise<SessionRecord | null> {
    this.#checkOpen()
    const stored = this.#records.get(id)
    if (!stored) return null
    const record = claimed(stored)
    this.#records.set(id, record)
    return structuredClone(record)
  }

  async append(batch: AppendBatch): Promise<void> {
    this.#checkOpen()
    const { id, create } = batch
    const record = planAppend(this.#records.get(id) ?? null, batch)
    if (create) this.#checkLogs(id, create)
    const kept = create ? cloneRecord(record) : record
    const log = this.#log(record.logId)
    for (const { firstSeq, count, text } of segmentsIn(batch)) log.segments.push({ firstSeq, count, text })
    log.write(batch)
    this.#records.set(id, kept)
  }

  async storeLog(log: WholeLog): Promise<SessionRecord> {
    this.#checkOpen()
    const id = SessionId(log.session.header.id)
    let drafted = planLog(this.#records.get(id) ?? null, log)
    const segments: Segment[] = []
    for (const { firstSeq, count, text } of log.segments) {
      drafted = withSegment(drafted, { firstSeq, count, text })
      segments.push({ firstSeq, count, text })
    }
    // Whoever made the segments may have changed something by then.
    const stored = this.#records.get(id) ?? null
    const { nextSeq, mergedTo, size = 0 } = drafted
    const record = { ...planLog(stored, log), nextSeq, mergedTo, size }
    this.#checkLogs(id, log.session)
    checkWholeLog(record, log)
    const kept = cloneRecord(record)
    const own = this.#log(record.logId)
    own.segments = segments
    own.write(log)
    this.#records.set(id, kept)
    if (stored !== null) this.#forgetUnused(stored)
    return structuredClone(kept)
  }

  async forgetPrevious(id: SessionId, epoch: number): Promise<void> {
    this.#rewrite(id, stored => withoutPrevious(id, stored, epoch))
  }

  async restorePrevious(id: SessionId, epoch: number): Promise<SessionRecord> {
    return this.#rewrite(id, stored => withPreviousBack(id, stored, epoch))
  }

  async read(id: SessionId, from?: SessionSeq, to?: SessionSeq): Promise<readonly Segment[]> {
    this.#checkOpen()
    return this.#read(id, from, to)
  }

  async seams(id: SessionId, from?: SessionSeq, to?: SessionSeq): Promise<readonly SessionSeq[]> {
    this.#checkOpen()
    const record = this.#records.get(id)
    if (!record) throw notStored(id)
    return planRead(record, from, to).flatMap(part => {
      const { segments } = this.#logs.get(part.logId) ?? new MemoryLog()
      return seamsOf(
        part,
        segments.map(({ firstSeq }) => firstSeq),
      )
    })
  }

  async readRanges(id: SessionId, ranges: readonly SeqRange[]): Promise<readonly (readonly Segment[])[]> {
    this.#checkOpen()
    if (!this.#records.has(id)) throw notStored(id)
    return ranges.map(({ from, to }) => this.#read(id, from, to))
  }

  async keyframe(id: SessionId, atMost?: SessionSeq): Promise<StoredKeyframe | null> {
    this.#checkOpen()
    const record = this.#records.get(id)
    if (!record) throw notStored(id)
    for (const { logId, from, to } of planKeyframe(record, atMost)) {
      const keyframes = this.#logs.get(logId)?.keyframes ?? new Map<SessionSeq, string>()
      const seqs = [...keyframes.keys()].filter(seq => seq > from && seq <= to)
      if (seqs.length === 0) continue
      const seq = seqs.reduce((last, each) => (each > last ? each : last))
      return { logId, seq, text: keyframes.get(seq) ?? '' }
    }
    return null
  }

  async journal(id: SessionId): Promise<readonly JournalPart[]> {
    this.#checkOpen()
    const record = this.#records.get(id)
    const parts = (record && this.#logs.get(record.logId)?.journal) ?? []
    return structuredClone([...parts].sort((a, b) => a.part - b.part))
  }

  async merge(id: SessionId, epoch: number): Promise<boolean> {
    this.#checkOpen()
    const record = toMerge(id, this.#records.get(id) ?? null, epoch)
    const log = this.#log(record.logId)
    const segments = log.segments.filter(({ firstSeq }) => firstSeq >= record.mergedTo)
    const { merges, mergedTo } = planMerge(segments, record.mergedTo, true)
    const pages = new Map(merges.flatMap(({ page, parts }) => parts.map((part, at) => [part, at === 0 ? [page] : []])))
    log.segments = log.segments.flatMap(segment => pages.get(segment) ?? [segment])
    this.#records.set(id, { ...record, mergedTo })
    return false
  }

  async update(id: SessionId, change: RecordChange): Promise<SessionRecord> {
    return this.#rewrite(id, stored => {
      if (!stored) throw notStored(id)
      return changed(stored, change)
    })
  }

  async delete(id: SessionId): Promise<void> {
    this.#checkOpen()
    const gone = this.#records.get(id)
    if (!gone) return
    this.#records.delete(id)
    this.#forgetUnused(gone)
  }

  async putBlob(id: BlobId, bytes: Uint8Array, time: number): Promise<void> {
    this.#checkOpen()
    this.#blobs.set(id, { bytes: this.#blobs.get(id)?.bytes ?? bytes.slice(), time })
  }

  async getBlob(id: BlobId): Promise<Uint8Array | null> {
    this.#checkOpen()
    return this.#blobs.get(id)?.bytes.slice() ?? null
  }

  async collect(before: number): Promise<void> {
    this.#checkOpen()
    const used = new Set([...this.#logs.values()].flatMap(({ blobs }) => [...blobs]))
    for (const [id, { time }] of this.#blobs) if (time < before && !used.has(id)) this.#blobs.delete(id)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#records.clear()
    this.#logs.clear()
    this.#blobs.clear()
  }

  #read(id: SessionId, from?: SessionSeq, to?: SessionSeq): readonly Segment[] {
    const record = this.#records.get(id)
    if (!record) throw notStored(id)
    return planRead(record, from, to).flatMap(part => {
      const { segments } = this.#logs.get(part.logId) ?? new MemoryLog()
      const found = segments.filter(({ firstSeq, count }) => firstSeq < part.to && firstSeq + count > part.from)
      return fitSegments(id, part, found)
    })
  }

  /** Puts another record in place of a stored one; logs nobody needs any more go with it. */
  #rewrite(id: SessionId, change: (stored: SessionRecord | null) => SessionRecord): SessionRecord {
    this.#checkOpen()
    const stored = this.#records.get(id) ?? null
    const record = change(stored)
    this.#records.set(id, record)
    if (stored !== null) this.#forgetUnused(stored)
    return structuredClone(record)
  }

  #log(logId: LogId): MemoryLog {
    const log = this.#logs.get(logId) ?? new MemoryLog()
    this.#logs.set(logId, log)
    return log
  }

  /** Frees the logs `before` needed and no record needs any more. */
  #forgetUnused(before: SessionRecord): void {
    const used = new Set([...this.#records.values()].flatMap(logsOf))
    for (const logId of logsOf(before)) if (!used.has(logId)) this.#logs.delete(logId)
  }

  #checkLogs(id: SessionId, create: NewSession): void {
    const isTaken = [...this.#records.values()].some(record => logsOf(record).includes(create.logId))
    if (isTaken) throw logInUse(id, create.logId)
    for (const range of create.inherited) {
      const last = this.#logs.get(range.logId)?.segments.at(-1)
      if (!last || last.firstSeq + last.count < range.to) throw inheritedNotStored(id, range)
    }
  }

  #checkOpen(): void {
    if (this.#closed) throw new StorageError('closed', 'The memory storage was closed')
  }
}

/** @throws {StorageError} `invalid-batch` when the header holds what cannot be kept. */
function cloneRecord(record: SessionRecord): SessionRecord {
  try {
    return structuredClone(record)
  } catch (error) {
    const facts = { sessionId: record.header.id }
    throw new StorageError('invalid-batch', `Session ${record.header.id}: the header cannot be cloned`, facts, {
      cause: error,
    })
  }
}
