/** Which model the agent talks to, and how such a choice is read from a form, from storage and from the address. */
import { models as embeddedModels } from '../provider/models.ts'

/** `via: 'http'` asks the endpoint that `npm start` serves beside the page; `'worker'` needs no server. */
export type EmbeddedConfig = { readonly kind: 'embedded'; readonly model: string; readonly via: 'worker' | 'http' }
/** `apiKey` is '' for a provider that wants none. */
export type OpenAiCompatibleConfig = {
  readonly kind: 'openai-compatible'
  readonly baseURL: string
  readonly apiKey: string
  readonly model: string
}
export type AnthropicConfig = {
  readonly kind: 'anthropic'
  readonly apiKey: string
  readonly model: string
  readonly baseURL?: string
}
export type ProviderConfig = EmbeddedConfig | OpenAiCompatibleConfig | AnthropicConfig
export type ProviderKind = ProviderConfig['kind']

export type ProviderField = 'kind' | 'baseURL' | 'model' | 'apiKey'
/** What is wrong with a field, for a person. */
export type FieldErrors = { readonly [field in ProviderField]?: string }
export type ConfigReading =
  | { readonly ok: true; readonly config: ProviderConfig }
  | { readonly ok: false; readonly errors: FieldErrors }

/** What a form holds; fields that the kind does not have are not looked at. */
export type ProviderForm = {
  readonly kind: ProviderKind
  readonly baseURL: string
  readonly model: string
  readonly key: string
}

export const providerKinds: readonly ProviderKind[] = ['embedded', 'openai-compatible', 'anthropic']
export const embeddedModelIds: readonly string[] = [...embeddedModels.keys()]
export const anthropicBaseURL = 'https://api.anthropic.com/v1'
/** Anthropic answers a page only when it says that it is one: the key is in the hands of whoever sits before it. */
export const anthropicPageHeaders: Readonly<Record<string, string>> = {
  'anthropic-dangerous-direct-browser-access': 'true',
}
/** Models to suggest; any other id may be used. */
export const anthropicModelIds: readonly string[] = ['claude-haiku-4-5', 'claude-sonnet-4-5', 'claude-opus-4-5']

/** Windows in tokens, of models where they are known for sure. */
export const contextWindows: ReadonlyMap<string, number> = new Map([
  ...embeddedModels,
  ...anthropicModelIds.map(id => [id, 200_000] as const),
])

/** A configuration from anything: fields of known kinds, checked and tidied, or what is wrong with them. */
export function readConfig(value: unknown): ConfigReading {
  const { kind, via, ...raw } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  const errors: { [field in ProviderField]?: string } = {}
  const check = (field: ProviderField, problem: string | null) => {
    if (problem !== null) errors[field] = problem
  }
  const model = textOf(raw['model'])
  const apiKey = textOf(raw['apiKey'])
  const baseURL = textOf(raw['baseURL'])
  check('model', modelProblem(model))
  if (kind !== 'embedded') check('apiKey', keyProblem(apiKey))
  const done = (config: ProviderConfig): ConfigReading =>
    Object.keys(errors).length > 0 ? { ok: false, errors } : { ok: true, config }

  switch (kind) {
    case 'embedded':
      if (model !== '' && !embeddedModels.has(model)) check('model', 'The embedded provider does not have this model.')
      return done({ kind, model, via: via === 'http' ? 'http' : 'worker' })
    case 'openai-compatible':
      check('baseURL', addressProblem(baseURL))
      return done({ kind, baseURL: tidyAddress(baseURL), apiKey, model })
    case 'anthropic': {
      if (apiKey === '') check('apiKey', 'A key is needed: Anthropic does not answer without one.')
      if (baseURL !== '') check('baseURL', addressProblem(baseURL))
      const address = tidyAddress(baseURL)
      return done({
        kind,
        apiKey,
        model,
        ...(address === '' || address === anthropicBaseURL ? {} : { baseURL: address }),
      })
    }
    default:
      return { ok: false, errors: { kind: 'Choose a provider.' } }
  }
}

