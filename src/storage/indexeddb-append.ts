/**
 * Storing a batch of a session that exists: the write everybody waits for, a few hundred microseconds long. On the browser's own
 * objects, since a promise and a proxy for each step of it would be a good part of that.
 */
import type { LogId } from '../core/ids.ts'
import { abort } from './indexeddb-connection.ts'
import { checkedRecord, wholeLog } from './indexeddb-requests.ts'
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
  const { keyframe, journal, blobs = [] } = batch
  // `add`, so that nothing stored is ever overwritten, whatever the record says.
  for (const { firstSeq, count, text } of segmentsIn(batch)) {
    tx.objectStore('segments').add({ logId, firstSeq, count, text })
  }
  if (keyframe !== undefined) {
    const keyframes = tx.objectStore('keyframes')
    if (keyframe.instead !== undefined) keyframes.delete([logId, keyframe.instead])
    keyframes.put({ logId, seq: keyframe.seq, text: keyframe.text })
  }
  if (journal !== undefined) {
    const journals = tx.objectStore('journals')
    if (journal === 'settled' || journal.part === 0) journals.delete(wholeLog(logId))
    if (journal !== 'settled') journals.put({ logId, part: journal.part, text: journal.text })
  }
  for (const blobId of blobs) tx.objectStore('blobReferences').put({ logId, blobId })
}
