import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ProviderConfig } from './config.ts'
import { createKeyStore, storageKey } from './key-store.ts'

const openAi: ProviderConfig = {
  kind: 'openai-compatible',
  baseURL: 'https://api.test/v1',
  apiKey: 'open-key',
  model: 'm',
}
const anthropic: ProviderConfig = { kind: 'anthropic', apiKey: 'ant-key', model: 'c' }
const embedded: ProviderConfig = { kind: 'embedded', model: 'embedded-small', via: 'worker' }
const openOrigin = 'https://api.test'
const anthropicOrigin = 'https://api.anthropic.com'

/** Storage as browsers have it; `isFull` makes writing fail. */
class FakeStorage {
  readonly items = new Map<string, string>()
  isFull = false
  get length() {
    return this.items.size
  }
  key = (index: number) => [...this.items.keys()][index] ?? null
  getItem = (key: string) => this.items.get(key) ?? null
  setItem = (key: string, value: string) => {
    if (this.isFull) throw new DOMException('full', 'QuotaExceededError')
    this.items.set(key, value)
  }
  removeItem = (key: string) => void this.items.delete(key)
  clear = () => this.items.clear()
  get text() {
    return JSON.stringify([...this.items])
  }
}
const open = (storage: FakeStorage) => createKeyStore(() => storage)

describe('in memory', () => {
  test('[demo] a key is known for its origin alone, and nothing is stored', () => {
    const storage = new FakeStorage()
    const store = open(storage)
    expect(store.use(openAi, { remember: false })).toBe('not-asked')
    expect(store.keyFor(openOrigin)).toBe('open-key')
    expect(store.keyFor('https://api.test:8443')).toBe('')
    expect(store.keyFor(null)).toBe('')
    expect(storage.length).toBe(0)
    expect(open(storage).keyFor(openOrigin)).toBe('')
  })

  test('[demo] the embedded provider has no key and stores nothing', () => {
    const storage = new FakeStorage()
    expect(open(storage).use(embedded, { remember: true })).toBe('not-asked')
    expect(storage.length).toBe(0)
  })
})

describe('on the device', () => {
  test('[demo] what was asked for is there again after a reload, under one key', () => {
    const storage = new FakeStorage()
    const store = open(storage)
    expect(store.use(openAi, { remember: true })).toBe('remembered')
    expect(store.use(anthropic, { remember: true })).toBe('remembered')
    expect([...storage.items.keys()]).toEqual([storageKey])
    const again = open(storage)
    expect(again.load()).toEqual(anthropic)
    expect(again.keyFor(openOrigin)).toBe('open-key')
    expect(again.keyFor(anthropicOrigin)).toBe('ant-key')
    expect(again.isRemembered(openOrigin)).toBe(true)
  })

  test('[demo] a reload goes on with what was used last: the embedded provider when it was that', () => {
    const storage = new FakeStorage()
    const store = open(storage)
    store.use(anthropic, { remember: true })
    store.use(embedded, { remember: true })
    expect(open(storage).load()).toBeNull()
    expect(open(storage).keyFor(anthropicOrigin)).toBe('ant-key')
  })

  test('[demo] using without remembering, and forgetting, remove at once', () => {
    const storage = new FakeStorage()
    const store = open(storage)
    store.use(openAi, { remember: true })
    store.use(anthropic, { remember: true })
    store.use(openAi, { remember: false })
    expect(storage.text).not.toContain('open-key')
    expect(store.isRemembered(openOrigin)).toBe(false)
    store.unremember(anthropicOrigin)
    expect(storage.length).toBe(0)
    expect(store.keyFor(anthropicOrigin)).toBe('ant-key')
    store.use(anthropic, { remember: true })
    store.forget(anthropicOrigin)
    expect(storage.length).toBe(0)
    expect(store.keyFor(anthropicOrigin)).toBe('')
    expect(open(storage).load()).toBeNull()
  })

  test('[demo] another tab’s keys are kept', () => {
    const storage = new FakeStorage()
    const [one, two] = [open(storage), open(storage)]
    one.use(openAi, { remember: true })
    two.use(anthropic, { remember: true })
    one.use({ ...openAi, apiKey: 'newer-key' }, { remember: true })
    expect(open(storage).keyFor(anthropicOrigin)).toBe('ant-key')
    expect(open(storage).keyFor(openOrigin)).toBe('newer-key')
  })
})

describe('storage that does not work', () => {
  test('[demo] a full one is reported, and keeps no older key', () => {
    const storage = new FakeStorage()
    const store = open(storage)
    store.use(openAi, { remember: true })
    storage.isFull = true
    expect(store.use({ ...openAi, apiKey: 'newer-key' }, { remember: true })).toBe('not-remembered')
    expect(store.keyFor(openOrigin)).toBe('newer-key')
    expect(storage.text).not.toContain('open-key')
    storage.isFull = false
    store.use(openAi, { remember: true })
    store.use(anthropic, { remember: true })
    storage.isFull = true
    store.unremember(openOrigin)
    expect(storage.text).not.toContain('open-key')
  })

  test('[demo] one that may not even be named is reported', () => {
    const store = createKeyStore(() => {
      throw new DOMException('denied', 'SecurityError')
    })
    expect(store.use(openAi, { remember: true })).toBe('not-remembered')
    expect(store.keyFor(openOrigin)).toBe('open-key')
    expect(store.load()).toBeNull()
    expect(() => store.forget(openOrigin)).not.toThrow()
    expect(() => createKeyStore()).not.toThrow() // Node has none
  })

  test('[demo] anything can be in it', () => {
    const shaped = fc.record({
      version: fc.constantFrom(1, 2),
      current: fc.oneof(fc.constant(openOrigin), fc.anything()),
      providers: fc.array(fc.oneof(fc.constant(openAi), fc.constant(embedded), fc.anything())),
    })
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          shaped.map(value => JSON.stringify(value)),
        ),
        text => {
          const storage = new FakeStorage()
          storage.setItem(storageKey, text)
          const store = open(storage)
          expect([null, openOrigin]).toContain(store.load() && openOrigin)
          expect(store.use(anthropic, { remember: true })).toBe('remembered')
          expect(open(storage).load()).toEqual(anthropic)
        },
      ),
    )
  })
})
