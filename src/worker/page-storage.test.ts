/** What a page says of its storage, where browsers have not got all of it. */
import { afterEach, expect, it, vi } from 'vitest'
import { persist, storageState } from './page-storage.ts'

afterEach(() => vi.unstubAllGlobals())

it.each([
  ['nothing', {}, false],
  ['no estimate', { storage: { persist: async () => true, persisted: async () => true } }, true],
  ['no promise to keep it', { storage: { estimate: async () => ({}) } }, false],
])('says what is known of the storage of a browser with %s', async (_what, navigator, isPersisted) => {
  vi.stubGlobal('navigator', navigator)
  expect(await storageState()).toEqual({ usage: null, quota: null, isPersisted })
  expect(await persist()).toBe(isPersisted)
})
