import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  anthropicBaseURL,
  contextWindows,
  embeddedModelIds,
  initialConfig,
  isLoopback,
  labelOf,
  keyOf,
  originOf,
  type ProviderForm,
  readConfig,
  readForm,
} from './config.ts'

const form = (fields: Partial<ProviderForm>): ProviderForm => ({
  kind: 'openai-compatible',
  baseURL: 'https://api.example.com/v1',
  model: 'some-model',
  key: '',
  ...fields,
})

describe('readConfig', () => {
  test('[demo] takes each kind, tidied', () => {
    expect(readConfig({ kind: 'embedded', model: ' embedded-large ' })).toEqual({
      ok: true,
      config: { kind: 'embedded', model: 'embedded-large', via: 'worker' },
    })
    expect(
      readConfig({ kind: 'openai-compatible', baseURL: ' HTTPS://API.example.com/v1// ', apiKey: ' k ', model: 'm' }),
    ).toEqual({
      ok: true,
      config: { kind: 'openai-compatible', baseURL: 'https://api.example.com/v1', apiKey: 'k', model: 'm' },
    })
    expect(readConfig({ kind: 'anthropic', apiKey: 'k', model: 'm', baseURL: `${anthropicBaseURL}/` })).toEqual({
      ok: true,
      config: { kind: 'anthropic', apiKey: 'k', model: 'm' },
    })
    expect(readConfig({ kind: 'anthropic', apiKey: 'k', model: 'm', baseURL: 'https://proxy.test/v1' })).toMatchObject({
      config: { baseURL: 'https://proxy.test/v1' },
    })
  })

  test('[demo] drops fields it does not know', () => {
    const value = { kind: 'anthropic', apiKey: 'k', model: 'm', via: 'http', extra: 1 }
    expect(readConfig(value)).toEqual({ ok: true, config: { kind: 'anthropic', apiKey: 'k', model: 'm' } })
  })

  test.each([
    ['ftp://example.com', 'an http or https address'],
    ['javascript:alert(1)', 'an http or https address'],
    ['nonsense', 'an http or https address'],
    ['', 'an http or https address'],
    ['https://name@example.com/v1', 'a name or password'],
    ['https://:secret@example.com/v1', 'a name or password'],
    ['https://example.com/v1?key=secret', 'a question mark'],
    ['https://example.com/v1#x', 'a hash sign'],
  ])('[demo] refuses the base URL %s', (baseURL, words) => {
    const reading = readConfig({ kind: 'openai-compatible', baseURL, apiKey: '', model: 'm' })
    expect(reading).toMatchObject({ ok: false, errors: { baseURL: expect.stringContaining(words) as string } })
  })

  test('[demo] says all that is wrong at once, field by field', () => {
    expect(readConfig({ kind: 'openai-compatible', baseURL: 'x', apiKey: 'with space', model: ' ' })).toEqual({
      ok: false,
      errors: {
        baseURL: 'The base URL must be an http or https address.',
        apiKey: 'This cannot be a key: it has spaces or unusual characters in it.',
        model: 'A model is needed.',
      },
    })
    expect(readConfig({ kind: 'anthropic', model: 'm' })).toMatchObject({
      errors: { apiKey: expect.stringContaining('A key is needed') as string },
    })
    expect(readConfig({ kind: 'embedded', model: 'gpt' })).toMatchObject({
      errors: { model: 'The embedded provider does not have this model.' },
    })
  })

  test('[demo] never throws, and what it takes it takes again unchanged', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl(), fc.constantFrom('embedded-small', 'k', 'm'))
    const value = fc.oneof(
      fc.anything(),
      fc.record({
        kind: fc.constantFrom('embedded', 'openai-compatible', 'anthropic'),
        baseURL: text,
        apiKey: text,
        model: text,
      }),
    )
    fc.assert(
      fc.property(value, value => {
        const reading = readConfig(value)
        if (reading.ok) expect(readConfig(reading.config)).toEqual(reading)
        else expect(Object.keys(reading.errors)).not.toHaveLength(0)
      }),
    )
  })
})

