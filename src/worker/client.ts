/** The page's side: connects to a worker and drives it (SPEC B3–B6). */
import { proxy } from 'comlink'
import type { ToolContext } from '../agent/tool.ts'
import { ClientSessions } from './client-sessions.ts'
import { reply, WorkerError } from './errors.ts'
import { Link, type WorkerLike } from './link.ts'
import { attachTo, factsOf, type PageTool, runPageTool } from './own-tools.ts'
import { persist, type StorageState, storageState } from './page-storage.ts'
import type { PageToolRunner } from './protocol.ts'

export type ConnectOptions = {
  /** Handed to the worker's agent factory. Plain data; kept in memory only, by the page and by the worker. */
  readonly config?: unknown
  /** Tools that run on this page. */
  readonly tools?: readonly PageTool[]
  /** How long the worker may take to be ready, ms; default 10 000. */
  readonly readyTimeoutMs?: number
  /** How often a worker with pending calls is asked for a sign of life, ms; default 5 000. */
  readonly heartbeatMs?: number
  /** How long `close()` waits for the worker to store what is left, ms; default 5 000. */
  readonly closeTimeoutMs?: number
  /** Told once, when the connection ends for any other reason than `close()`. */
  readonly onLost?: (error: WorkerError) => void
}

/**
 * Connects to a worker that calls `serve()`. Returns at once: calls wait until the worker is ready, and reject with a
 * `WorkerError` when it never is. The connection owns a dedicated worker: it is terminated by `close()` and when it is
 * given up.
 */
export function connect(worker: WorkerLike, options: ConnectOptions = {}): Palimpsest {
  return new Palimpsest(worker, options)
}

export class Palimpsest {
  readonly sessions: ClientSessions
  readonly #link: Link
  readonly #sessions: ClientSessions
  readonly #closeTimeoutMs: number

  /** Use `connect()`. @internal */
  constructor(worker: WorkerLike, options: ConnectOptions) {
    this.#closeTimeoutMs = options.closeTimeoutMs ?? 5_000
    this.#link = new Link(worker, {
      config: options.config,
      readyTimeoutMs: options.readyTimeoutMs ?? 10_000,
      heartbeatMs: options.heartbeatMs ?? 5_000,
      onItems: (sessionId, items) => this.#sessions.apply(sessionId, items),
      onSessionEnd: (sessionId, error) => this.#sessions.endOne(sessionId, error),
      onEnd: error => {
        this.#sessions.end(error)
        if (error.code !== 'closed') options.onLost?.(error)
      },
    })
    this.#sessions = new ClientSessions(this.#link, this.#registerTools(options.tools ?? []))
    this.sessions = this.#sessions
  }

  /** Replaces the configuration; the next turn uses it. */
  async configure(config: unknown): Promise<void> {
    await this.#link.call(commands => commands.configure(config))
  }

  /** How much this origin stores and may store, and whether the browser promised to keep it. */
  storage(): Promise<StorageState> {
    return storageState()
  }

  /**
   * Asks the browser to keep what is stored when space runs low; answers whether it will. Some browsers ask the user: call
   * it when there is something worth keeping.
   */
  persist(): Promise<boolean> {
    return persist()
  }

  /**
   * Ends the connection: the worker stores what is left and gives up what only this page had open. A dedicated worker is
   * terminated. Safe to call twice.
   *
   * @throws {StorageError} when something could not be stored, {WorkerError} `unresponsive` when the worker does not say
   * in time that it is; the connection is ended all the same.
   */
  async close(): Promise<void> {
    if (this.#link.ended !== null) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const patience = new Promise<never>((_resolve, reject) => {
      const message = `The worker did not confirm within ${this.#closeTimeoutMs} ms that everything is stored`
      timer = setTimeout(() => reject(new WorkerError('unresponsive', message)), this.#closeTimeoutMs)
    })
    try {
      await Promise.race([this.#link.call(commands => commands.close()), patience])
    } finally {
      clearTimeout(timer)
      this.#link.end(new WorkerError('closed', 'The connection was closed'))
    }
  }

  /** Registers the page's tools; sessions wait for it, so that no turn starts without them. */
  async #registerTools(tools: readonly PageTool[]): Promise<void> {
    if (tools.length === 0) return
    const facts = tools.map(factsOf)
    const attach: ToolContext['attach'] = (data, name) => attachTo(this.#link, data, name)
    const run: PageToolRunner = (call, port) => reply(() => runPageTool(tools, call, port, attach))
    await this.#link.call(commands => commands.registerTools(facts, proxy(run)))
  }
}
