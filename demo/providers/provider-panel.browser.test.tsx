import { StrictMode } from 'react'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { page, userEvent } from 'vitest/browser'
import { render } from 'vitest-browser-react'
import type { ProviderConfig } from './config.ts'
import { createKeyStore, type KeyStore, storageKey } from './key-store.ts'
import { ProviderPanel, type ProviderPanelProps } from './provider-panel.tsx'
import type { Verdict } from './test-connection.ts'

const embedded: ProviderConfig = { kind: 'embedded', model: 'embedded-small', via: 'worker' }
const openAi: ProviderConfig = {
  kind: 'openai-compatible',
  baseURL: 'https://api.test/v1',
  apiKey: 'sk-first-secret',
  model: 'm-1',
}

const baseURL = page.getByLabelText('Base URL')
const model = page.getByLabelText('Model', { exact: true })
const key = page.getByLabelText('Key')
const remember = page.getByLabelText('Remember on this device')
const status = page.getByRole('status')
const use = page.getByRole('button', { name: 'Use this provider' })
const testButton = page.getByRole('button', { name: 'Test connection' })

let keyStore: KeyStore
const onUse = vi.fn<ProviderPanelProps['onUse']>()

beforeEach(() => {
  localStorage.clear()
  keyStore = createKeyStore()
  onUse.mockReset().mockResolvedValue(undefined)
})

const show = (config: ProviderConfig, props: Partial<ProviderPanelProps> = {}) =>
  render(
    <StrictMode>
      <ProviderPanel config={config} onUse={onUse} keyStore={keyStore} {...props} />
    </StrictMode>,
  )
const fillOpenAi = async () => {
  await page.getByLabelText('OpenAI-compatible').click()
  await baseURL.fill('https://api.test/v1/')
  await model.fill('m-1')
  await key.fill('sk-first-secret')
}
/** Everything the page shows or keeps, values of fields included. */
const everything = () =>
  document.documentElement.outerHTML +
  [...document.querySelectorAll('input')].map(field => field.value).join() +
  JSON.stringify({ ...localStorage, title: document.title, href: location.href })

describe('using', () => {
  test('[demo] hands over what was typed, tidied, and keeps the key out of page and storage', async () => {
    await show(embedded)
    await fillOpenAi()
    expect(document.documentElement.outerHTML).not.toContain('sk-first-secret')
    await use.click()
    await expect.element(status).toHaveTextContent('Used from the next message on.')
    expect(onUse).toHaveBeenCalledExactlyOnceWith(openAi, { remember: false })
    await expect.element(key).toHaveValue('')
    await expect.element(key).toHaveAttribute('placeholder', 'set')
    await expect.element(baseURL).toHaveValue('https://api.test/v1')
    expect(everything()).not.toContain('sk-first-secret')
  })

  test('[demo] the key stays with its origin when only the model changes, and does not follow to another', async () => {
    await show(openAi)
    await expect.element(key).toHaveAttribute('placeholder', 'set')
    await model.fill('m-2')
    await use.click()
    await expect.element(status).toHaveTextContent('Used')
    expect(onUse).toHaveBeenLastCalledWith({ ...openAi, model: 'm-2' }, { remember: false })
    await baseURL.fill('https://other.test/v1')
    await expect.element(key).toHaveAttribute('placeholder', 'none')
    await use.click()
    await expect.element(status).toHaveTextContent('Used')
    expect(onUse).toHaveBeenLastCalledWith(
      { ...openAi, model: 'm-2', baseURL: 'https://other.test/v1', apiKey: '' },
      { remember: false },
    )
  })

  test('[demo] each kind has its fields', async () => {
    await show(embedded)
    await expect.element(model).toHaveValue('embedded-small')
    await expect.element(baseURL).not.toBeInTheDocument()
    await expect.element(key).not.toBeInTheDocument()
    await userEvent.selectOptions(model, 'embedded-large')
    await use.click()
    await expect.element(status).toHaveTextContent('Used')
    expect(onUse).toHaveBeenLastCalledWith({ ...embedded, model: 'embedded-large' }, { remember: false })
    await page.getByLabelText('Anthropic').click()
    await key.fill('sk-ant-x')
    await use.click()
    await expect.element(status).toHaveTextContent('Used')
    expect(onUse).toHaveBeenLastCalledWith(
      { kind: 'anthropic', model: 'claude-haiku-4-5', apiKey: 'sk-ant-x' },
      { remember: false },
    )
  })

  test('[demo] a worker that is gone is said, and nothing is kept', async () => {
    onUse.mockRejectedValue(new Error('lost'))
    await show(embedded)
    await fillOpenAi()
    await remember.click()
    await use.click()
    await expect.element(status).toHaveTextContent('Not changed: the agent’s worker is gone.')
    expect(localStorage).toHaveLength(0)
  })
})

