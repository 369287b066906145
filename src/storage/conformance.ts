/**
 * The suite every `SessionStorage` passes, as data: any test runner can run it, in Node, a page or a worker.
 *
 * ```ts
 * it.each(storageCases)('$name', storageCase => storageCase.run(() => memoryStorage()))
 * ```
 */
import { blobCases } from './conformance-blobs.ts'
import { extraCases } from './conformance-extras.ts'
import { faultCases } from './conformance-faults.ts'
import type { StorageCase } from './conformance-kit.ts'
import { listCases } from './conformance-lists.ts'
import { logCases } from './conformance-log.ts'
import { mergeCases } from './conformance-merge.ts'
import { readCases } from './conformance-read.ts'
import { sessionCases } from './conformance-sessions.ts'
import { writeCases } from './conformance-write.ts'

export { ConformanceError, type StorageCase } from './conformance-kit.ts'

/** Every promise of the interface; each case opens at least one new, empty storage. */
export const storageCases: readonly StorageCase[] = [
  ...writeCases,
  ...readCases,
  ...sessionCases,
  ...listCases,
  ...logCases,
  ...mergeCases,
  ...extraCases,
  ...blobCases,
  ...faultCases,
]
