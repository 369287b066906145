/**
 * Storing a batch of a session that exists: the write everybody waits for, a few hundred microseconds long. On the browser's own
 * objects, since a promise and a proxy for each step of it would be a good part of that.
 */
import type { LogId } from '../core/ids.ts'
import { abort } from './indexeddb-connection.ts'
import { checkedRecord, extrasOf } from './indexeddb-requests.ts'
import { type StoredRecord, toStored } from './indexeddb-schema.ts'
import type { AppendBatch } from './storage.ts'
import { planAppend, segmentsIn } from './stored-session.ts'

/**
 * Resolves when the transaction is complete; when it is not, nothing was changed.
 *
 * @throws {StorageError} what `planAppend` refuses, `corrupt`; what the transaction failed with.
 */
export function appendIn(tx: IDBTransaction, batch: AppendBatch): Promise<void> {
  return new Promise((resolve, reject) => {
    let refusal: Error | null = null
    tx.oncomplete = () => resolve()
    tx.onabort = () => reject(refusal ?? tx.error ?? new DOMException('The transaction was aborted', 'AbortError'))
    try {
      const sessions = tx.objectStore('sessions')
      const found = sessions.get(batch.id) as IDBRequest<StoredRecord | undefined>
      found.onsuccess = () => {
        try {
          const record = planAppend(checkedRecord(found.result, batch.id), batch)
          sessions.put(toStored(record))
          put(tx, record.logId, batch)
          // Saves the round trip in which the browser finds out that no request follows.
          tx.commit()
        } catch (error) {
          refusal = error as Error
          abort(tx)
        }
      }
    } catch (error) {
      refusal = error as Error
      abort(tx)
    }
  })
}

function put(tx: IDBTransaction, logId: LogId, batch: AppendBatch): void {
  // `add`, so that nothing stored is ever overwritten, whatever the record says.
  for (const { firstSeq, count, text } of segmentsIn(batch)) {
    tx.objectStore('segments').add({ logId, firstSeq, count, text })
  }
  for (const change of extrasOf(logId, batch)) {
    const store = tx.objectStore(change.store)
    if ('put' in change) store.put(change.put)
    else store.delete(change.delete)
  }
}
