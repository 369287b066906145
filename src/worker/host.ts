/** The worker's side: owns storage, live sessions and agents; pages are remote controls (SPEC B3–B6). */
import { expose } from 'comlink'
import type { AgentSetup } from '../agent/agent.ts'
import type { Tool } from '../agent/tool.ts'
import { SessionId } from '../core/ids.ts'
import { jsonText } from '../core/json.ts'
import { KeyedQueue } from '../sessions/keyed-queue.ts'
import { type Lease, platformLease } from '../sessions/lease.ts'
import { Sessions } from '../sessions/sessions.ts'
import { indexedDbStorage } from '../storage/indexeddb.ts'
import type { SessionStorage } from '../storage/storage.ts'
import { reply, WorkerError } from './errors.ts'
import { OpenSession, type Watcher } from './open-session.ts'
import { pageTool } from './page-tools.ts'
import type { Attachment, ConnectMessage, FeedMessage, HostCommands } from './protocol.ts'

export type AgentFactory<Config = unknown> = (context: {
  /**
   * What the page passed to `connect()` or `configure()`, null when it passed nothing. It is not checked against
   * `Config`: page and worker are one application. Keys in it never leave memory.
   */
  readonly config: Config
  readonly sessionId: string
}) => AgentSetup

export type ServeOptions<Config = unknown> = {
  /** Makes what an agent works with; called at the start of each turn. What it throws refuses the prompt. */
  readonly agent: AgentFactory<Config>
  /** Default: IndexedDB, database `palimpsest`. */
  readonly storage?: SessionStorage
  /** Default: Web Locks where there are any. */
  readonly lease?: Lease
  /** Clock, epoch ms. */
  readonly now?: () => number
  /** A fresh unique id on each call. */
  readonly newId?: () => string
  /** Told about failures that belong to no caller. Default: rethrown as an uncaught error of the worker. */
  readonly onError?: (error: unknown) => void
}

/** Where pages come from: a worker's own scope, or one port. */
type Endpoint = MessagePort | DedicatedWorkerGlobalScope | SharedWorkerGlobalScope

/**
 * Serves pages from a worker: call it once, at the top level of the worker's script. `endpoint` is the worker's scope by
 * default; a MessagePort serves one page in the same realm.
 */
export function serve<Config = unknown>(options: ServeOptions<Config>, endpoint: Endpoint = globalThis as never): void {
  const host = new Host(options as ServeOptions)
  const listen = (port: Pick<MessagePort, 'addEventListener'>) => {
    port.addEventListener('message', event => {
      const message = (event as MessageEvent<unknown>).data
      if (isConnectMessage(message)) host.connect(message)
    })
  }
  if ('onconnect' in endpoint) {
    endpoint.addEventListener('connect', event => {
      for (const port of event.ports) {
        listen(port)
        port.start()
      }
    })
  } else {
    listen(endpoint as MessagePort)
    if (endpoint instanceof MessagePort) endpoint.start()
  }
}

const isConnectMessage = (value: unknown): value is ConnectMessage =>
  typeof value === 'object' && value !== null && (value as { palimpsest?: unknown }).palimpsest === 'connect'

class Host {
  readonly #options: ServeOptions
  readonly #storage: SessionStorage
  readonly #sessions: Sessions
  readonly #open = new Map<string, OpenSession>()
  /** Opening, leaving and deleting one session happen one after the other. */
  readonly #queue = new KeyedQueue()
  readonly #now: () => number
  readonly #newId: () => string
  readonly #onError: (error: unknown) => void
  /** Name of the lock this worker holds while it lives. */
  readonly #alive: Promise<string | null>
  #config: unknown = null
  /** Tools of pages, latest registration of a name first. */
  readonly #pageTools = new Map<Watcher, readonly Tool[]>()

