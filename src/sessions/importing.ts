/** Where an imported log goes: to its own id, to what it continues, or to a fresh id (SPEC F15). */
import { SessionId } from '../core/ids.ts'
import { type SessionRecord, type SessionStorage, StorageError } from '../storage/storage.ts'
import { type ImportedLog, type ImportResult, relationOf, storeImport } from './import-log.ts'
import type { KeyedQueue } from './keyed-queue.ts'
import type { Release } from './lease.ts'

export type ImportParts = {
  readonly storage: SessionStorage
  /** Opens, closes and imports of one session happen one after the other. */
  readonly queue: KeyedQueue
  readonly isLive: (id: SessionId) => boolean
  /** @throws {StorageError} `in-use`. */
  readonly lease: (id: SessionId) => Promise<Release>
  readonly newId: () => string
  readonly now: () => number
}

/** How often, and after how many ms, an import looks again whether an id it wants is free. */
const PATIENCE = 20
const PATIENCE_MS = 100

/** @throws {StorageError} when it cannot be stored; the reason of `signal`. */
export async function placeImport(
  log: ImportedLog,
  parts: ImportParts,
  signal: AbortSignal | undefined,
): Promise<ImportResult> {
  const placed = await placeUnderItsId(log, parts, signal)
  if (placed !== null) return placed
  const renamed = { ...log, header: { ...log.header, id: parts.newId() } }
  await store(renamed, parts, null)
  return importResult(renamed, 'created')
}

/** Null when the id is another log's, or in use. */
async function placeUnderItsId(
  log: ImportedLog,
  parts: ImportParts,
  signal: AbortSignal | undefined,
): Promise<ImportResult | null> {
  const id = SessionId(log.header.id)
  // Somebody else may be about to store the very same log.
  for (let wait = 0; ; wait += 1) {
    const result = await parts.queue.run(id, () => tryImport(id, log, parts, signal))
    if (result !== 'busy') return result
    if (wait === PATIENCE) return null
    await new Promise(resolve => setTimeout(resolve, PATIENCE_MS))
  }
}

async function tryImport(
  id: SessionId,
  log: ImportedLog,
  parts: ImportParts,
  signal: AbortSignal | undefined,
): Promise<ImportResult | 'busy' | null> {
  const { storage } = parts
  const relation = await relationOf(storage, await storage.get(id), log)
  signal?.throwIfAborted()
  if (relation === 'same') return importResult(log, 'unchanged')
  if (relation === 'other' || parts.isLive(id)) return null
  let release: Release
  try {
    release = await parts.lease(id)
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== 'in-use') throw error
    // What is open elsewhere is left alone; what is not stored yet may be an import.
    return relation === 'none' ? 'busy' : null
  }
  try {
    const replaces = await storage.claim(id)
    // Another writer may have been here before the lease was ours.
    if ((await relationOf(storage, replaces, log)) !== relation) return 'busy'
    await store(log, parts, replaces)
    return importResult(log, relation === 'none' ? 'created' : 'extended')
  } catch (error) {
    // Without a lease they share, two writers meet in the storage.
    const isOvertaken = error instanceof StorageError && OVERTAKEN.has(error.code)
    if (!isOvertaken) throw error
    return 'busy'
  } finally {
    release()
  }
}

const OVERTAKEN: ReadonlySet<string> = new Set(['exists', 'stale-epoch', 'deleted'])

function store(log: ImportedLog, { storage, newId, now }: ImportParts, replaces: SessionRecord | null): Promise<void> {
  return storeImport(storage, log, { newId, now: now(), ...(replaces === null ? {} : { replaces }) })
}

function importResult(log: ImportedLog, outcome: ImportResult['outcome']): ImportResult {
  const { header, events, version, fileEventCount, repairs, isUnterminated } = log
  return {
    id: SessionId(header.id),
    outcome,
    version,
    fileEventCount,
    eventCount: events.length,
    repairs,
    isUnterminated,
  }
}
