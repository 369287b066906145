/** The dialog for the provider, as a person fills it in. */
import { type Locator, type Page, expect } from '@playwright/test'

export type ProviderFields = {
  readonly kind?: 'Embedded' | 'OpenAI-compatible' | 'Anthropic'
  readonly url?: string
  readonly model?: string
  readonly key?: string
  readonly remember?: boolean
}

export class ProviderDialog {
  readonly page: Page
  readonly root: Locator
  /** What was said last. */
  readonly said: Locator
  readonly url: Locator
  readonly model: Locator
  readonly key: Locator
  readonly remember: Locator

  constructor(page: Page) {
    this.page = page
    this.root = page.locator('#provider')
    this.said = this.root.locator('.provider-said')
    this.url = this.root.getByLabel('Base URL')
    this.model = this.root.getByLabel('Model', { exact: true })
    this.key = this.root.getByLabel('Key', { exact: true })
    this.remember = this.root.getByLabel('Remember on this device')
  }

  async open(): Promise<void> {
    await this.page.locator('#provider-button').click()
    await expect(this.root).toBeVisible()
  }

  async close(): Promise<void> {
    await this.root.getByRole('button', { name: 'Close' }).click()
    await expect(this.root).toBeHidden()
  }

  async fill({ kind, url, model, key, remember }: ProviderFields): Promise<void> {
    if (kind !== undefined) await this.root.getByRole('radio', { name: kind }).check()
    if (url !== undefined) await this.url.fill(url)
    if (model !== undefined) await this.model.fill(model)
    if (key !== undefined) await this.key.fill(key)
    if (remember !== undefined) await this.remember.setChecked(remember)
  }

  async test(): Promise<void> {
    await this.root.getByRole('button', { name: 'Test connection' }).click()
  }

  /** Fills in the fields and uses what they say from the next message on. */
  async use(fields: ProviderFields): Promise<void> {
    await this.open()
    await this.fill(fields)
    await this.root.getByRole('button', { name: 'Use this provider' }).click()
    await expect(this.said).toHaveText(/^Used from the next message on\./)
    await this.close()
  }
}