  constructor(options: ServeOptions) {
    const { storage = indexedDbStorage(), lease = platformLease(), now = Date.now, newId = randomId } = options
    this.#options = options
    this.#storage = storage
    this.#now = now
    this.#newId = newId
    this.#onError = options.onError ?? reportUncaught
    this.#sessions = new Sessions({
      storage,
      lease,
      now,
      newId,
      onStorageStatus: id => this.#open.get(id)?.statusChanged(),
      onListenerError: this.#onError,
    })
    this.#alive = holdAliveLock(newId)
  }

  connect({ commands, feed, config }: ConnectMessage): void {
    if (config !== undefined) this.#config = config
    const post = (message: FeedMessage) => feed.postMessage(message)
    const watcher: Watcher = { post: (sessionId, items) => post({ type: 'items', sessionId, items }) }
    feed.onmessage = () => post({ type: 'pong' })
    expose(this.#commands(watcher), commands)
    this.#alive.then(alive => post({ type: 'ready', alive }), this.#onError)
  }

  #commands(watcher: Watcher): HostCommands {
    return {
      configure: config => reply(() => this.#configure(config)),
      listSessions: () => reply(() => this.#sessions.list()),
      openSession: id => reply(() => this.#openSession(id, watcher)),
      closeSession: id => reply(() => this.#leave(id, watcher)),
      renameSession: (id, title) => reply(() => done(this.#sessions.rename(SessionId(id), title))),
      deleteSession: id => reply(() => this.#delete(id)),
      append: (id, type, data, intent) => reply(() => this.#append(id, type, data, intent)),
      readEvents: (id, from, to) => reply(() => this.#readEvents(id, from, to)),
      deriveMessages: id => reply(() => jsonText(this.#session(id).live.session.deriveMessages())),
      readSurface: id => reply(() => this.#readSurface(id)),
      flush: id => reply(() => done(this.#session(id).live.flush())),
      send: (id, text) => reply(() => this.#session(id).agent.send({ text }).turn),
      cancel: id => reply(() => done(this.#session(id).agent.cancel())),
      registerTools: (tools, run) =>
        reply(() =>
          done(
            this.#pageTools.set(
              watcher,
              tools.map(description => pageTool(description, run)),
            ),
          ),
        ),
      close: () => reply(() => this.#disconnect(watcher)),
    }
  }

  #configure(config: unknown): null {
    this.#config = config
    return null
  }

  #openSession(id: string, watcher: Watcher): Promise<Attachment> {
    return this.#queue.run(id, () => this.#attach(id, watcher))
  }

  async #attach(id: string, watcher: Watcher): Promise<Attachment> {
    const live = await this.#sessions.open(SessionId(id))
    let open = this.#open.get(id)
    if (open?.live !== live) {
      open = new OpenSession({
        live,
        storageKind: this.#storage.kind,
        setup: () => this.#setup(id),
        now: this.#now,
        newId: this.#newId,
      })
      this.#open.set(id, open)
    }
    return open.attach(watcher)
  }

  #setup(sessionId: string): AgentSetup {
    const setup = this.#options.agent({ config: this.#config, sessionId })
    return { ...setup, tools: [...(setup.tools ?? []), ...[...this.#pageTools.values()].flat()] }
  }

  #session(id: string): OpenSession {
    const open = this.#open.get(id)
    if (open === undefined) throw new WorkerError('closed', `Session ${id} is not open`, { sessionId: id })
    return open
  }

  #append(id: string, type: string, data: string, intent: string | null): number {
    const { session } = this.#session(id).live
    // What a page may append is decided by admission at run time, whatever its types said.
    const append = session.append.bind(session) as unknown as (...values: unknown[]) => { readonly seq: number }
    return append(type, JSON.parse(data), ...(intent === null ? [] : [JSON.parse(intent) as unknown])).seq
  }

  async #readEvents(id: string, from: number, to: number): Promise<string> {
    const texts: string[] = []
    for await (const event of this.#session(id).live.readEvents({ from, to })) texts.push(jsonText(event))
    return `[${texts.join(',')}]`
  }

  #readSurface(id: string): string {
    const { surface, messages } = this.#session(id).live.session
    return jsonText(surface.nodes.map((seq, position) => ({ seq, message: messages.atNode(position) })))
  }

  /** One page leaves a session; the last one closes it. */
  #leave(id: string, watcher: Watcher): Promise<null> {
    return this.#queue.run(id, async () => {
      const open = this.#open.get(id)
      open?.watchers.delete(watcher)
      if (open !== undefined && open.watchers.size === 0) await this.#close(id, open)
      return null
    })
  }

  async #close(id: string, open: OpenSession): Promise<void> {
    this.#open.delete(id)
    await open.dispose()
    await this.#sessions.close(SessionId(id))
  }

  #delete(id: string): Promise<null> {
    return this.#queue.run(id, async () => {
      const open = this.#open.get(id)
      if (open !== undefined) await this.#close(id, open)
      await this.#sessions.delete(SessionId(id))
      return null
    })
  }

  /** A page goes: its tools go with it, and so do the sessions nobody else watches. */
  async #disconnect(watcher: Watcher): Promise<null> {
    this.#pageTools.delete(watcher)
    const watched = [...this.#open].filter(([, open]) => open.watchers.has(watcher))
    const results = await Promise.allSettled(watched.map(([id]) => this.#leave(id, watcher)))
    for (const result of results) if (result.status === 'rejected') throw result.reason
    return null
  }
}

const done = async (work: unknown): Promise<null> => {
  await work
  return null
}

const randomId = (): string => crypto.randomUUID()

/** An uncaught error of the worker: seen in the console and by `worker.onerror`. */
function reportUncaught(error: unknown): void {
  setTimeout(() => {
    throw error
  })
}

/** Takes a lock this worker keeps until it dies, so that a page waiting for it learns of that at once. */
function holdAliveLock(newId: () => string): Promise<string | null> {
  if (typeof navigator === 'undefined' || !('locks' in navigator)) return Promise.resolve(null)
  const name = `palimpsest:alive:${newId()}`
  return new Promise((resolve, reject) => {
    navigator.locks
      .request(name, () => {
        resolve(name)
        return new Promise<never>(() => {})
      })
      .catch(reject)
  })
}
