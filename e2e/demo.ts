/** The demo page as a person uses it, and what is stored behind it as the browser tells it. */
import { test as base, expect, type Locator, type Page } from '@playwright/test'

/** An event as it is stored. */
export type StoredEvent = {
  readonly type: string
  readonly seq: number
  readonly time: number
  // Tests look into payloads of all kinds, and expectations check what they find.
  readonly data: Record<string, unknown>
  readonly surfaceOp?: unknown
  readonly sourceEventSeqs?: readonly number[]
}

/** A message of a chat completion request. */
export type WireMessage = Record<string, unknown>

/** What the page offers to tests at `?e2e`. */
export type TestHook = {
  readonly palimpsest: {
    readonly sessions: {
      readonly delete: (id: string) => Promise<void>
      readonly export: (id: string) => Promise<Blob>
      readonly attach: (data: Blob, name: string) => Promise<object>
      readonly import: (text: string, how: { readonly id: string }) => Promise<unknown>
    }
  }
  readonly session: () => {
    readonly length: number
    readonly append: (
      type: string,
      data: object,
      intent?: { surfaceOp: unknown; sourceEventSeqs?: number[] },
    ) => Promise<{
      readonly seq: number
    }>
    readonly inject: (note: { readonly text: string; readonly summary: string }) => Promise<string>
    readonly deriveMessages: () => Promise<Message[]>
    readonly readSurface: () => Promise<{
      readonly nodes: readonly { readonly seq: number; readonly message: Message | null }[]
    }>
  } | null
  readonly requestMessages: (messages: readonly Message[]) => {
    readonly messages: readonly Message[]
    readonly changes: readonly unknown[]
  }
  readonly killWorker: () => void
}
export type Block = {
  readonly type: string
  readonly text?: string
  readonly id?: string
  readonly name?: string
  readonly arguments?: string
  readonly toolCallId?: string
  readonly content?: readonly Block[]
}
export type Message = {
  readonly id: string
  readonly role: string
  readonly content: readonly Block[]
  readonly source?: object
}

declare global {
  interface Window {
    palimpsestDemo: TestHook
  }
}

export class Demo {
  readonly page: Page
  readonly rows: Locator
  readonly status: Locator
  readonly prompt: Locator
  readonly notice: Locator
  readonly surface: Locator
  readonly log: Locator

  constructor(page: Page) {
    this.page = page
    // What can be done at the end of a turn is no row of it.
    this.rows = page.locator('#rows > :not(.turn-end)')
    this.status = page.locator('#status')
    this.prompt = page.getByRole('textbox', { name: 'Message' })
    this.notice = page.locator('#notice')
    this.surface = page.locator('#surface > .node')
    this.log = page.locator('#log > .event')
  }

  /** Opens the page on a session, by default a new one, and waits until it can be used. */
  async open({ id = crypto.randomUUID().toString(), query = '' } = {}): Promise<string> {
    await this.page.goto(`/?e2e${query}#session=${id}`)
    await expect(this.status).toHaveText(/^Idle · /)
    return id
  }

  async reload(): Promise<void> {
    await this.page.reload()
    await expect(this.status).toHaveText(/^Idle · /)
  }

