/** The page's side: connects to a worker and drives it (SPEC B3–B6). */
import { proxy, transfer } from 'comlink'
import type { ToolContext, ToolOutput } from '../agent/tool.ts'
import type { PalimpsestError } from '../core/errors.ts'
import { jsonText, type JsonValue, snapshotJson } from '../core/json.ts'
import type { ReadProgress } from '../files/read-log.ts'
import type { ImportResult } from '../sessions/import-log.ts'
import type { PageOptions, SessionPage, SessionSummary } from '../sessions/session-list.ts'
import type { FileBlock, ImageBlock } from '../core/message.ts'
import { attachmentBlock } from '../sessions/attachments.ts'
import { Listeners } from '../views/listeners.ts'
import { ClientSession } from './client-session.ts'
import { reply, WorkerError } from './errors.ts'
import { Link, type WorkerLike } from './link.ts'
import { persist, type StorageState, storageState } from './page-storage.ts'
import type {
  Attachment,
  DeleteHow,
  ExportHow,
  FeedItem,
  ImportHow,
  PageToolCall,
  PageToolFacts,
  PageToolRunner,
} from './protocol.ts'

/** A tool whose body needs the page. Arguments are checked against `inputSchema` before it runs. */
export type PageTool = {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: { readonly [key: string]: JsonValue }
  /** Whether its calls may run beside others that say so too; default: they do not. */
  readonly parallel?: boolean
  /** Whether a person has to allow each call before it runs; a text says why. */
  readonly needsApproval?: boolean | string
  /** Running a call twice, with the same idempotency key, does no harm: after a crash it may run again. */
  readonly idempotent?: boolean
  /** How long a call may take, ms. */
  readonly timeoutMs?: number
  execute(input: never, context: ToolContext): ToolOutput | Promise<ToolOutput>
}

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