describe('readForm', () => {
  const keyFor = (origin: string) => (origin === 'https://api.example.com' ? 'known-key' : '')

  test('[demo] an empty key is the known one of the same origin', () => {
    expect(readForm(form({ baseURL: 'https://api.example.com/other' }), keyFor)).toMatchObject({
      config: { apiKey: 'known-key' },
    })
    expect(readForm(form({ key: 'typed' }), keyFor)).toMatchObject({ config: { apiKey: 'typed' } })
  })

  test('[demo] a key does not follow to another origin', () => {
    for (const baseURL of ['https://api.example.com:8443/v1', 'http://api.example.com/v1', 'https://example.com/v1'])
      expect(readForm(form({ baseURL }), keyFor)).toMatchObject({ ok: true, config: { apiKey: '' } })
    expect(readForm(form({ kind: 'anthropic', baseURL: '' }), keyFor)).toMatchObject({ ok: false })
    expect(readForm(form({ kind: 'embedded', model: 'embedded-small' }), keyFor)).toEqual({
      ok: true,
      config: { kind: 'embedded', model: 'embedded-small', via: 'worker' },
    })
  })

  test('[demo] what is no address has no key', () => {
    expect(readForm(form({ baseURL: 'nonsense' }), () => 'any')).toMatchObject({ ok: false })
  })
})

describe('initialConfig', () => {
  const at = (search: string) => ({ origin: 'https://pages.test', search })

  test('[demo] is the embedded provider, without a server', () => {
    expect(initialConfig(at(''))).toEqual({ kind: 'embedded', model: 'embedded-small', via: 'worker' })
  })

  test('[demo] tests ask it over HTTP', () => {
    const overHttp = {
      kind: 'openai-compatible',
      baseURL: 'https://pages.test/v1',
      apiKey: 'embedded',
      model: 'embedded-small',
    }
    expect(initialConfig(at('?e2e'))).toEqual(overHttp)
    expect(initialConfig(at('?e2e&provider=embedded'))).toMatchObject({ kind: 'embedded', via: 'worker' })
  })

  test('[demo] an address in the query wins, unless it is none', () => {
    expect(initialConfig(at('?provider=http://127.0.0.1:4599/v1'))).toEqual({
      kind: 'openai-compatible',
      baseURL: 'http://127.0.0.1:4599/v1',
      apiKey: 'embedded',
      model: 'embedded-small',
    })
    expect(initialConfig(at('?provider=javascript:1'))).toMatchObject({ kind: 'embedded' })
    expect(initialConfig(at('?provider=https://a:b@c.test'))).toMatchObject({ kind: 'embedded' })
    // A link must not send what people write to somebody else.
    expect(initialConfig(at('?provider=https://other.test/v1'))).toMatchObject({ kind: 'embedded' })
  })

  test('[demo] then what was remembered', () => {
    const remembered = { kind: 'anthropic', apiKey: 'k', model: 'm' } as const
    expect(initialConfig(at(''), remembered)).toBe(remembered)
    expect(initialConfig(at('?e2e'), remembered)).toBe(remembered)
    expect(initialConfig(at('?provider=http://localhost:8080/v1'), remembered)).toMatchObject({ apiKey: 'embedded' })
  })
})

test('[demo] origins, keys and labels', () => {
  expect(labelOf({ kind: 'embedded', model: 'embedded-small', via: 'worker' })).toBe('Embedded · embedded-small')
  expect(labelOf({ kind: 'anthropic', apiKey: 'k', model: 'c' })).toBe('Anthropic · c')
  expect(labelOf({ kind: 'anthropic', apiKey: 'k', model: 'c', baseURL: 'https://proxy.test/v1' })).toBe(
    'proxy.test · c',
  )
  expect(labelOf({ kind: 'openai-compatible', baseURL: 'http://localhost:1234/v1', apiKey: '', model: 'm' })).toBe(
    'localhost:1234 · m',
  )
  expect(originOf({ kind: 'anthropic' })).toBe('https://api.anthropic.com')
  expect(originOf({ kind: 'openai-compatible', baseURL: 'nonsense' })).toBeNull()
  expect(originOf({ kind: 'embedded' })).toBeNull()
  expect(keyOf({ kind: 'embedded', model: 'embedded-small', via: 'worker' })).toBe('')
  for (const host of ['localhost', 'a.localhost', '127.0.0.1', '127.1.2.3', '[::1]'])
    expect(isLoopback(host)).toBe(true)
  for (const host of ['localhost.example.com', '127.0.0.1.nip.io', '192.168.0.1', 'example.com'])
    expect(isLoopback(host)).toBe(false)
  for (const id of embeddedModelIds) expect(contextWindows.get(id)).toBeGreaterThan(0)
})
