/**
 * READ FIRST. Every event of a session log (format v3) as one union, with the messages, blocks, headers and stream
 * records they carry. Durable names are the format's and never change here (SPEC F1).
 */
import type { CallId, MessageId, SessionSeq } from './ids.ts'
import type { JsonValue } from './json.ts'

/** The format this build writes and reads. */
export const SESSION_FORMAT_VERSION = 3

// ── Messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

export type TextBlock = { readonly type: 'text'; readonly text: string }
export type ReasoningBlock = { readonly type: 'reasoning'; readonly text: string }
export type ImageBlock = {
  readonly type: 'image'
  readonly attachment: {
    readonly attachmentId: string
    readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif'
    /** Size in bytes. */
    readonly bytes: number
    readonly width: number
    readonly height: number
    readonly name?: string
    readonly originalDimensions?: { readonly width: number; readonly height: number }
  }
  readonly offloaded?: true
}
export type FileBlock = {
  readonly type: 'file'
  readonly attachment: { readonly attachmentId: string; readonly name: string; readonly bytes: number }
}
/** A tool call as the model asked for it; `arguments` is the raw text of the model, not yet parsed. */
export type ToolCallBlock = {
  readonly type: 'tool-call'
  readonly id: CallId
  readonly name: string
  readonly arguments: string
}
export type ToolResultBlock = {
  readonly type: 'tool-result'
  readonly toolCallId: CallId
  readonly content: readonly ContentBlock[]
  readonly isError?: boolean
}
export type ContentBlock = TextBlock | ReasoningBlock | ImageBlock | FileBlock | ToolCallBlock | ToolResultBlock

/** Where a user message came from: `user` for a person, `plugin` for software; the union is open. */
export type MessageSource = {
  readonly kind: string
  readonly plugin?: string
  readonly [key: string]: JsonValue | undefined
}
export type PluginSource = {
  readonly kind: 'plugin'
  readonly plugin: string
  readonly [key: string]: JsonValue | undefined
}
export type ModelSource = {
  readonly kind: 'model'
  readonly provider: string
  readonly model: string
  /** Opaque state the provider wants back with this message (signatures, encrypted reasoning). */
  readonly replayState?: JsonValue
}

export type SystemMessage = {
  readonly id: MessageId
  readonly role: 'system'
  /** Empty means "no system prompt"; otherwise normally one text block. */
  readonly content: readonly ContentBlock[]
  readonly source: PluginSource
}
export type UserMessage = {
  readonly id: MessageId
  readonly role: 'user'
  readonly content: readonly ContentBlock[]
  readonly source: MessageSource
}
export type AssistantMessage = {
  readonly id: MessageId
  readonly role: 'assistant'
  readonly content: readonly ContentBlock[]
  readonly source: ModelSource
}
export type ToolResultMessage = {
  readonly id: MessageId
  readonly role: 'user'
  readonly content: readonly [ToolResultBlock]
  readonly source: { readonly kind: 'tool'; readonly callId: CallId }
}
/** What is sent to the model. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage

// ── Model facts ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Token counts. Disjoint: `inputTokens` excludes cache reads and writes. */
export type Usage = {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens?: number
  readonly cacheReadTokens?: number
  readonly cacheWriteTokens?: number
  readonly reasoningTokens?: number
}

/** Why a model call failed. `code` is stable (`RATE_LIMIT`, `AUTH` …); `message` is for people and holds no secret. */
export type LlmFailure = {
  readonly message: string
  readonly code: string
  readonly status?: number
  readonly providerRetryAfterMs?: number
  readonly requestId?: string
  readonly offloadImages?: number
}

export type FinishReason =
  | { readonly kind: 'stop' }
  | { readonly kind: 'tool-calls' }
  | { readonly kind: 'max-tokens' }
  | { readonly kind: 'aborted'; readonly failure: LlmFailure }
  | { readonly kind: 'error'; readonly failure: LlmFailure }

/** A tool as the model sees it. */
export type ToolDescription = {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonValue
}