/** What can travel to the worker: all but the body. */
function factsOf(tool: PageTool): PageToolFacts {
  const { name, description, inputSchema, parallel, needsApproval, idempotent, timeoutMs } = tool
  return {
    ...{ name, description, inputSchema },
    ...(parallel === undefined ? {} : { parallel }),
    ...(needsApproval === undefined ? {} : { needsApproval }),
    ...(idempotent === undefined ? {} : { idempotent }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
}

const attachTo: (link: Link, data: Blob | Uint8Array, name: string) => Promise<ImageBlock | FileBlock> = (
  link,
  data,
  name,
) => attachmentBlock(data, name, blob => link.call(commands => commands.putBlob(blob)))

async function runPageTool(
  tools: readonly PageTool[],
  call: PageToolCall,
  port: MessagePort,
  attach: ToolContext['attach'],
): Promise<string> {
  const { name, input, ...rest } = call
  const tool = tools.find(each => each.name === name)
  if (tool === undefined) throw new WorkerError('internal', `This page has no tool named ${name}`)
  const controller = new AbortController()
  port.onmessage = () => controller.abort()
  const context: ToolContext = {
    ...rest,
    signal: controller.signal,
    report: progress => port.postMessage(progress),
    attach,
  }
  try {
    const output = await tool.execute(JSON.parse(input) as never, context)
    return jsonText(snapshotJson(output ?? null))
  } finally {
    port.close()
  }
}

/** A file of the user, a stream of bytes, bytes or text. */
export type ImportSource = Blob | ReadableStream<Uint8Array> | Uint8Array | string

export type ClientImportOptions = ImportHow & {
  /** Gives up; nothing is stored. */
  readonly signal?: AbortSignal
  /** Told while the file is read. */
  readonly onProgress?: (progress: ReadProgress) => void
}

export class ClientSessions {
  readonly #link: Link
  readonly #ready: Promise<void>
  readonly #open = new Map<string, ClientSession>()
  /** Feed items that overtook the answer to `open`. */
  readonly #early = new Map<string, FeedItem[]>()
  readonly #opening = new Map<string, Promise<ClientSession>>()
  /** Sessions that are being closed or deleted: opening one of them waits. Never rejects. */
  readonly #leaving = new Map<string, Promise<void>>()
  readonly #listeners = new Listeners<void>()

  /** @internal */
  constructor(link: Link, ready: Promise<void>) {
    this.#link = link
    this.#ready = ready
    ready.catch(() => undefined) // every `open` reports it
  }

  /**
   * The session named `id`: restored and, when its last turn was cut off, repaired; or created.
   *
   * @throws {StorageError} `in-use` when another tab has it open; {SessionError} when its log breaks a rule.
   */
  open(id: string): Promise<ClientSession> {
    const leaving = this.#leaving.get(id)
    if (leaving !== undefined) return leaving.then(() => this.open(id))
    const known = this.#open.get(id)
    if (known !== undefined) return Promise.resolve(known)
    let opening = this.#opening.get(id)
    if (opening === undefined) {
      opening = this.#attach(id).finally(() => this.#opening.delete(id))
      this.#opening.set(id, opening)
    }
    return opening
  }

  /** Stored and open sessions: pinned ones first, then last changed first. */
  list(): Promise<readonly SessionSummary[]> {
    return this.#link.call(commands => commands.listSessions())
  }

  /** The same a page at a time; or sessions that were deleted and can be brought back. */
  page(options: PageOptions = {}): Promise<SessionPage> {
    return this.#link.call(commands => commands.pageSessions(options))
  }

  /**
   * Calls `listener` when what `list` answers may have changed through this page: a session was opened, closed, renamed or
   * deleted, got its first event, or a turn of it ended. Of sessions this page has not open it tells nothing. Returns the
   * remover.
   */
  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  /**
   * A log from a file of any version, plain, gzip or zstd, as a session of its own: stored whole or not at all, in the
   * worker, and not opened. The answer says which id it has.
   *
   * @throws {FormatError}, {SessionError} with line and seq in the file; {StorageError} when it cannot be stored;
   * the reason of `signal`.
   */
  async import(
    source: ImportSource,
    { id, mode, signal, onProgress }: ClientImportOptions = {},
  ): Promise<ImportResult> {
    const how: ImportHow = { ...(id === undefined ? {} : { id }), ...(mode === undefined ? {} : { mode }) }
    const { port1, port2 } = new MessageChannel()
    const cancel = () => port1.postMessage(null)
    port1.onmessage = ({ data }: MessageEvent<ReadProgress>) => onProgress?.(data)
    signal?.addEventListener('abort', cancel)
    if (signal?.aborted === true) cancel()
    try {
      const isStream = source instanceof ReadableStream
      const file = isStream
        ? transfer(source, [source])
        : source instanceof Blob
          ? source
          : new Blob([source as BlobPart])
      const result = await this.#link.call(commands => commands.importSession(file, how, transfer(port2, [port2])), {
        isLong: true,
      })
      this.#listeners.tell()
      return result
    } catch (error) {
      if (error instanceof WorkerError && error.code === 'cancelled') signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', cancel)
      port1.close()
    }
  }

  /**
   * A session as a file: its log as JSON lines, or a transcript to read.
   *
   * @throws {SessionError} `session-not-found`.
   */
  export(id: string, how: ExportHow = {}): Promise<Blob> {
    return this.#link.call(commands => commands.exportSession(id, how), { isLong: true })
  }

  /** Names a session; null takes the name away. */
  async rename(id: string, title: string | null): Promise<void> {
    await this.#link.call(commands => commands.renameSession(id, title))
    this.#listeners.tell()
  }

  /** Lists a session before all that are not pinned, or no more. */
  async pin(id: string, pinned: boolean): Promise<void> {
    await this.#link.call(commands => commands.pinSession(id, pinned))
    this.#listeners.tell()
  }

  /** Brings a session back that was deleted as `undoable`. @throws {StorageError} `not-found` when it is too late. */
  async undelete(id: string): Promise<void> {
    await this.#link.call(commands => commands.undeleteSession(id))
    this.#listeners.tell()
  }

  /**
   * Stores a file for a prompt: answers the block to send along, an image where it is one that models see. A `File` has
   * its name already. @throws {StorageError} when it cannot be stored.
   */
  attach(
    data: Blob | Uint8Array,
    name: string = data instanceof File ? data.name : '',
  ): Promise<ImageBlock | FileBlock> {
    return attachTo(this.#link, data, name)
  }

  /** Stores bytes for attachments to refer to; answers the `attachmentId`. Kept as long as a session refers to them. */
  putBlob(blob: Blob): Promise<string> {
    return this.#link.call(commands => commands.putBlob(blob))
  }

  /** The bytes of an attachment; null when they are not here. */
  getBlob(attachmentId: string): Promise<Blob | null> {
    return this.#link.call(commands => commands.getBlob(attachmentId))
  }

  /**
   * Deletes a session and closes it where it is open in this worker; an `undoable` one can be brought back with
   * `undelete`, for some days.
   */
  async delete(id: string, how: DeleteHow = {}): Promise<void> {
    const wasOpen = this.#open.has(id)
    await this.#leaveWith(
      id,
      'deleted',
      this.#link.call(commands => commands.deleteSession(id, how)),
    )
    if (!wasOpen) this.#listeners.tell()
  }

  /** @internal */
  apply(sessionId: string, items: readonly FeedItem[]): void {
    const session = this.#open.get(sessionId)
    if (session !== undefined) this.#apply(session, items)
    else this.#early.get(sessionId)?.push(...items)
  }

  /** A page that missed something must not go on as if nothing had happened: the session ends here, to be opened again. */
  #apply(session: ClientSession, items: readonly FeedItem[]): void {
    try {
      if (session.apply(items)) this.#listeners.tell()
    } catch (error) {
      if (!(error instanceof WorkerError)) throw error
      this.#drop(session.id, error)
    }
  }

  /** @internal */
  endOne(sessionId: string, error: PalimpsestError): void {
    this.#drop(sessionId, error)
  }

  /** @internal */
  end(error: WorkerError): void {
    for (const id of [...this.#open.keys()]) this.#drop(id, error)
  }

  async #attach(id: string): Promise<ClientSession> {
    await this.#ready
    const early: FeedItem[] = []
    this.#early.set(id, early)
    try {
      const attachment: Attachment = await this.#link.call(commands => commands.openSession(id), { isLong: true })
      const session = new ClientSession(attachment, this.#link, each => this.#leave(each))
      this.#open.set(id, session)
      this.#apply(session, early)
      this.#listeners.tell()
      return session
    } finally {
      this.#early.delete(id)
    }
  }

  async #leave(session: ClientSession): Promise<void> {
    if (this.#open.get(session.id) !== session) return
    await this.#leaveWith(
      session.id,
      'closed',
      this.#link.call(commands => commands.closeSession(session.id)),
    )
  }

  /** Runs `work`, after which the session is gone; opening it meanwhile waits. When `work` fails, it stays. */
  #leaveWith(id: string, how: string, work: Promise<unknown>): Promise<void> {
    const gone = work.then(() => {
      this.#drop(id, new WorkerError('closed', `Session ${id} was ${how}`, { sessionId: id }))
    })
    const left: Promise<void> = gone
      .catch(() => undefined)
      .then(() => {
        if (this.#leaving.get(id) === left) this.#leaving.delete(id)
      })
    this.#leaving.set(id, left)
    return gone
  }

  #drop(id: string, error: PalimpsestError): void {
    const session = this.#open.get(id)
    if (session === undefined) return
    this.#open.delete(id)
    session.end(error)
    if (this.#link.ended === null) this.#listeners.tell()
  }
}
