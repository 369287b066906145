/**
 * The page's end of one connection to a worker. Every call settles: when the worker fails to start, dies, hangs or is
 * closed, pending and later calls reject with a typed error (SPEC B3, B4).
 */
import { type Remote, releaseProxy, wrap } from 'comlink'
import type { PalimpsestError } from '../core/errors.ts'
import { decodeError, unwrap, WorkerError } from './errors.ts'
import type { ConnectMessage, FeedItem, FeedMessage, HostCommands, PageMessage, Reply } from './protocol.ts'

/** What a page can connect to. */
export type WorkerLike = Worker | SharedWorker | MessagePort

export type LinkOptions = {
  readonly config: unknown
  /** How long a worker may take to say it is ready, ms. */
  readonly readyTimeoutMs: number
  /** How often a worker with pending calls is asked whether it still answers, ms. Three misses and it is given up. */
  readonly heartbeatMs: number
  readonly onItems: (sessionId: string, items: readonly FeedItem[]) => void
  /** A session is gone for everybody. */
  readonly onSessionEnd: (sessionId: string, error: PalimpsestError) => void
  /** Called once, when the connection is gone for good. */
  readonly onEnd: (error: WorkerError) => void
}

export type CallOptions = {
  /** The worker may be busy with it for longer than a heartbeat allows: reading a large log. */
  readonly isLong?: boolean
}

const MISSES = 3

export class Link {
  readonly #options: LinkOptions
  readonly #worker: WorkerLike
  readonly #commands: Remote<HostCommands>
  readonly #feed: MessagePort
  readonly #ready: Promise<void>
  #becomeReady: () => void = () => {}
  #isReady = false
  #ended: WorkerError | null = null
  /** Rejecters of what waits for the worker. */
  readonly #pending = new Set<(error: WorkerError) => void>()
  readonly #readyTimer: ReturnType<typeof setTimeout>
  #heartbeat: ReturnType<typeof setInterval> | null = null
  #misses = 0
  /** Sends what is held back until the job ends, if anything is. */
  #sendHeld: () => unknown = () => null
  /** Calls under way that may keep the worker busy for long. */
  #long = 0
  /** Aborts when the connection ends. */
  readonly #aliveWait = new AbortController()

