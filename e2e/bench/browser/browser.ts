/** A Chromium with a profile on disk, of which one page is open at a time. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright'
import type { BenchPage } from './page.ts'
import type { TaskMessage } from './tasks.ts'

const args = [
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

type Opened = {
  readonly context: BrowserContext
  readonly page: Page
  readonly profile: string
  readonly origin: string
}

export class Browser {
  readonly #folder = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'))
  readonly #forgetAll = (): void => rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  #opened: Opened | null = null
  #end: Promise<void> | null = null
  #version = ''

  constructor() {
    // Also when a Chromium that was just being started comes up after the end.
    process.on('exit', this.#forgetAll)
  }

  /** Of the Chromium that was opened last. */
  get version(): string {
    return this.#version
  }

  /** The page of an origin in a profile; what was open before is closed, what it stored stays. */
  async open(profile: string, origin: string): Promise<Page> {
    if (this.#opened?.profile === profile && this.#opened.origin === origin) return this.#opened.page
    const page = await this.show(profile, origin)
    await page.waitForFunction(() => 'benchPage' in globalThis)
    if (!(await page.evaluate(() => crossOriginIsolated))) throw new Error('The page is not cross-origin isolated')
    return page
  }

  /** Any page, by its address; as `open`. */
  async show(profile: string, address: string): Promise<Page> {
    if (this.#end !== null) throw new Error('The run was stopped')
    if (this.#opened?.profile !== profile) {
      await this.close()
      const executablePath = process.env['PALIMPSEST_CHROMIUM']
      const context = await chromium.launchPersistentContext(join(this.#folder, profile), {
        args,
        // Whoever runs this ends it.
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
        ...(executablePath ? { executablePath } : {}),
      })
      this.#version = context.browser()?.version() ?? this.#version
      const page = context.pages()[0] ?? (await context.newPage())
      this.#opened = { context, page, profile, origin: address }
    }
    const { context, page } = this.#opened
    this.#opened = { context, page, profile, origin: address }
    await page.goto(address)
    return page
  }

  async close(): Promise<void> {
    const opened = this.#opened
    this.#opened = null
    await opened?.context.close()
  }

  /** Bytes of the IndexedDB of an origin in a profile that is not open. */
  storedBytes(profile: string, origin: string): number {
    const folder = join(this.#folder, profile, 'Default', 'IndexedDB')
    const prefix = origin.replace('://', '_').replace(':', '_')
    const mine = readdirSync(folder).filter(name => name.startsWith(`${prefix}.indexeddb.`))
    if (mine.length === 0) throw new Error(`No IndexedDB of ${origin} is in the profile`)
    return mine.reduce((sum, name) => sum + bytesBelow(join(folder, name)), 0)
  }

  forget(profile: string): void {
    rmSync(join(this.#folder, profile), { recursive: true, force: true })
  }

  /** Closes what is open and forgets all profiles; nothing opens after that. */
  end(): Promise<void> {
    this.#end ??= this.close().then(this.#forgetAll)
    return this.#end
  }
}

function bytesBelow(folder: string): number {
  let sum = 0
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) sum += statSync(join(entry.parentPath, entry.name)).size
  }
  return sum
}

/** Bytes that are reachable in the heap of the one worker of a page that `message` was given to. */
export async function heapOf(page: Page, message: TaskMessage): Promise<number> {
  const cdp = await page.context().newCDPSession(page)
  const attached = new Promise<string>(resolve => {
    cdp.on('Target.attachedToTarget', ({ sessionId, targetInfo }) => {
      if (targetInfo.type === 'worker') resolve(sessionId)
    })
  })
  await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: false })
  const answers = new Map<number, (result: unknown) => void>()
  cdp.on('Target.receivedMessageFromTarget', ({ message: text }) => {
    const { id, result, error } = JSON.parse(text) as { id?: number; result?: unknown; error?: { message: string } }
    if (id !== undefined) answers.get(id)?.(error === undefined ? result : new Error(error.message))
  })
  try {
    await page.evaluate(message => (globalThis as unknown as { benchPage: BenchPage }).benchPage.hold(message), message)
    const sessionId = await attached
    const call = async (method: string): Promise<unknown> => {
      const id = answers.size + 1
      const answered = new Promise<unknown>(resolve => answers.set(id, resolve))
      await cdp.send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify({ id, method }) })
      const result = await answered
      if (result instanceof Error) throw result
      return result
    }
    // Twice: what the first one finds to be finalized is gone after the second.
    await call('HeapProfiler.collectGarbage')
    await call('HeapProfiler.collectGarbage')
    // Objects of the engine, of the browser, and the bytes of buffers, each where it is told.
    const usage = (await call('Runtime.getHeapUsage')) as Record<string, number | undefined>
    return (usage['usedSize'] ?? NaN) + (usage['embedderHeapUsedSize'] ?? 0) + (usage['backingStorageSize'] ?? 0)
  } finally {
    await page.evaluate(() => (globalThis as unknown as { benchPage: BenchPage }).benchPage.release())
    await cdp.detach()
  }
}
