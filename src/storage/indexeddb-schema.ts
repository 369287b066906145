/** What is kept in the database, and how an older one becomes the current one: one step for each version, in order. */
import type { DBSchema, IDBPDatabase, IDBPTransaction, StoreNames } from 'idb'
import { type BlobId, type LogId, SessionId, type SessionSeq } from '../core/ids.ts'
import type { InheritedRange, JournalPart, Segment, SessionRecord } from './storage.ts'
import { endOfInherited, type ListKey, listKey, logsOf, positionOf } from './stored-session.ts'

/** Version of the database this build reads and writes. */
export const DB_VERSION = 2

/** A record with what it is found by. */
export type StoredRecord = SessionRecord & {
  readonly order: ListKey
  /** Every log the session needs. */
  readonly logs: readonly LogId[]
}
type StoredSegment = Segment & { readonly logId: LogId }

export interface PalimpsestDb extends DBSchema {
  sessions: { key: SessionId; value: StoredRecord; indexes: { order: ListKey; logs: LogId } }
  segments: { key: [LogId, number]; value: StoredSegment }
  keyframes: {
    key: [LogId, number]
    value: { readonly logId: LogId; readonly seq: SessionSeq; readonly text: string }
  }
  journals: { key: [LogId, number]; value: JournalPart & { readonly logId: LogId } }
  blobs: { key: BlobId; value: Uint8Array }
  /** Beside the bytes, so that these are not touched when only their time is. */
  blobTimes: { key: BlobId; value: { readonly id: BlobId; readonly time: number }; indexes: { time: number } }
  /** Which logs refer to which blobs. */
  blobReferences: {
    key: [LogId, BlobId]
    value: { readonly logId: LogId; readonly blobId: BlobId }
    indexes: { blobId: BlobId }
  }
  /** Logs that are being stored and are no session's yet. */
  drafts: { key: LogId; value: { readonly logId: LogId; readonly time: number } }
}

export type StoreName = StoreNames<PalimpsestDb>
export type Db = IDBPDatabase<PalimpsestDb>
export type Tx<Mode extends IDBTransactionMode> = IDBPTransaction<PalimpsestDb, StoreName[], Mode>

/** The record as it is stored. */
export const toStored = (record: SessionRecord): StoredRecord => ({
  ...record,
  order: listKey(positionOf(record)),
  logs: logsOf(record),
})

/** The record of a stored one. */
export function fromStored({ order: _order, logs: _logs, ...record }: StoredRecord): SessionRecord {
  return record
}

type Step = (db: Db, tx: Tx<'versionchange'>) => void | Promise<void>

/** The step at position _n_ leads from version _n_ to the next. A step that was released never changes. */
const STEPS: readonly Step[] = [
  db => {
    const sessions = db.createObjectStore('sessions', { keyPath: 'header.id' })
    sessions.createIndex('updatedAt' as 'order', 'updatedAt')
    db.createObjectStore('segments', { keyPath: ['logId', 'firstSeq'] })
  },
  async (db, tx) => {
    db.createObjectStore('keyframes', { keyPath: ['logId', 'seq'] })
    db.createObjectStore('journals', { keyPath: ['logId', 'part'] })
    db.createObjectStore('blobs')
    db.createObjectStore('blobTimes', { keyPath: 'id' }).createIndex('time', 'time')
    db.createObjectStore('blobReferences', { keyPath: ['logId', 'blobId'] }).createIndex('blobId', 'blobId')
    db.createObjectStore('drafts', { keyPath: 'logId' })
    const sessions = tx.objectStore('sessions')
    sessions.deleteIndex('updatedAt')
    for (let cursor = await sessions.openCursor(); cursor; cursor = await cursor.continue()) {
      await cursor.update(withKeys(cursor.value))
    }
    sessions.createIndex('order', 'order')
    sessions.createIndex('logs', 'logs', { multiEntry: true })
  },
]

/** A record of version 1: without a size, since nobody counted, and with nothing merged. */
type RecordOfVersion1 = Omit<SessionRecord, 'mergedTo'>

/** What a damaged record lacks, whoever reads it will miss: it must not keep the others from being read. */
function withKeys(record: RecordOfVersion1): StoredRecord {
  const { logId, inherited, updatedAt, previous, header } = record
  const whole = {
    ...record,
    mergedTo: endOfInherited(rangesOf(inherited)),
    ...(previous === undefined
      ? {}
      : { previous: { ...previous, mergedTo: endOfInherited(rangesOf(previous?.inherited)) } }),
  }
  const order: ListKey = [0, Number.isFinite(updatedAt) ? updatedAt : 0, SessionId(header.id)]
  const ranges = [...rangesOf(inherited), ...rangesOf(previous?.inherited)]
  const logs = [logId, previous?.logId, ...ranges.map(range => range.logId)].filter(log => typeof log === 'string')
  return { ...whole, order, logs: [...new Set(logs)] }
}

/** Those of the inherited ranges that can be read. */
function rangesOf(inherited: unknown): SessionRecord['inherited'] {
  const ranges: readonly unknown[] = Array.isArray(inherited) ? inherited : []
  return ranges.filter((range): range is InheritedRange => typeof range === 'object' && range !== null)
}

/** Brings a database of an older version, or a new one, to the current version. */
export async function upgrade(db: Db, oldVersion: number, tx: Tx<'versionchange'>): Promise<void> {
  for (const step of STEPS.slice(oldVersion)) await step(db, tx)
}