  constructor(worker: WorkerLike, options: LinkOptions) {
    this.#worker = worker
    this.#options = options
    const [commands, feed] = [new MessageChannel(), new MessageChannel()]
    this.#commands = wrap<HostCommands>(commands.port1)
    this.#feed = feed.port1
    this.#ready = new Promise(resolve => {
      this.#becomeReady = resolve
    })
    this.#feed.onmessage = ({ data }: MessageEvent<FeedMessage>) => this.#onFeed(data)
    worker.addEventListener('error', this.#onWorkerError)
    this.#readyTimer = setTimeout(() => {
      const { readyTimeoutMs } = options
      this.end(
        new WorkerError(
          'start-timeout',
          `The worker was not ready after ${readyTimeoutMs} ms. Does its script call serve()?`,
        ),
      )
    }, options.readyTimeoutMs)

    const port = 'port' in worker ? worker.port : worker
    const hello: ConnectMessage = {
      palimpsest: 'connect',
      commands: commands.port2,
      feed: feed.port2,
      ...(options.config === undefined ? {} : { config: options.config }),
    }
    try {
      port.postMessage(hello, [commands.port2, feed.port2])
    } catch (error) {
      // After the caller has this object: ending calls back.
      queueMicrotask(() => this.end(notSendable(error)))
    }
    if ('start' in port) port.start()
    this.#sayAlive()
    this.#flushBeforeHiding()
    this.#tellNetwork()
  }

  /**
   * Has `send` called when this job ends, and before anything else is sent: commands leave in the order they were asked
   * for. It is called more than once, and then has nothing to send.
   */
  sendSoon(send: () => unknown): void {
    this.#sendHeld()
    this.#sendHeld = send
    queueMicrotask(send)
  }

  /** Runs one command. Calls made before the worker is ready wait for it. */
  async call<Value>(
    command: (commands: Remote<HostCommands>) => Promise<Reply<Value>>,
    { isLong = false }: CallOptions = {},
  ): Promise<Value> {
    this.#sendHeld()
    if (isLong) this.#long += 1
    try {
      return await this.#call(command)
    } finally {
      if (isLong) this.#long -= 1
    }
  }

  async #call<Value>(command: (commands: Remote<HostCommands>) => Promise<Reply<Value>>): Promise<Value> {
    const answer = await this.track(async () => {
      if (!this.#isReady) await this.#ready
      try {
        return await command(this.#commands)
      } catch (error) {
        throw error instanceof DOMException && error.name === 'DataCloneError' ? notSendable(error) : error
      }
    })
    return unwrap(answer)
  }

  /** Why the connection is gone; null while it stands. */
  get ended(): WorkerError | null {
    return this.#ended
  }

  /** Ends the connection: everything pending rejects with `error`, and so does everything that comes. */
  end(error: WorkerError): void {
    if (this.#ended !== null) return
    this.#ended = error
    clearTimeout(this.#readyTimer)
    if (this.#heartbeat !== null) clearInterval(this.#heartbeat)
    this.#aliveWait.abort()
    this.#worker.removeEventListener('error', this.#onWorkerError)
    const pending = [...this.#pending]
    this.#pending.clear()
    for (const reject of pending) reject(error)
    this.#commands[releaseProxy]()
    this.#feed.close()
    if ('terminate' in this.#worker) this.#worker.terminate()
    this.#options.onEnd(error)
  }

  /** The result of `work`, or a rejection as soon as the connection ends. */
  track<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#ended !== null) return Promise.reject(this.#ended)
    return new Promise((resolve, reject) => {
      this.#pending.add(reject)
      this.#watch()
      const settle = () => this.#pending.delete(reject)
      work().then(
        value => {
          settle()
          resolve(value)
        },
        (error: unknown) => {
          settle()
          reject(error instanceof Error ? error : new WorkerError('internal', String(error)))
        },
      )
    })
  }

  #onFeed(message: FeedMessage): void {
    this.#misses = 0
    switch (message.type) {
      case 'ready':
        clearTimeout(this.#readyTimer)
        this.#isReady = true
        this.#becomeReady()
        if (message.alive !== null) this.#waitForDeath(message.alive)
        return
      case 'items':
        this.#options.onItems(message.sessionId, message.items)
        return
      case 'ended':
        this.#options.onSessionEnd(message.sessionId, decodeError(message.error))
        return
      case 'pong':
    }
  }

  /** The worker holds this lock as long as it lives: getting it means the worker is gone. */
  #waitForDeath(alive: string): void {
    if (!('locks' in navigator)) return
    navigator.locks
      .request(alive, { signal: this.#aliveWait.signal, mode: 'shared' }, () => {
        this.end(new WorkerError('lost', 'The worker is gone; what it had acknowledged is stored. Reconnect to go on.'))
      })
      // Our own abort, or a platform that refuses locks here: then the heartbeat alone watches.
      .catch(() => undefined)
  }

  /** Holds a lock as long as this page lives, so that a worker others share learns when it is gone. */
  #sayAlive(): void {
    if (typeof navigator === 'undefined' || !('locks' in navigator)) return
    // Where there are locks there is this too: both are for secure contexts only.
    const alive = `palimpsest:page:${crypto.randomUUID()}`
    navigator.locks
      .request(alive, { signal: this.#aliveWait.signal }, () => {
        const page: PageMessage = { type: 'page', alive }
        this.#feed.postMessage(page)
        return new Promise<void>(release => {
          this.#aliveWait.signal.addEventListener('abort', () => release(), { once: true })
        })
      })
      // Our own abort, or a platform that refuses locks here: then only `close()` says that the page is gone.
      .catch(() => undefined)
  }

  /** A hidden page may be frozen or discarded without another word: its worker is told to store what it has. */
  #flushBeforeHiding(): void {
    if (typeof document === 'undefined') return
    const { signal } = this.#aliveWait
    const flush = () => {
      const message: PageMessage = { type: 'flush' }
      this.#feed.postMessage(message)
    }
    addEventListener('pagehide', flush, { signal })
    document.addEventListener('freeze', flush, { signal })
    document.addEventListener('visibilitychange', () => document.visibilityState === 'hidden' && flush(), { signal })
  }

  #tellNetwork(): void {
    if (typeof window === 'undefined') return
    const { signal } = this.#aliveWait
    const tell = () => {
      const message: PageMessage = { type: 'network', isOnline: navigator.onLine }
      this.#feed.postMessage(message)
    }
    addEventListener('online', tell, { signal })
    addEventListener('offline', tell, { signal })
    if (!navigator.onLine) tell()
  }

  readonly #onWorkerError = (event: Event): void => {
    if (this.#isReady) return // an uncaught error of a running worker does not end it
    const message = event instanceof ErrorEvent && event.message !== '' ? `: ${event.message}` : ''
    this.end(new WorkerError('start-failed', `The worker's script could not be loaded or failed to start${message}`))
  }

  /** Asks a worker with pending calls whether it still answers. */
  #watch(): void {
    if (this.#heartbeat !== null || this.#ended !== null) return
    this.#misses = 0
    this.#heartbeat = setInterval(() => {
      if (this.#pending.size === 0) {
        if (this.#heartbeat !== null) clearInterval(this.#heartbeat)
        this.#heartbeat = null
      } else if (!this.#isReady || this.#long > 0) {
        // The ready time-out decides; or the worker restores a session, which may take it a while.
        this.#misses = 0
      } else if (this.#misses >= MISSES) {
        const { heartbeatMs } = this.#options
        this.end(new WorkerError('unresponsive', `The worker has not answered for ${MISSES * heartbeatMs} ms`))
      } else {
        this.#misses += 1
        const ping: PageMessage = { type: 'ping' }
        this.#feed.postMessage(ping)
      }
    }, this.#options.heartbeatMs)
  }
}

function notSendable(cause: unknown): WorkerError {
  return new WorkerError(
    'argument',
    'An argument cannot be sent to a worker: pass plain data, without functions',
    {},
    { cause },
  )
}