describe('mistakes', () => {
  test('[demo] are said at their fields, and the first gets the focus', async () => {
    await show(embedded)
    await page.getByLabelText('OpenAI-compatible').click()
    await baseURL.fill('nonsense')
    await use.click()
    await expect.element(page.getByText('The base URL must be an http or https address.')).toBeVisible()
    await expect.element(baseURL).toHaveFocus()
    await expect.element(baseURL).toHaveAttribute('aria-invalid', 'true')
    await expect.element(baseURL).toHaveAccessibleDescription('The base URL must be an http or https address.')
    await expect.element(model).toHaveAccessibleDescription('A model is needed.')
    expect(onUse).not.toHaveBeenCalled()
    await baseURL.fill('https://api.test/v1')
    await expect.element(baseURL).not.toHaveAttribute('aria-invalid')
  })

  test('[demo] Anthropic needs a key', async () => {
    await show(embedded)
    await page.getByLabelText('Anthropic').click()
    await testButton.click()
    await expect.element(key).toHaveFocus()
    await expect.element(page.getByText('A key is needed', { exact: false })).toBeVisible()
  })
})

describe('remembering', () => {
  test('[demo] stores at use and not before; un-ticking removes at once', async () => {
    await show(embedded)
    await fillOpenAi()
    await remember.click()
    expect(localStorage).toHaveLength(0)
    await use.click()
    await expect.element(status).toHaveTextContent('Used')
    expect(onUse).toHaveBeenLastCalledWith(openAi, { remember: true })
    expect(Object.keys(localStorage)).toEqual([storageKey])
    expect(createKeyStore().load()).toEqual(openAi)
    await expect.element(remember).toBeChecked()
    await remember.click()
    expect(localStorage).toHaveLength(0)
    await expect.element(key).toHaveAttribute('placeholder', 'set')
  })

  test('[demo] what was remembered shows after a reload, but not its key; forgetting takes that from the page too', async () => {
    keyStore.use(openAi, { remember: true })
    keyStore = createKeyStore()
    await show(keyStore.load() ?? embedded)
    await expect.element(remember).toBeChecked()
    await expect.element(key).toHaveValue('')
    await expect.element(key).toHaveAttribute('placeholder', 'set')
    expect(document.documentElement.outerHTML).not.toContain('sk-first-secret')
    await page.getByRole('button', { name: 'Forget key' }).click()
    await expect.element(status).toHaveTextContent('Forgotten. The agent has it until')
    await expect.element(key).toHaveAttribute('placeholder', 'none')
    expect(localStorage).toHaveLength(0)
  })

  test('[demo] a browser that stores nothing is reported', async () => {
    keyStore = createKeyStore(() => {
      throw new DOMException('denied', 'SecurityError')
    })
    await show(embedded)
    await fillOpenAi()
    await remember.click()
    await use.click()
    await expect.element(status).toHaveTextContent('Used from the next message on. It could not be remembered')
    await expect.element(remember).not.toBeChecked()
  })
})

describe('testing', () => {
  const failing: Verdict = { ok: false, code: 'key', message: 'It refused the key.', hint: 'Check it.' }

  test('[demo] says what was found, and offers the models', async () => {
    const test = vi.fn<NonNullable<ProviderPanelProps['test']>>().mockResolvedValueOnce(failing)
    test.mockResolvedValueOnce({ ok: true, message: 'All is well.', models: ['m-1', 'm-2'] })
    await show(embedded, { test })
    await fillOpenAi()
    await testButton.click()
    await expect.element(status).toHaveTextContent('It refused the key. Check it.')
    expect(test.mock.calls[0]?.[0]).toEqual(openAi)
    await testButton.click()
    await expect.element(status).toHaveTextContent('All is well.')
    expect([...document.querySelectorAll('datalist option')].map(each => each.getAttribute('value'))).toEqual([
      'm-1',
      'm-2',
    ])
    expect(onUse).not.toHaveBeenCalled()
    expect(localStorage).toHaveLength(0)
  })

  test('[demo] can be cancelled, also by changing a field or going away', async () => {
    const signals: AbortSignal[] = []
    const test: ProviderPanelProps['test'] = (_, { signal }) => {
      signals.push(signal)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    }
    const panel = await show(embedded, { test })
    await testButton.click()
    await expect.element(status).toHaveTextContent('Testing the connection…')
    await page.getByRole('button', { name: 'Cancel test' }).click()
    await expect.element(status).toHaveTextContent('Test cancelled.')
    await testButton.click()
    await page.getByLabelText('Anthropic').click()
    await expect.element(testButton).toBeVisible()
    await expect.element(status).toHaveTextContent('')
    await page.getByLabelText('Embedded').click()
    await testButton.click()
    await expect.element(page.getByRole('button', { name: 'Cancel test' })).toBeVisible()
    await panel.unmount()
    expect(signals.map(signal => signal.aborted)).toEqual([true, true, true])
  })

  test('[demo] the embedded provider is tested for real', async () => {
    await show(embedded)
    await testButton.click()
    await expect.element(status).toHaveTextContent('part of this page')
  })
})
