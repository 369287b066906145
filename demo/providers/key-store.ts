/**
 * Keys of providers, by origin: in memory, and on this device only if a person asks for it. On the device everything is
 * in one entry of localStorage, `palimpsest:providers`: {version: 1, current: origin | null, providers: configs}.
 */
import { keyOf, originOf, type ProviderConfig, readConfig } from './config.ts'

export const storageKey = 'palimpsest:providers'

/** `not-remembered` was asked for and could not be done: the browser stores nothing for this page, or no more. */
export type Remembering = 'remembered' | 'not-asked' | 'not-remembered'

type Stored = {
  /** Origin of the provider that was used last, when it is one of those remembered. */
  readonly current: string | null
  readonly providers: readonly ProviderConfig[]
}

const nothing: Stored = { current: null, providers: [] }

/** `storage` is asked each time: a browser may refuse even to name it. */
export const createKeyStore = (storage?: () => Storage): KeyStore => new KeyStore(storage)

/** Use `createKeyStore()`. */
export class KeyStore {
  readonly #storage: () => Storage
  readonly #keys = new Map<string, string>()

  constructor(storage: () => Storage = () => globalThis.localStorage) {
    this.#storage = storage
    for (const config of this.#read().providers) this.keep(config)
  }

  /** The key for an origin, '' when there is none. */
  keyFor(origin: string | null): string {
    return (origin !== null && this.#keys.get(origin)) || ''
  }

  isRemembered(origin: string | null): boolean {
    return origin !== null && this.#read().providers.some(each => originOf(each) === origin)
  }

  /** The provider used last, if it was to be remembered. */
  load(): ProviderConfig | null {
    const { current, providers } = this.#read()
    return current === null ? null : (providers.find(each => originOf(each) === current) ?? null)
  }

  /** Keeps a configuration's key, if it has one, in memory. */
  keep(config: ProviderConfig): void {
    const origin = originOf(config)
    if (origin !== null && keyOf(config) !== '') this.#keys.set(origin, keyOf(config))
  }

  /** Notes the provider that is used from now on. Without `remember` it is not on the device afterwards. */
  use(config: ProviderConfig, { remember }: { readonly remember: boolean }): Remembering {
    this.keep(config)
    const origin = originOf(config)
    const others = this.#read().providers.filter(each => originOf(each) !== origin)
    if (origin !== null && remember && this.#write({ current: origin, providers: [...others, config] })) {
      return 'remembered'
    }
    this.#remove({ current: null, providers: others })
    return origin !== null && remember ? 'not-remembered' : 'not-asked'
  }

  /** Removes what the device has of an origin, at once. The key stays in memory. */
  unremember(origin: string | null): void {
    const { current, providers } = this.#read()
    const others = providers.filter(each => originOf(each) !== origin)
    if (others.length === providers.length) return
    this.#remove({ current: current === origin ? null : current, providers: others })
  }

  /** Removes what device and page have of an origin. A worker that was given the key keeps it. */
  forget(origin: string | null): void {
    this.unremember(origin)
    if (origin !== null) this.#keys.delete(origin)
  }

  /** What is stored, as far as it can be made out. */
  #read(): Stored {
    try {
      const value: unknown = JSON.parse(this.#storage().getItem(storageKey) ?? 'null')
      const { version, current, providers } = (value ?? {}) as Record<string, unknown>
      if (version !== 1 || !Array.isArray(providers)) return nothing
      const configs = providers.flatMap(each => {
        const reading = readConfig(each)
        return reading.ok && reading.config.kind !== 'embedded' ? [reading.config] : []
      })
      return { current: typeof current === 'string' ? current : null, providers: configs }
    } catch {
      return nothing
    }
  }

  /** Writes what is left. A browser that refuses even that keeps nothing: better no key than one that should be gone. */
  #remove(left: Stored): void {
    if (!this.#write(left)) this.#write(nothing)
  }

  /** False when the browser refuses. */
  #write(stored: Stored): boolean {
    try {
      if (stored.providers.length === 0) this.#storage().removeItem(storageKey)
      else this.#storage().setItem(storageKey, JSON.stringify({ version: 1, ...stored }))
      return true
    } catch {
      return false
    }
  }
}
