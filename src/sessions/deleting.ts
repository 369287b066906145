/** Deleting for good what was deleted long ago (SPEC W19). */
import { SessionId } from '../core/ids.ts'
import { type SessionRecord, type SessionStorage, StorageError } from '../storage/storage.ts'
import { unlessCorrupt } from './open-log.ts'

/**
 * Deletes what was deleted before `before`, epoch ms; each session while nobody else has it, which `exclusively` sees to.
 *
 * @throws {StorageError}
 */
export async function deleteOld(
  storage: SessionStorage,
  before: number,
  exclusively: (id: SessionId, work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const isOld = (record: SessionRecord | null) => (record?.deletedAt ?? Infinity) < before
  for (const record of (await storage.list({ deleted: true })).filter(isOld)) {
    const id = SessionId(record.header.id)
    const deleting = exclusively(id, async () => {
      // Somebody may have brought it back meanwhile, unless its record is damaged.
      if (isOld((await storage.get(id).catch(unlessCorrupt)) ?? record)) await storage.delete(id)
    })
    await deleting.catch((error: unknown) => {
      // Whoever has the lease brings it back, or deletes it.
      if (!(error instanceof StorageError) || error.code !== 'in-use') throw error
    })
  }
}
