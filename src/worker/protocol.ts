/**
 * What passes between a page and its worker: commands one way over comlink, feed messages the other way over a plain
 * MessagePort. Types only.
 */
import type { ApprovalAnswer } from '../agent/approval.ts'
import type { Prompt } from '../agent/messages.ts'
import type { InboxTarget } from '../core/inbox.ts'
import type { ToolDescription } from '../core/events.ts'
import type { SurfaceChange } from '../core/fold.ts'
import type { ExportOptions } from '../sessions/export-log.ts'
import type { FamilyMember } from '../sessions/family.ts'
import type { ImportOptions, ImportResult } from '../sessions/import-log.ts'
import type { PageOptions, SessionPage, SessionSummary } from '../sessions/session-list.ts'
import type { SessionStatus } from '../views/source.ts'

/** First message of a page to a worker. */
export type ConnectMessage = {
  readonly palimpsest: 'connect'
  /** Commands are served here by comlink. */
  readonly commands: MessagePort
  /** Feed messages go to the page, pings come from it. */
  readonly feed: MessagePort
  /** Handed to the agent factory; kept in memory only. Absent: the worker keeps what it has. */
  readonly config?: unknown
}

/** An error as plain data. */
export type WireError = {
  /** Class name: `SessionError`, `StorageError`, … */
  readonly name: string
  readonly code: string | null
  readonly message: string
  readonly stack: string | null
  readonly facts: { readonly [fact: string]: string | number }
  readonly cause: WireError | null
}

/** Answer to a command. Errors are data: comlink alone would lose their class and code. */
export type Reply<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: WireError }

/** State of a session at the moment a page attaches to it; feed items continue from here. */
export type Attachment = {
  readonly id: string
  readonly nextSeq: number
  readonly surface: {
    readonly nodes: readonly number[]
    readonly replaceGeneration: number
    readonly contentGeneration: number
  }
  readonly status: SessionStatus
  /** Frames so far of a model call that is running, as `frameText` writes them. */
  readonly frames: string
  /** States of `usageFold` and `inboxFold` as of `nextSeq`, as JSON text. */
  readonly usage: string
  readonly inbox: string
}

/** What became of a message: the turn that began with it, or null while it waits; `seq` is that of the last event so far. */
export type SendAnswer = { readonly messageId: string; readonly turn: number | null; readonly seq: number }

export type HostCommands = {
  configure(config: unknown): Promise<Reply<null>>
  listSessions(): Promise<Reply<readonly SessionSummary[]>>
  openSession(id: string): Promise<Reply<Attachment>>
  closeSession(id: string): Promise<Reply<null>>
  /** Opens a child of an open session, named `childId`, and has its agent begin. */
  branch(id: string, how: BranchHow, childId: string): Promise<Reply<Attachment>>
  family(id: string): Promise<Reply<readonly FamilyMember[]>>
  pageSessions(options: PageOptions): Promise<Reply<SessionPage>>
  renameSession(id: string, title: string | null): Promise<Reply<null>>
  pinSession(id: string, pinned: boolean): Promise<Reply<null>>
  deleteSession(id: string, how: DeleteHow): Promise<Reply<null>>
  undeleteSession(id: string): Promise<Reply<null>>
  putBlob(blob: Blob): Promise<Reply<string>>
  getBlob(id: string): Promise<Reply<Blob | null>>
  /** Over `port` the worker tells its progress; any message of the page cancels it. */
  importSession(
    source: Blob | ReadableStream<Uint8Array>,
    how: ImportHow,
    port: MessagePort,
  ): Promise<Reply<ImportResult>>
  exportSession(id: string, how: ExportHow): Promise<Reply<Blob>>
  /** One after the other, each admitted or refused by itself; answers, for each, the seq of its event or its error. */
  append(id: string, appends: readonly AppendText[]): Promise<Reply<readonly (number | WireError)[]>>
  /** Events from `from` on, up to `to` (exclusive) but no more than fit one answer, as the text of a JSON array. */
  readEvents(id: string, from: number, to: number): Promise<Reply<string>>
  /** The derived messages as the text of a JSON array. */
  deriveMessages(id: string): Promise<Reply<string>>
  /** The surface as the JSON text of `{length, nodes}`, as `SessionSource` has it. */
  readSurface(id: string): Promise<Reply<string>>
  flush(id: string): Promise<Reply<null>>
  send(id: string, target: InboxTarget, prompt: Prompt): Promise<Reply<SendAnswer>>
  /** Lays text of software before the next step; answers the id of its message. */
  inject(id: string, note: { readonly text: string; readonly summary?: string }): Promise<Reply<string>>
  /** Answers the number of the turn it started, if any. */
  resume(id: string): Promise<Reply<number | null>>
  /** Answers the seq of the event; null when the message is not pending. A prompt takes the place of the one it was. */
  replaceQueued(id: string, messageId: string, prompt: Prompt | null): Promise<Reply<number | null>>
  /** Answers the seq of the last event, and how many messages there were. */
  clearQueued(id: string): Promise<Reply<{ readonly seq: number; readonly count: number }>>
  /** Answers the seq of the last event; null when the call does not wait for an approval. */
  approve(id: string, callId: string, answer: ApprovalAnswer): Promise<Reply<number | null>>
  /** Stops the running turn; given a message, removes it or stops its turn only. */
  cancel(id: string, messageId: string | null): Promise<Reply<null>>
  registerTools(tools: readonly PageToolFacts[], run: PageToolRunner): Promise<Reply<null>>
  close(): Promise<Reply<null>>
}

