/** Session logs in this realm's memory: for tests, previews, and where the platform offers no storage. */
import { type LogId, SessionId, type SessionSeq } from '../core/ids.ts'
import { randomId } from './random-id.ts'
import { fitSegments, planRead } from './segments.ts'
import {
  type AppendBatch,
  type NewSession,
  type Segment,
  type SessionRecord,
  type SessionStorage,
  StorageError,
  type WholeLog,
} from './storage.ts'
import {
  byLastChange,
  inheritedNotStored,
  logInUse,
  notStored,
  planAppend,
  planLog,
  retitle,
  unusedLogs,
  withoutPrevious,
  withPreviousBack,
  withSegment,
} from './stored-session.ts'

/** A storage that keeps every promise but the last: it is gone with the page. */
export function memoryStorage(): SessionStorage {
  return new MemoryStorage()
}

/** Each method is one synchronous step, which makes it atomic. Records are cloned on the way in and out. */
class MemoryStorage implements SessionStorage {
  readonly kind = 'memory'
  readonly name: string = randomId()
  readonly #records = new Map<SessionId, SessionRecord>()
  readonly #logs = new Map<LogId, Segment[]>()
  #closed = false

  async list(): Promise<readonly SessionRecord[]> {
    this.#checkOpen()
    return structuredClone([...this.#records.values()].sort(byLastChange))
  }

  async get(id: SessionId): Promise<SessionRecord | null> {
    this.#checkOpen()
    return structuredClone(this.#records.get(id) ?? null)
  }

  async claim(id: SessionId): Promise<SessionRecord | null> {
    this.#checkOpen()
    const stored = this.#records.get(id)
    if (!stored) return null
    const claimed = { ...stored, epoch: stored.epoch + 1 }
    this.#records.set(id, claimed)
    return structuredClone(claimed)
  }

  async append(batch: AppendBatch): Promise<void> {
    this.#checkOpen()
    const { id, segment, create } = batch
    const record = planAppend(this.#records.get(id) ?? null, batch)
    if (create) this.#checkLogs(id, create)
    const kept = create ? cloneRecord(record) : record

    if (segment.count > 0) {
      const { firstSeq, count, text } = segment
      const log = this.#logs.get(record.logId)
      if (log) log.push({ firstSeq, count, text })
      else this.#logs.set(record.logId, [{ firstSeq, count, text }])
    }
    this.#records.set(id, kept)
  }

  async storeLog(log: WholeLog): Promise<SessionRecord> {
    this.#checkOpen()
    const id = SessionId(log.session.header.id)
    const stored = this.#records.get(id) ?? null
    let record = planLog(stored, log)
    this.#checkLogs(id, log.session)
    const segments: Segment[] = []
    for (const { firstSeq, count, text } of log.segments) {
      record = withSegment(record, { firstSeq, count, text })
      segments.push({ firstSeq, count, text })
    }
    const kept = cloneRecord(record)
    if (segments.length > 0) this.#logs.set(record.logId, segments)
    this.#records.set(id, kept)
    if (stored !== null) this.#forgetUnused(stored)
    return structuredClone(kept)
  }

  async forgetPrevious(id: SessionId, epoch: number): Promise<void> {
    this.#checkOpen()
    const stored = this.#records.get(id) ?? null
    const record = withoutPrevious(id, stored, epoch)
    this.#records.set(id, record)
    if (stored !== null) this.#forgetUnused(stored)
  }

  async restorePrevious(id: SessionId, epoch: number): Promise<SessionRecord> {
    this.#checkOpen()
    const stored = this.#records.get(id) ?? null
    const record = withPreviousBack(id, stored, epoch)
    this.#records.set(id, record)
    if (stored !== null) this.#forgetUnused(stored)
    return structuredClone(record)
  }

  async read(id: SessionId, from?: SessionSeq, to?: SessionSeq): Promise<readonly Segment[]> {
    this.#checkOpen()
    const record = this.#records.get(id)
    if (!record) throw notStored(id)
    return planRead(record, from, to).flatMap(part => {
      const log = this.#logs.get(part.logId) ?? []
      const found = log.filter(({ firstSeq, count }) => firstSeq < part.to && firstSeq + count > part.from)
      return fitSegments(id, part, found)
    })
  }

  async rename(id: SessionId, title: string | null): Promise<void> {
    this.#checkOpen()
    const stored = this.#records.get(id)
    if (!stored) throw notStored(id)
    this.#records.set(id, retitle(stored, title))
  }

  async delete(id: SessionId): Promise<void> {
    this.#checkOpen()
    const gone = this.#records.get(id)
    if (!gone) return
    this.#records.delete(id)
    this.#forgetUnused(gone)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#records.clear()
    this.#logs.clear()
  }

  /** Frees the logs `before` needed and no record needs any more. */
  #forgetUnused(before: SessionRecord): void {
    for (const logId of unusedLogs(before, [...this.#records.values()])) this.#logs.delete(logId)
  }

  #checkLogs(id: SessionId, create: NewSession): void {
    if (this.#logs.has(create.logId)) throw logInUse(id, create.logId)
    for (const range of create.inherited) {
      const last = this.#logs.get(range.logId)?.at(-1)
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
