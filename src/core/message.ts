/**
 * What events are made of: messages and their blocks, what is known of a model call, and the stream of its answer.
 * Durable names are the format's (SPEC F1).
 */
import type { CallId, MessageId } from './ids.ts'
import type { JsonValue } from './json.ts'

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
