/** The form for the provider. The key goes to the worker's memory and is not kept in the form. */
import type { ProviderConfig } from './config.ts'
import { byId } from './dom.ts'

const field = (name: string) => byId<HTMLInputElement>(`provider-${name}`)

/** Fills the form and hands over what a person sets. */
export function initProviderForm(initial: ProviderConfig, use: (config: ProviderConfig) => Promise<void>): void {
  let config = initial
  const [url, model, key] = [field('url'), field('model'), field('key')]
  const said = byId('provider-said')
  const show = () => {
    url.value = config.baseURL
    model.value = config.model
    key.value = ''
    key.placeholder = config.apiKey === '' ? 'none' : 'set'
  }
  show()
  byId('provider').addEventListener('submit', event => {
    event.preventDefault()
    const next = read(url.value.trim(), model.value.trim(), key.value, config)
    if (typeof next === 'string') {
      said.textContent = next
      return
    }
    use(next).then(
      () => {
        config = next
        show()
        said.textContent = 'Used from the next message on.'
      },
      () => {
        said.textContent = 'Not changed: the agent’s worker is gone.'
      },
    )
  })
}

/** What the form says, or what is wrong with it. A key never follows to another address by itself. */
function read(baseURL: string, model: string, key: string, before: ProviderConfig): ProviderConfig | string {
  if (!URL.canParse(baseURL) || !/^https?:$/.test(new URL(baseURL).protocol)) {
    return 'The base URL must be an http or https address.'
  }
  const { username, password, origin } = new URL(baseURL)
  if (username !== '' || password !== '') return 'The base URL must not hold a name or password.'
  if (model === '') return 'A model is needed.'
  const kept = new URL(before.baseURL).origin === origin ? before.apiKey : ''
  return { baseURL, model, apiKey: key === '' ? kept : key }
}
