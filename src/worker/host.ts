/** The worker's side: owns storage, live sessions and agents; pages are remote controls (SPEC B3–B6). */
import { expose } from 'comlink'
import type { AgentSetup } from '../agent/agent.ts'
import { systemClock } from '../agent/clock.ts'
import { keepsTurn, type ResumePolicy } from '../agent/open-step.ts'
import type { Tool } from '../agent/tool.ts'
import { BlobId, SessionId } from '../core/ids.ts'
import { imageOffloading } from '../core/interpreters/image-offload.ts'
import { sessionInvariant } from '../core/invariants/session-invariant.ts'
import { jsonText } from '../core/json.ts'
import { KeyedQueue } from '../sessions/keyed-queue.ts'
import { platformLease } from '../sessions/lease.ts'
import { Sessions } from '../sessions/sessions.ts'
import { indexedDbStorage } from '../storage/indexeddb.ts'
import { type SessionStorage, StorageError } from '../storage/storage.ts'
import { forkFor } from './branching.ts'
import { encodeError, reply, WorkerError } from './errors.ts'
import { exportFor, importFor } from './files.ts'
import { OpenSession, type Watcher } from './open-session.ts'
import { pageTool } from './page-tools.ts'
import type { ServeOptions, SessionExtensions } from './serve-options.ts'
import { WorkerNetwork } from './worker-network.ts'
import type {
  AppendText,
  Attachment,
  BranchHow,
  ConnectMessage,
  DeleteHow,
  FeedMessage,
  HostCommands,
  PageMessage,
  PageToolFacts,
  PageToolRunner,
  WireError,
} from './protocol.ts'
import { randomId } from '../storage/random-id.ts'
import { usageFold } from '../views/usage.ts'

/** Logs of any writer of the format open: its own projecting events are read. */
const withImageOffload = (projections: SessionExtensions['projections'] = []) =>
  projections.some(({ type }) => type === imageOffloading.type) ? projections : [imageOffloading, ...projections]

export class Host {
  readonly #options: ServeOptions
  readonly #storage: SessionStorage
  readonly #sessions: Sessions
  readonly #open = new Map<string, OpenSession>()
  /** Opening, leaving and deleting one session happen one after the other. */
  readonly #queue = new KeyedQueue()
  readonly #now: () => number
  readonly #newId: () => string
  readonly #onError: (error: unknown) => void
  readonly #network = new WorkerNetwork()
  readonly #resume: ResumePolicy
  /** Name of the lock this worker holds while it lives. */
  readonly #alive: Promise<string | null>
  #config: unknown = null
  readonly #pages = new Set<Page>()
  /** Set once for as long as there are pages. */
  #tidying: ReturnType<typeof setTimeout> | null = null