/** A configuration from a form. A key left empty is the one known for the same origin: it never follows to another. */
export function readForm(
  { kind, baseURL, model, key }: ProviderForm,
  keyFor: (origin: string) => string,
): ConfigReading {
  const origin = originOf({ kind, baseURL: textOf(baseURL) })
  const apiKey = textOf(key) || (origin === null ? '' : keyFor(origin))
  return readConfig({ kind, baseURL, model, apiKey, via: 'worker' })
}

/** Where requests and the key go; null for the embedded provider and for what is no address. */
export function originOf(config: { readonly kind: ProviderKind; readonly baseURL?: string }): string | null {
  if (config.kind === 'embedded') return null
  const address = config.kind === 'anthropic' ? config.baseURL || anthropicBaseURL : (config.baseURL ?? '')
  return addressProblem(address) === null ? new URL(address).origin : null
}

/** The configuration's key, '' when it has none. */
export const keyOf = (config: ProviderConfig): string => (config.kind === 'embedded' ? '' : config.apiKey)

/** The provider in a few words. */
export function labelOf(config: ProviderConfig): string {
  const { kind, model } = config
  if (kind === 'embedded') return `Embedded · ${model}`
  const own = kind === 'anthropic' && config.baseURL === undefined
  return `${own ? 'Anthropic' : new URL(config.baseURL ?? anthropicBaseURL).host} · ${model}`
}

/** This very computer: browsers let a secure page reach it over plain http. */
export const isLoopback = (hostname: string): boolean =>
  /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)

/**
 * The configuration a page starts with. `?provider=URL` presets an OpenAI-compatible address of this page's origin or of
 * this computer – a link must not send what people write anywhere else –, `?provider=embedded` the embedded provider; then what was remembered; then the embedded provider, which tests (`?e2e`) ask over HTTP so that
 * requests can be looked at.
 */
export function initialConfig(
  { origin, search }: Pick<Location, 'origin' | 'search'>,
  remembered: ProviderConfig | null = null,
): ProviderConfig {
  const query = new URLSearchParams(search)
  const preset = query.get('provider')
  const [model = ''] = embeddedModelIds
  const embedded: ProviderConfig = { kind: 'embedded', model, via: 'worker' }
  if (preset === 'embedded') return embedded
  const addressed = readConfig({ kind: 'openai-compatible', baseURL: preset ?? '', apiKey: 'embedded', model })
  if (addressed.ok && isOwn(addressed.config, origin)) return addressed.config
  if (remembered !== null) return remembered
  return query.has('e2e') ? { kind: 'openai-compatible', baseURL: `${origin}/v1`, apiKey: 'embedded', model } : embedded
}

function isOwn(config: ProviderConfig, origin: string): boolean {
  const address = originOf(config)
  return address !== null && (address === origin || isLoopback(new URL(address).hostname))
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

function addressProblem(address: string): string | null {
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    return 'The base URL must be an http or https address.'
  }
  const { username, password } = new URL(address)
  if (username !== '' || password !== '') return 'The base URL must not hold a name or password.'
  if (/[?#]/.test(address)) return 'The base URL must not hold a question mark or a hash sign: it ends with its path.'
  return null
}

/** The address as browsers write it, without slashes at its end. Anything else as it is. */
const tidyAddress = (address: string): string =>
  (URL.canParse(address) ? new URL(address).href : address).replace(/\/+$/, '')

function modelProblem(model: string): string | null {
  if (model === '') return 'A model is needed.'
  return model.length > 200 ? 'The name of the model is too long.' : null
}

/** A header carries nothing else, and browsers refuse it in words that repeat it. */
function keyProblem(key: string): string | null {
  return /^[\x21-\x7e]{0,4096}$/.test(key) ? null : 'This cannot be a key: it has spaces or unusual characters in it.'
}
