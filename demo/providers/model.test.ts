/** Each kind of provider, through the AI SDK's own clients, as far as the request. */
import { MessageId } from 'palimpsest/core'
import type { Model, ModelRequest } from 'palimpsest/worker'
import { describe, expect, test, vi } from 'vitest'
import type { ProviderConfig } from './config.ts'
import { modelOf } from './model.ts'

const requestOf = ({ config }: Model, text: string): ModelRequest => ({
  sessionId: 's',
  header: { config },
  messages: [{ id: MessageId('m'), role: 'user', content: [{ type: 'text', text }], source: { kind: 'user' } }],
  signal: new AbortController().signal,
  readBlob: () => Promise.resolve(null),
})

async function ask(model: Model, text = 'hello [fast]') {
  const answer = { text: '', finish: undefined as unknown }
  for await (const chunk of model.stream(requestOf(model, text))) {
    if (chunk.type === 'finish') answer.finish = chunk.reason
    else answer.text += JSON.stringify(chunk)
  }
  return answer
}

const refusing = () =>
  vi.fn<typeof fetch>(() =>
    Promise.resolve(
      Response.json({ error: { message: 'No: secret-key', type: 'authentication_error' } }, { status: 401 }),
    ),
  )

test('[demo] the embedded provider answers inside the worker, without fetch', async () => {
  const fetch = refusing()
  const model = modelOf({ kind: 'embedded', model: 'embedded-small', via: 'worker' }, { fetch })
  expect(model).toMatchObject({ config: { provider: 'demo.chat', model: 'embedded-small' }, contextWindow: 16_000 })
  const { text, finish } = await ask(model)
  expect(finish).toEqual({ kind: 'stop' })
  expect(text).toContain(' wrote')
  expect(fetch).not.toHaveBeenCalled()
})

test('[demo] attempts are counted across turns', async () => {
  const turn = () =>
    ask(modelOf({ kind: 'embedded', model: 'embedded-small', via: 'worker' }), 'x [fast] [fail:once:server]')
  expect((await turn()).finish).toMatchObject({ kind: 'error', failure: { code: 'SERVER' } })
  expect((await turn()).finish).toEqual({ kind: 'stop' })
})

describe('over HTTP', () => {
  const cases: [ProviderConfig, string, Record<string, string>][] = [
    [
      { kind: 'openai-compatible', baseURL: 'https://api.example.com/v1', apiKey: 'secret-key', model: 'm' },
      'https://api.example.com/v1/chat/completions',
      { authorization: 'Bearer secret-key' },
    ],
    [
      { kind: 'anthropic', apiKey: 'secret-key', model: 'claude-haiku-4-5' },
      'https://api.anthropic.com/v1/messages',
      { 'x-api-key': 'secret-key', 'anthropic-dangerous-direct-browser-access': 'true' },
    ],
    [
      { kind: 'anthropic', apiKey: 'secret-key', model: 'claude-haiku-4-5', baseURL: 'https://proxy.test/v1' },
      'https://proxy.test/v1/messages',
      { 'x-api-key': 'secret-key', 'anthropic-dangerous-direct-browser-access': 'true' },
    ],
    [{ kind: 'embedded', model: 'embedded-small', via: 'http' }, 'https://pages.test/v1/chat/completions', {}],
  ]
  test.each(cases)(
    '[demo] %o asks where it should, follows no redirect, tells no key',
    async (config, url, headers) => {
      const fetch = refusing()
      const model = modelOf(config, { fetch, origin: 'https://pages.test' })
      const { finish } = await ask(model)
      expect(finish).toMatchObject({ kind: 'error', failure: { code: 'AUTH', status: 401 } })
      if (config.kind !== 'embedded') expect(JSON.stringify(finish)).not.toContain('secret-key')
      expect(fetch).toHaveBeenCalledOnce()
      const [asked, init] = fetch.mock.calls[0] ?? []
      expect(asked).toBe(url)
      expect(init).toMatchObject({ method: 'POST', redirect: 'error' })
      const sent = new Headers(init?.headers)
      expect(Object.fromEntries(sent)).toMatchObject(headers)
      if (config.kind === 'embedded') expect(sent.has('authorization')).toBe(false)
    },
  )

  test.each(cases)('[demo] %o is logged under the name its client has', async config => {
    const { openAiCompatibleModel } = await import('./openai-compatible-model.ts')
    const { anthropicModel } = await import('./anthropic-model.ts')
    const loaded =
      config.kind === 'anthropic'
        ? anthropicModel(config, fetch, {})
        : openAiCompatibleModel({ baseURL: '', apiKey: '', ...config, kind: 'openai-compatible' }, fetch, {})
    const model = modelOf(config, { origin: 'https://pages.test' })
    expect(model.config).toEqual(loaded.config)
    if (config.kind !== 'embedded') expect(model.usesNetwork).toBe(loaded.usesNetwork)
  })

  test('[demo] Anthropic hears with every request that a page asks', async () => {
    const fetch = refusing()
    const model = modelOf({ kind: 'anthropic', apiKey: 'secret-key', model: 'claude-haiku-4-5' }, { fetch })
    await ask(model)
    await ask(model)
    const said = fetch.mock.calls.map(([, init]) =>
      new Headers(init?.headers).get('anthropic-dangerous-direct-browser-access'),
    )
    expect(said).toEqual(['true', 'true'])
  })

  test.each<[ProviderConfig, string, boolean]>([
    [{ kind: 'embedded', model: 'embedded-small', via: 'worker' }, 'https://pages.test', false],
    [{ kind: 'embedded', model: 'embedded-small', via: 'http' }, 'http://localhost:5173', false],
    [{ kind: 'embedded', model: 'embedded-small', via: 'http' }, 'https://pages.test', true],
    [{ kind: 'openai-compatible', baseURL: 'https://a.test/v1', apiKey: '', model: 'm' }, 'http://localhost', true],
    [{ kind: 'openai-compatible', baseURL: 'http://127.0.0.1:1/v1', apiKey: '', model: 'm' }, 'https://a.test', false],
    [{ kind: 'openai-compatible', baseURL: 'http://[::1]:11434/v1', apiKey: '', model: 'm' }, 'https://a.test', false],
    [{ kind: 'anthropic', apiKey: 'k', model: 'm' }, 'http://localhost', true],
    [{ kind: 'anthropic', apiKey: 'k', model: 'm', baseURL: 'http://localhost:9/v1' }, 'https://a.test', false],
  ])('[demo] %o on a page of %s needs a network: %s', (config, origin, usesNetwork) => {
    expect(modelOf(config, { origin }).usesNetwork).toBe(usesNetwork)
  })
})
