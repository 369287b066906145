import { describe, expect, it } from 'vitest'
import { cdp } from 'vitest/browser'
import { SessionId } from '../core/ids.ts'
import { storageCases } from './conformance.ts'
import { batch, newSession, positions, readAll, refuses, seqs, store } from './conformance-kit.ts'
import { databaseCases } from './indexeddb-cases.ts'
import { freshName } from './indexeddb-kit.ts'
import { requestFaultCases } from './indexeddb-fault-cases.ts'
import { schemaCases } from './indexeddb-schema-cases.ts'
import type { IndexedDbStatus } from './indexeddb-connection.ts'
import { indexedDbStorage } from './indexeddb.ts'

/** Asks the browser itself; its commands are not typed here. */
const browser = cdp() as { send(method: string, params: object): Promise<unknown> }

describe('IndexedDB storage in the browser', () => {
  it.each(storageCases)('$name', storageCase => storageCase.run(() => indexedDbStorage({ name: freshName() })))
  it.each([...databaseCases, ...schemaCases, ...requestFaultCases])('$name', databaseCase => databaseCase.run())

  it('W11 a full disk is refused as quota-exceeded, nothing is stored, and it works again with space', async () => {
    await browser.send('Storage.overrideQuotaForOrigin', { origin: location.origin, quotaSize: 500_000 })
    // Chromium remembers for half a minute how much space there was; it forgets that with the data.
    await browser.send('Storage.clearDataForOrigin', { origin: location.origin, storageTypes: 'indexeddb' })
    const storage = indexedDbStorage({ name: freshName() })
    // Random, since it counts what is left of a text after compression.
    const text = JSON.stringify(Array.from({ length: 200_000 }, () => Math.random().toString(36)))
    try {
      await store(storage, newSession('a'), [1])
      const error = await refuses('append', 'quota-exceeded', storage.append(batch('a', 1, 1, { text })))
      expect(error.cause).toMatchObject({ name: 'QuotaExceededError' })
      expect((await storage.get(SessionId('a')))?.nextSeq).toBe(1)
      expect(await positions(storage, 'a')).toEqual(seqs('a', 0, 1))
    } finally {
      await browser.send('Storage.overrideQuotaForOrigin', { origin: location.origin })
    }
    await storage.append(batch('a', 1, 1, { text, durability: 'strict' }))
    expect((await readAll(storage, 'a', 1)).map(segment => segment.text.length)).toEqual([text.length])
    await storage.close()
  })

  it('W11 a connection the browser ended is forgotten, and the next call opens another', async () => {
    const statuses: IndexedDbStatus[] = []
    const storage = indexedDbStorage({ name: freshName(), onStatus: status => statuses.push(status) })
    await store(storage, newSession('a'), [1])

    await browser.send('Storage.clearDataForOrigin', { origin: location.origin, storageTypes: 'indexeddb' })
    await expect.poll(() => statuses).toEqual(['open', 'lost'])

    await refuses('append', 'not-found', storage.append(batch('a', 1, 1)))
    await store(storage, newSession('a'), [2])
    expect(await positions(storage, 'a')).toEqual(seqs('a', 0, 2))
    expect(statuses).toEqual(['open', 'lost', 'open'])
    await storage.close()
  })
})
