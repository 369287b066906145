/** Which model the agent talks to. Lives in memory only: the key is never stored. */

export type ProviderConfig = { readonly baseURL: string; readonly apiKey: string; readonly model: string }

/** Windows of the embedded models, tokens. Those of other models are not known here. */
export const contextWindows: ReadonlyMap<string, number> = new Map([
  ['embedded-small', 16_000],
  ['embedded-large', 128_000],
])

/** The embedded provider beside the page; `?provider=URL` presets another address. */
export function initialConfig({ origin, search }: Pick<Location, 'origin' | 'search'>): ProviderConfig {
  const preset = new URLSearchParams(search).get('provider')
  const baseURL = preset !== null && URL.canParse(preset) ? preset : `${origin}/v1`
  return { baseURL, apiKey: 'embedded', model: 'embedded-small' }
}