  /** Id of the session on the page. */
  get id(): string {
    return decodeURIComponent(/#session=(.+)$/.exec(this.page.url())?.[1] ?? '')
  }

  /** Sends a prompt and waits until it is taken. */
  async send(text: string): Promise<void> {
    await this.prompt.fill(text)
    await this.prompt.press('Enter')
    await expect(this.prompt).toHaveValue('')
  }

  /** Sends a prompt and waits until its turn has ended and is stored. */
  async ask(text: string): Promise<void> {
    const before = await this.turnEnds.count()
    await this.send(text)
    await this.ended(before + 1)
  }

  /** Waits until so many turns have ended and everything is stored: the page says "saved" only when it is. */
  async ended(count: number, timeout = 20_000): Promise<void> {
    await expect(this.turnEnds).toHaveCount(count, { timeout })
    await expect(this.status).toHaveText(/^Idle · (?:\d+ queued · )?saved$/)
  }

  get turnEnds(): Locator {
    return this.log.locator('.type').filter({ hasText: /^turn\/end$/ })
  }

  /** The text of the answer that is arriving. */
  get live(): Locator {
    return this.page.locator('.row.agent.live .body')
  }

  /** Deletes a session of the list by its title, as a person does. It can be brought back. */
  async remove(title: string): Promise<void> {
    await this.page.locator('#sessions .session', { hasText: title }).hover()
    await this.page.getByRole('button', { name: `Delete ${title}`, exact: true }).click()
  }

  /** What was deleted and can be brought back, opened. */
  async openDeleted(): Promise<Locator> {
    const deleted = this.page.locator('#deleted')
    if ((await deleted.getAttribute('open')) === null) await deleted.locator('summary').click()
    await expect(deleted).toHaveAttribute('open', '')
    return deleted
  }

  async startSession(): Promise<string> {
    await this.page.getByRole('button', { name: 'New session' }).first().click()
    await expect(this.page.getByText('One log, three readings of it.')).toBeVisible()
    await expect(this.status).toHaveText(/^Idle · /)
    return this.id
  }

  /** What the three views show, as text. */
  async shown(): Promise<{ transcript: string[]; surface: string[]; log: string[] }> {
    const [transcript, surface, log] = await Promise.all([
      this.rows.allTextContents(),
      this.surface.allTextContents(),
      this.log.allTextContents(),
    ])
    return { transcript, surface, log }
  }

  /** The events of a session, read from the database itself. */
  async stored(id: string = this.id): Promise<StoredEvent[]> {
    const texts = await this.page.evaluate(readStoredTexts, id)
    return texts.flatMap(text => JSON.parse(text) as StoredEvent[])
  }

  /** How the last turn ended, as it is stored. A session is named after that. */
  async lastEnd(): Promise<Record<string, unknown> | undefined> {
    return (await this.stored()).findLast(event => event.type === 'turn/end')?.data
  }

  /** Bodies the embedded provider got with this text in them. */
  async requests(contains: string, status?: number): Promise<{ readonly messages: WireMessage[] }[]> {
    const query = new URLSearchParams({ contains, ...(status === undefined ? {} : { status: String(status) }) })
    const response = await this.page.request.get(`/__provider/requests?${query}`)
    return (await response.json()) as { messages: WireMessage[] }[]
  }
}

/** Runs in the page. */
async function readStoredTexts(id: string): Promise<string[]> {
  const settled = <Value>(request: IDBRequest<Value>) =>
    new Promise<Value>((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error ?? new Error('IndexedDB failed'))
    })
  const db = await settled(indexedDB.open('palimpsest'))
  try {
    const tx = db.transaction(['sessions', 'segments'])
    const record = (await settled(tx.objectStore('sessions').get(id))) as { logId: string } | undefined
    if (record === undefined) return []
    const range = IDBKeyRange.bound([record.logId], [record.logId, []])
    const segments = (await settled(tx.objectStore('segments').getAll(range))) as { firstSeq: number; text: string }[]
    return segments.sort((a, b) => a.firstSeq - b.firstSeq).map(segment => segment.text)
  } finally {
    db.close()
  }
}

/** What a test expects the browser to report; everything else it reports fails the test. */
export class Reports {
  readonly all: string[] = []
  readonly #expected: RegExp[] = []

  /** Says that a report like this one is part of the test. */
  expect(...patterns: readonly RegExp[]): void {
    this.#expected.push(...patterns)
  }

  get unexpected(): readonly string[] {
    return this.all.filter(text => !this.#expected.some(pattern => pattern.test(text)))
  }
}

type Fixtures = {
  demo: Demo
  /**
   * Fails a test in which a page or a worker reports an error or a warning, breaks its content security policy, opens a
   * dialog of the browser, or opens another page.
   */
  reports: Reports
}

export const test = base.extend<Fixtures>({
  reports: [
    async ({ context }, use) => {
      const reports = new Reports()
      const say = (text: string) => void reports.all.push(text)
      context.on('console', message => {
        if (message.type() === 'error' || message.type() === 'warning') say(message.text())
      })
      context.on('weberror', error => say(String(error.error())))
      context.on('dialog', dialog => {
        say(`dialog: ${dialog.message()}`)
        dialog.dismiss().catch(() => undefined)
      })
      context.on('page', page => page.on('popup', popup => say(`popup: ${popup.url()}`)))
      await context.exposeFunction('reportViolation', say)
      await context.addInitScript(() => {
        document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) => {
          const { reportViolation } = window as unknown as { reportViolation: (text: string) => void }
          reportViolation(`violation: ${violatedDirective} ${blockedURI} ${sample}`)
        })
      })
      await use(reports)
      expect(reports.unexpected).toEqual([])
    },
    { auto: true },
  ],
  demo: async ({ page }, use) => {
    await use(new Demo(page))
  },
})

export { expect }
