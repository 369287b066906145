/** The sessions of a worker, for a page: opens, lists, names, branches, imports, exports and deletes them. */
import { transfer } from 'comlink'
import type { PalimpsestError } from '../core/errors.ts'
import type { FileBlock, ImageBlock } from '../core/message.ts'
import type { ReadProgress } from '../files/read-log.ts'
import type { FamilyMember } from '../sessions/family.ts'
import type { ImportResult } from '../sessions/import-log.ts'
import type { PageOptions, SessionPage, SessionSummary } from '../sessions/session-list.ts'
import { randomId } from '../storage/random-id.ts'
import { Listeners } from '../views/listeners.ts'
import { ClientSession } from './client-session.ts'
import { WorkerError } from './errors.ts'
import type { Link } from './link.ts'
import { attachTo } from './own-tools.ts'
import type { Attachment, BranchHow, DeleteHow, ExportHow, FeedItem, ImportHow } from './protocol.ts'

/** A file of the user, a stream of bytes, bytes or text. */
export type ImportSource = Blob | ReadableStream<Uint8Array> | Uint8Array | string

export type ClientImportOptions = ImportHow & {
  /** Gives up; nothing is stored. */
  readonly signal?: AbortSignal
  /** Told while the file is read. */
  readonly onProgress?: (progress: ReadProgress) => void
}

/** The sessions of a worker, as a page has them. */
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
      const ask = () => this.#link.call(commands => commands.openSession(id), { isLong: true })
      opening = this.#attach(id, ask).finally(() => this.#opening.delete(id))
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
   * The family of a session: the first ancestor, then all that branched off, each before its own children. Empty when
   * nobody knows `id` (SPEC W22).
   */
  family(id: string): Promise<readonly FamilyMember[]> {
    return this.#link.call(commands => commands.family(id))
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

  /** A child of `parent`, which is open here, as its agent begins to go on with it. */
  async #branch(parent: string, how: BranchHow, id = randomId()): Promise<ClientSession> {
    const attaching = this.#attach(id, () =>
      this.#link.call(commands => commands.branch(parent, how, id), { isLong: true }),
    )
    const branched = attaching.finally(() => this.#opening.delete(id))
    this.#opening.set(id, branched)
    return branched
  }

  async #attach(id: string, ask: () => Promise<Attachment>): Promise<ClientSession> {
    await this.#ready
    const early: FeedItem[] = []
    this.#early.set(id, early)
    try {
      const attachment = await ask()
      const session = new ClientSession(attachment, this.#link, {
        leave: each => this.#leave(each),
        branch: (each, how, child) => this.#branch(each.id, how, child),
      })
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