export type RequestConfig = {
  readonly provider: string
  readonly model: string
  readonly reasoningEffort?: string
  readonly temperature?: number
  readonly maxTokens?: number
  readonly stop?: readonly string[]
}

/** Everything of a request besides its messages. Canonical form: no empty `tools`, no empty `adapterDefaults`. */
export type EpochHeader = {
  readonly config: RequestConfig
  readonly adapterDefaults?: { readonly reasoningEffort?: true; readonly maxTokens?: true }
  readonly tools?: readonly ToolDescription[]
}

// ── Streams ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One piece of a model's answer, provider-neutral, in arrival order. `index` names the block it belongs to. */
export type StreamChunk =
  | { readonly type: 'block-start'; readonly index: number; readonly blockType: string }
  | { readonly type: 'text-delta'; readonly index: number; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly index: number; readonly text: string }
  | {
      readonly type: 'tool-call-delta'
      readonly index: number
      readonly id: string
      readonly name?: string
      readonly argumentsDelta: string
    }
  | { readonly type: 'block-end'; readonly index: number; readonly block: ContentBlock }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'finish'; readonly reason: FinishReason; readonly replayState?: JsonValue }

type Run = {
  /** Time of the first member, epoch ms. */
  readonly time0: number
  readonly index: number
  /** Gaps in ms between members; one fewer than there are members; may be negative. */
  readonly dt: readonly number[]
}
/** How chunks are kept in a log: runs of deltas in columns, everything else as it came (SPEC L13). */
export type StreamRecord =
  | ({ readonly type: 'text-chunks'; readonly texts: readonly string[] } & Run)
  | ({ readonly type: 'reasoning-chunks'; readonly texts: readonly string[] } & Run)
  | ({
      readonly type: 'tool-call-chunks'
      readonly id: string
      readonly name?: string
      readonly args: readonly string[]
    } & Run)
  | { readonly type: 'chunk'; readonly time: number; readonly chunk: StreamChunk }

// ── Payloads ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Who or what stopped a turn. `legacy` occurs in imported logs only. */
export type CancelCause =
  | { readonly kind: 'user' }
  | { readonly kind: 'parent' }
  | { readonly kind: 'hook'; readonly reason: string }
  | { readonly kind: 'disposed' }
  | { readonly kind: 'legacy' }

export type TurnEndReason =
  | { readonly kind: 'completed' }
  | { readonly kind: 'aborted'; readonly reason: CancelCause }
  | { readonly kind: 'blocked' }
  | { readonly kind: 'error'; readonly error: LlmFailure }
  | { readonly kind: 'max-tokens' }
  | { readonly kind: 'interrupted' }

export type ToolError = { readonly name: string; readonly code: string; readonly reason?: string }

/** Payload of each core event type. Turn and step numbers start at 1; steps restart in each turn. */
export type EventData = {
  'turn/start': { readonly turn: number }
  'turn/end': { readonly turn: number; readonly reason: TurnEndReason }
  'step/start': { readonly turn: number; readonly step: number }
  'step/end': { readonly turn: number; readonly step: number }
  'system/message': { readonly turn: number; readonly step: number; readonly message: SystemMessage }
  'user/message': UserMessage
  'assistant/message': {
    readonly turn: number
    readonly step: number
    readonly message: AssistantMessage
    readonly stream: readonly StreamRecord[]
    readonly usage?: Usage
    readonly interrupted?: true
  }
  'assistant/attempt': { readonly turn: number; readonly step: number; readonly stream: readonly StreamRecord[] }
  'tool/call': {
    readonly turn: number
    readonly step: number
    readonly callId: CallId
    readonly name: string
    readonly arguments: string
  }
  'tool/result': {
    readonly turn: number
    readonly step: number
    readonly message: ToolResultMessage
    readonly error?: ToolError
    readonly meta?: JsonValue
  }
  'request/header': {
    readonly header: EpochHeader
    readonly reason: 'initial' | 'resume' | 'change' | 'series'
    readonly startsSeries?: true
  }
  'request/context': {
    readonly provider: string
    readonly model: string
    /** Size of the model's window, tokens. */
    readonly contextWindow?: number
    readonly systemPromptUpdate?: 'in-history'
  }
  'session/end-seed': { readonly inherited?: true }
}