  constructor(options: ServeOptions) {
    const { storage = indexedDbStorage(), lease = platformLease(), now = Date.now, newId = randomId } = options
    this.#options = options
    this.#resume = options.resume ?? 'ask'
    this.#storage = storage
    this.#now = now
    this.#newId = newId
    this.#onError = options.onError ?? reportUncaught
    this.#sessions = new Sessions({
      storage,
      lease,
      now,
      newId,
      ...(options.keepDeletedMs === undefined ? {} : { keepDeletedMs: options.keepDeletedMs }),
      onStorageStatus: id => this.#open.get(id)?.statusChanged(),
      onListenerError: this.#onError,
      folds: [usageFold],
      eventTypes: options.eventTypes ?? [],
      projections: withImageOffload(options.projections),
      liveInvariants: options.liveInvariants ?? [sessionInvariant],
      keepsTurn: keepsTurn(this.#resume, id => this.#setup(id)),
    })
    this.#alive = holdAliveLock(newId)
  }

  connect({ commands, feed, config }: ConnectMessage): void {
    if (config !== undefined) this.#config = config
    const post = (message: FeedMessage) => feed.postMessage(message)
    const page: Page = {
      tools: [],
      gone: new AbortController(),
      post: (sessionId, items) => post({ type: 'items', sessionId, items }),
      end: (sessionId, error) => post({ type: 'ended', sessionId, error }),
    }
    this.#pages.add(page)
    this.#tidying ??= setTimeout(() => void this.#tidy(), TIDY_MS)
    feed.onmessage = ({ data }: MessageEvent<PageMessage>) => {
      if (data.type === 'ping') post({ type: 'pong' })
      else if (data.type === 'flush') this.#flushFor(page)
      else if (data.type === 'network') this.#network.told(data.isOnline)
      else this.#waitForDeath(page, data.alive)
    }
    expose(this.#commands(page), commands)
    this.#alive.then(alive => post({ type: 'ready', alive }), this.#onError)
  }

  /** The page holds this lock as long as it lives: getting it means that the page is gone without a word. */
  #waitForDeath(page: Page, alive: string): void {
    navigator.locks
      .request(alive, { signal: page.gone.signal, mode: 'shared' }, () => this.#disconnect(page))
      .catch((error: unknown) => {
        if (!page.gone.signal.aborted) this.#onError(error)
      })
  }

  /** What the storage refuses is tried again by the next worker, and told by whatever else asks for the same. */
  async #tidy(): Promise<void> {
    try {
      await this.#sessions.tidy()
    } catch (error) {
      if (!(error instanceof StorageError)) this.#onError(error)
    }
  }

  /** What cannot be stored is in the status, and stays. A session nothing was said in is not stored for being left. */
  #flushFor(page: Page): void {
    for (const { live, watchers } of this.#open.values()) {
      if (watchers.has(page) && live.session.length > 0) live.flush().catch(() => undefined)
    }
  }

  #commands(page: Page): HostCommands {
    return {
      configure: config => reply(() => this.#configure(config)),
      listSessions: () => reply(() => this.#sessions.list()),
      openSession: id => reply(() => this.#openSession(id, page)),
      branch: (id, how, childId) => reply(() => this.#branch(id, how, childId, page)),
      family: id => reply(() => this.#sessions.family(SessionId(id))),
      closeSession: id => reply(() => this.#leave(id, page)),
      pageSessions: options => reply(() => this.#sessions.page(options)),
      pinSession: (id, pinned) => reply(() => done(this.#sessions.pin(SessionId(id), pinned))),
      undeleteSession: id => reply(() => done(this.#sessions.undelete(SessionId(id)))),
      putBlob: blob => reply(() => this.#sessions.putBlob(blob)),
      getBlob: id => reply(() => this.#getBlob(id)),
      renameSession: (id, title) => reply(() => done(this.#sessions.rename(SessionId(id), title))),
      deleteSession: (id, how) => reply(() => this.#delete(id, how)),
      importSession: (source, how, port) => reply(() => importFor(this.#sessions, source, how, port)),
      exportSession: (id, how) => reply(() => exportFor(this.#sessions, id, how, this.#options.redact)),
      append: (id, appends) => reply(() => this.#appendAll(id, appends)),
      readEvents: (id, from, to) => reply(() => this.#readEvents(id, from, to)),
      deriveMessages: id => reply(() => jsonText(this.#session(id).live.session.deriveMessages())),
      readSurface: id => reply(() => jsonText(this.#session(id).readSurface())),
      flush: id => reply(() => done(this.#session(id).live.flush())),
      send: (id, target, prompt) => reply(() => this.#session(id).send(target, prompt)),
      inject: (id, note) => reply(() => this.#session(id).agent.inject(note)),
      resume: id => reply(() => this.#session(id).agent.resume()?.turn ?? null),
      replaceQueued: (id, messageId, prompt) => reply(() => this.#session(id).replaceQueued(messageId, prompt)),
      clearQueued: id => reply(() => this.#session(id).clearQueued()),
      approve: (id, callId, answer) => reply(() => this.#session(id).approve(callId, answer)),
      cancel: (id, messageId) => reply(() => done(this.#session(id).cancel(messageId))),
      registerTools: (tools, run) => reply(() => registerTools(page, tools, run)),
      close: () => reply(() => this.#disconnect(page)),
    }
  }

  #configure(config: unknown): null {
    this.#config = config
    return null
  }

  #openSession(id: string, page: Page): Promise<Attachment> {
    return this.#queue.run(id, () => this.#attach(id, page))
  }

  /** A child nobody can begin with is deleted again: the page was told that there is none. */
  #branch(id: string, how: BranchHow, childId: string, page: Page): Promise<Attachment> {
    return this.#queue.run(childId, async () => {
      page.gone.signal.throwIfAborted()
      const ids = { id: SessionId(childId), newId: this.#newId }
      const said = await forkFor(this.#sessions, this.#session(id).live, how, ids)
      try {
        const attachment = await this.#attach(childId, page)
        if (said !== null) this.#session(childId).agent.sayAgain(said)
        return attachment
      } catch (error) {
        const open = this.#open.get(childId)
        await open?.agent.dispose()
        await this.#sessions.delete(ids.id)
        if (open !== undefined) this.#forget(childId, open, null)
        throw error
      }
    })
  }

  async #attach(id: string, page: Page): Promise<Attachment> {
    const live = await this.#sessions.open(SessionId(id))
    let open = this.#open.get(id)
    if (open?.live !== live) {
      open = new OpenSession({
        live,
        storageKind: this.#storage.kind,
        setup: () => this.#setup(id),
        newId: this.#newId,
        clock: { ...systemClock, now: this.#now },
        network: this.#network,
        resume: this.#resume,
        readBlob: blob => this.#sessions.getBlob(BlobId(blob)),
        putBlob: data => this.#sessions.putBlob(data),
        setTitle: (title, messageSeqs) => {
          return this.#sessions.setTitle(live, title, { messageSeqs, source: { kind: 'agent' } })
        },
        onError: this.#onError,
      })
      this.#open.set(id, open)
    }
    if (page.gone.signal.aborted) {
      // It left while this was under way: nobody would ever leave for it again.
      if (open.watchers.size === 0) await this.#close(id, open)
      throw page.gone.signal.reason as Error
    }
    const attachment = open.attach(page)
    // Once somebody is there who can be asked.
    open.agent.start()
    return attachment
  }

  /** Of page tools with one name, those of a page that watches the session win, then the ones that came last. */
  #setup(sessionId: string): AgentSetup {
    const setup = this.#options.agent({ config: this.#config, sessionId })
    const pageTools = [...this.#pageTools(sessionId)].map(([name, tool]): Tool => {
      // By the time it runs its page may have been reloaded, and have it again.
      const current = () => this.#pageTools(sessionId).get(name) ?? tool
      return { ...tool, execute: (input, context) => current().execute(input, context) }
    })
    return { ...setup, tools: [...(setup.tools ?? []), ...pageTools] }
  }

  #pageTools(sessionId: string): ReadonlyMap<string, Tool> {
    const watchers = this.#open.get(sessionId)?.watchers
    const pages = [...this.#pages].sort((left, right) => Number(watchers?.has(left)) - Number(watchers?.has(right)))
    return new Map(pages.flatMap(page => page.tools.map(tool => [tool.description.name, tool] as const)))
  }

  #session(id: string): OpenSession {
    const open = this.#open.get(id)
    if (open === undefined) throw new WorkerError('closed', `Session ${id} is not open`, { sessionId: id })
    return open
  }

  #appendAll(id: string, appends: readonly AppendText[]): readonly (number | WireError)[] {
    const { session } = this.#session(id).live
    // What a page may append is decided by admission at run time, whatever its types said.
    const append = session.append.bind(session) as unknown as (...values: unknown[]) => { readonly seq: number }
    return appends.map(({ type, data, intent }) => {
      try {
        return append(type, JSON.parse(data), ...(intent === null ? [] : [JSON.parse(intent) as unknown])).seq
      } catch (error) {
        return encodeError(error)
      }
    })
  }

  async #readEvents(id: string, from: number, to: number): Promise<string> {
    const texts: string[] = []
    let length = 0
    for await (const event of this.#session(id).live.readEvents({ from, to })) {
      const text = jsonText(event)
      texts.push(text)
      length += text.length
      if (length > MAX_ANSWER) break
    }
    return `[${texts.join(',')}]`
  }

  /** One page leaves a session; the last one closes it. A session that cannot be stored stays open, and so it says. */
  #leave(id: string, page: Page): Promise<null> {
    return this.#queue.run(id, async () => {
      const open = this.#open.get(id)
      if (open === undefined || !open.watchers.has(page)) return null
      if (open.watchers.size === 1) await this.#close(id, open)
      else open.watchers.delete(page)
      return null
    })
  }

  async #close(id: string, open: OpenSession): Promise<void> {
    await open.agent.dispose()
    try {
      await this.#sessions.close(SessionId(id))
    } catch (error) {
      if (!open.live.isClosed) open.agent.start()
      // Another writer has it: the page must not go on with what is no longer open here.
      if (open.live.isClosed) this.#forget(id, open, error)
      throw error
    }
    this.#forget(id, open, null)
  }

  /** The session is not open any more; who watches it is told of `error`. */
  #forget(id: string, open: OpenSession, error: unknown): void {
    this.#open.delete(id)
    if (error !== null) for (const watcher of open.watchers) watcher.end(id, encodeError(error))
    open.dispose()
  }

  async #getBlob(id: string): Promise<Blob | null> {
    const bytes = await this.#sessions.getBlob(BlobId(id))
    return bytes === null ? null : new Blob([new Uint8Array(bytes)])
  }

  #delete(id: string, how: DeleteHow): Promise<null> {
    return this.#queue.run(id, async () => {
      const open = this.#open.get(id)
      await open?.agent.dispose()
      try {
        await this.#sessions.delete(SessionId(id), how)
      } catch (error) {
        if (open?.live.isClosed === false) open.agent.start()
        throw error
      }
      if (open === undefined) return null
      this.#forget(id, open, new WorkerError('closed', `Session ${id} was deleted`, { sessionId: id }))
      return null
    })
  }

  /** A page goes: its tools go with it, and so do the sessions nobody else watches. */
  async #disconnect(page: Page): Promise<null> {
    this.#pages.delete(page)
    if (this.#pages.size === 0 && this.#tidying !== null) {
      clearTimeout(this.#tidying)
      this.#tidying = null
    }
    page.gone.abort(new WorkerError('lost', 'The page that runs this tool is gone'))
    const watched = [...this.#open].filter(([, open]) => open.watchers.has(page))
    const results = await Promise.allSettled(watched.map(([id]) => this.#leave(id, page)))
    for (const result of results) if (result.status === 'rejected') throw result.reason
    return null
  }
}

/** When a worker tidies up after its first page came, ms: not before it has other things behind it. */
const TIDY_MS = 20_000

/** A connected page: watches sessions, and may have tools. */
type Page = Watcher & { tools: readonly Tool[]; readonly gone: AbortController }

/** Most text of one answer, UTF-16 units: an engine's strings end somewhere. */
const MAX_ANSWER = 8_000_000

function registerTools(page: Page, tools: readonly PageToolFacts[], run: PageToolRunner): null {
  page.tools = tools.map(description => pageTool(description, run, page.gone.signal))
  return null
}

const done = async (work: unknown): Promise<null> => {
  await work
  return null
}

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
