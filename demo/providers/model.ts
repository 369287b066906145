/** The model of a configuration. Its code is loaded when it is first asked. */
import type { Model } from 'palimpsest/worker'
import {
  anthropicBaseURL,
  contextWindows,
  isLoopback,
  type OpenAiCompatibleConfig,
  type ProviderConfig,
} from './config.ts'
import { lazyModel } from './lazy-model.ts'

export type ModelContext = {
  /** Default: the platform's. */
  readonly fetch?: typeof globalThis.fetch
  /** Where the embedded provider is served, when it is asked over HTTP. Default: the worker's own origin. */
  readonly origin?: string
}

/** Makes the model of `config`, at once and without any request. */
export function modelOf(config: ProviderConfig, { fetch = globalThis.fetch, origin }: ModelContext = {}): Model {
  const { model } = config
  const contextWindow = contextWindows.get(model)
  const options = contextWindow === undefined ? {} : { contextWindow }
  /** A key goes to the address it was given for, and not on to where that redirects. */
  const steadyFetch: typeof fetch = (input, init) => fetch(input, { ...init, redirect: 'error' })
  const overHttp = (http: OpenAiCompatibleConfig) =>
    lazyModel({
      config: { provider: 'demo.chat', model },
      ...options,
      usesNetwork: usesNetwork(http.baseURL),
      load: async () =>
        (await import('./openai-compatible-model.ts')).openAiCompatibleModel(http, steadyFetch, options),
    })
  switch (config.kind) {
    case 'openai-compatible':
      return overHttp(config)
    case 'embedded':
      if (config.via === 'http') {
        const baseURL = `${origin ?? globalThis.location.origin}/v1`
        return overHttp({ kind: 'openai-compatible', baseURL, apiKey: '', model })
      }
      return lazyModel({
        config: { provider: 'demo.chat', model },
        ...options,
        usesNetwork: false,
        load: async () => (await import('./embedded-model.ts')).embeddedModel(config, options),
      })
    case 'anthropic':
      return lazyModel({
        config: { provider: 'anthropic.messages', model },
        ...options,
        usesNetwork: usesNetwork(config.baseURL ?? anthropicBaseURL),
        load: async () => (await import('./anthropic-model.ts')).anthropicModel(config, steadyFetch, options),
      })
  }
}

/** Known from the address alone: the code that talks to it is not loaded yet. */
const usesNetwork = (baseURL: string): boolean => !URL.canParse(baseURL) || !isLoopback(new URL(baseURL).hostname)