/** One event a page wants appended; payload and intent as JSON text. */
export type AppendText = { readonly type: string; readonly data: string; readonly intent: string | null }

/**
 * Where a child begins, and what it begins with: `after` the turn of `seq`, or all there is; before the turn of the message
 * at `seq`, which is said otherwise (`edit`) or as it was (`again`, the last turn unless said otherwise).
 */
export type BranchHow =
  | { readonly kind: 'after'; readonly seq: number | null }
  | { readonly kind: 'edit'; readonly seq: number; readonly prompt: Prompt }
  | { readonly kind: 'again'; readonly seq: number | null }

/** How a page wants a file read. */
export type ImportHow = Pick<ImportOptions, 'mode'> & { readonly id?: string }

/** Whether a session that is deleted can be brought back. */
export type DeleteHow = { readonly undoable?: boolean }

/** How a page wants a session written; a function cannot come along, so `redact` asks for the worker's own. */
export type ExportHow = Pick<ExportOptions, 'as' | 'compress' | 'title' | 'blobs'> & { readonly redact?: boolean }

/**
 * Runs a tool on the page; input and output are JSON texts. Over `port` the page hears of an abort, by any message, and
 * tells the progress of the call, as texts. A comlink proxy.
 */
export type PageToolRunner = (call: PageToolCall, port: MessagePort) => Promise<Reply<string>>

/** What the worker is told of a tool of the page; `needsApproval` is a reason, or whether there is one. */
export type PageToolFacts = ToolDescription & {
  readonly parallel?: boolean
  readonly needsApproval?: boolean | string
  readonly idempotent?: boolean
  readonly timeoutMs?: number
}

export type PageToolCall = {
  readonly name: string
  readonly input: string
  readonly sessionId: string
  readonly callId: string
  readonly idempotencyKey: string
}

/** Committed events, as the text of a JSON array, with what each did to the surface. */
export type BatchItem = {
  readonly kind: 'batch'
  readonly firstSeq: number
  readonly events: string
  readonly changes: readonly SurfaceChange[]
}
/** Frames, as `frameText` writes them. */
export type FramesItem = { readonly kind: 'frames'; readonly frames: string }
export type StatusItem = { readonly kind: 'status'; readonly status: SessionStatus }
export type FeedItem = BatchItem | FramesItem | StatusItem

export type FeedMessage =
  /** The worker is up; `alive` names a lock it holds as long as it lives, or is null without Web Locks. */
  | { readonly type: 'ready'; readonly alive: string | null }
  | { readonly type: 'items'; readonly sessionId: string; readonly items: readonly FeedItem[] }
  /** The session is not open in the worker any more: deleted, or another writer has it. */
  | { readonly type: 'ended'; readonly sessionId: string; readonly error: WireError }
  | { readonly type: 'pong' }

export type PageMessage =
  | { readonly type: 'ping' }
  /** The page may be gone in a moment: what is not stored yet is to be. */
  | { readonly type: 'flush' }
  /** What the page knows of the network; some browsers do not tell workers. */
  | { readonly type: 'network'; readonly isOnline: boolean }
  /** The page holds the lock `alive` as long as it lives. */
  | { readonly type: 'page'; readonly alive: string }