// ── Envelopes ───────────────────────────────────────────────────────────────────────────────────────────────────────

export type CoreEventType = keyof EventData
/** The four types whose events may stand on the surface. */
export type SurfaceEventType = 'system/message' | 'user/message' | 'assistant/message' | 'tool/result'
export type LogOnlyEventType = Exclude<CoreEventType, SurfaceEventType>

/** What an event does to the surface: stands at its end, or stands for a range (both ends are surface nodes). */
export type SurfaceOp =
  | 'append'
  | { readonly op: 'replace'; readonly startSeq: SessionSeq; readonly endSeq: SessionSeq }

type Envelope<Type, Data> = {
  readonly type: Type
  readonly seq: SessionSeq
  /** Epoch ms. Never used for order: `seq` is. */
  readonly time: number
  readonly data: Data
}

/** The event of one core type. */
export type EventOf<Type extends CoreEventType> = Type extends SurfaceEventType
  ? Envelope<Type, EventData[Type]> & {
      readonly surfaceOp: SurfaceOp
      /** Earlier events this one was made from. */
      readonly sourceEventSeqs?: readonly SessionSeq[]
    }
  : Envelope<Type, EventData[Type]> & { readonly ignorable?: true }

/** Log-only types of known plugins. The core keeps them and does not interpret them. */
export type PluginEventType =
  | 'agent/inbox/spliced'
  | 'agent-preset/selected'
  | 'approval/asked'
  | 'approval/decided'
  | 'approval/policy'
  | 'command/run'
  | 'command/done'
  | 'compaction/start'
  | 'compaction/summary'
  | 'compaction/end'
  | 'compaction/prune'
  | 'llm/retry'
  | 'llm/retry-started'
  | 'model/selection'
  | 'permission/preset'
  | 'plan/mode'
  | 'sandbox/mode'
  | 'schedule/change'
  | 'goal/change'
  | 'session/title'
  | 'session/title-llm-request'
  | 'session-log-deepseek/delivery-accepted'
  | 'subagent/catalog'
  | 'subagent/descriptor'
  | 'subagent/model-selection-policy'
  | 'team/member'
  | 'team/task'
  | 'team/message/queued'
  | 'team/message/delivered'
  | 'todo/write'
  | 'tool-workflow/run-start'
  | 'tool-workflow/run-end'
  | 'tool-workflow/agent-start'
  | 'tool-workflow/agent-end'
  | 'tool/ptc-dispatch-start'
  | 'tool/ptc-dispatch'
  | 'hook/invoked'
  | 'hook/result'
  | 'deliverables/presented'
  | 'feedback/record'
  | 'feedback/message-put'
  | 'feedback/message-delete'
  | 'web/deepseek-search-llm-request'

/**
 * An event the core keeps verbatim and does not interpret; it never touches the surface. A log of a newer writer may
 * also hold ignorable events of types not listed here: give a `switch` over events a `default`.
 */
export type PluginEvent = Envelope<PluginEventType, JsonValue> & { readonly ignorable?: true }

export type CoreEvent = { [Type in CoreEventType]: EventOf<Type> }[CoreEventType]
/** One recorded fact. `switch (event.type)` narrows to the payload of a core type. */
export type SessionEvent = CoreEvent | PluginEvent
/** An event of a surface type. */
export type SurfaceEvent = EventOf<SurfaceEventType>

/** First line of a stored session: what is known of it besides its events. */
export type SessionHeader = {
  readonly version: typeof SESSION_FORMAT_VERSION
  readonly id: string
  /** Epoch ms. */
  readonly createdAt: number
  /** True for a fork: its first events are another session's. */
  readonly isSeeded: boolean
  readonly cwd?: string
  readonly parentSession?: string
  readonly origin?: 'subagent'
  readonly delegationDepth?: number
  readonly agentPreset?: string
}
