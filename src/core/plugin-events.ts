/**
 * Payloads of the events of known plugins, as the format describes them. The core keeps such a payload as it came and
 * does not check it: who reads one checks what it needs. Where the format gives no shape, a member is `JsonValue`.
 */
import type { ContentBlock, LlmFailure, Message, Usage, UserMessage } from './message.ts'
import type { CallId, MessageId, SessionSeq } from './ids.ts'
import type { JsonValue } from './json.ts'

// ── Agent ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `agent/inbox/spliced`: what leaves one of the two lists at `start`, and what comes there. */
export type InboxSplice = {
  readonly target: 'next-turn' | 'next-step'
  readonly start: number
  readonly removedCount?: number
  readonly inserted: readonly UserMessage[]
  /** Somebody removed or rewrote it; absent when a turn took it. */
  readonly outcome?: 'canceled'
}

/** `approval/asked`: a tool wants to run and somebody has to say whether it may. */
export type ApprovalAsked = {
  /** Names this question; the decision carries it too. */
  readonly id: string
  readonly toolName: string
  readonly callId?: CallId
  readonly reason?: string
}
/** `approval/decided`: only `allowed-once` lets the tool run. */
export type ApprovalDecided = {
  readonly id: string
  readonly outcome: 'allowed-once' | 'rejected' | 'cancelled' | 'unavailable'
}
/** `approval/policy`: with `never`, every question is rejected unasked. */
export type ApprovalPolicy = { readonly policy: 'ask' | 'never'; readonly source?: 'delegation' }

type RetryBase = {
  /** The same through one chain of retries, and no other's. */
  readonly retryId: string
  readonly turn: number
  readonly step: number
  readonly provider: string
  readonly policyKey: string
  /** Counts from 1. */
  readonly retry: number
  /** How long is waited before it, ms. */
  readonly delayMs: number
  /** Why the attempt before it failed. */
  readonly failure: LlmFailure
}
/** `llm/retry`: a failed model call will be tried again; written before the wait. Only `normal` mode has a last retry. */
export type RetryPlan = RetryBase &
  ({ readonly mode: 'normal'; readonly maxRetries: number } | { readonly mode: 'always'; readonly maxRetries?: never })
/** `llm/retry-started`: the wait of a retry is over; a cancelled wait has none. */
export type RetryStarted = {
  readonly retryId: string
  readonly turn: number
  readonly step: number
  readonly retry: number
}

/** `model/selection`: the model somebody chose for what comes. */
export type ModelSelection = { readonly provider: string; readonly model: string; readonly reasoningEffort?: string }

// ── Compaction and projection ───────────────────────────────────────────────────────────────────────────────────────

type CompactionBase = {
  readonly compactionId: string
  /** The command that asked for it. The same on all events of one compaction. */
  readonly sourceCommandId?: string
}
/** What is taken off the surface. Positions count: `start` may be the larger seq. */
type Shadowed = {
  readonly shadowedRange: { readonly start: SessionSeq; readonly end: SessionSeq }
  /** Every node of the range, in surface order. */
  readonly shadowedSeqs: readonly SessionSeq[]
  /** What they were estimated at, tokens. */
  readonly shadowedTokenCount: number
}
/** `compaction/start`: opens a compaction; `turn` is null when it runs between turns. */
export type CompactionStart = CompactionBase & { readonly turn: number | null }
/** `compaction/summary`: stands immediately before the `user/message` that replaces the range. */
export type CompactionSummary = CompactionBase &
  Shadowed & {
    readonly summary: readonly ContentBlock[]
    /** The answer of the model with what is no part of the summary: reasoning, calls. */
    readonly rawOutput?: readonly ContentBlock[]
    readonly llmStreamCall?: JsonValue
    readonly provider: string
    readonly model: string
    readonly maxTokens?: number
    readonly usage?: Usage
  }
/** `compaction/end`: closes a compaction; with `error` the surface is as it was, unless the replacement came before it. */
export type CompactionEnd = CompactionStart & { readonly error?: string }
/** `compaction/prune`: stands immediately before the `tool/result` that replaces a long one. */
export type CompactionPrune = Shadowed

/** `image/offload`: these images are not sent any more. */
export type ImageOffload = {
  readonly targets: readonly {
    /** A `user/message` or `tool/result` on the surface. */
    readonly seq: SessionSeq
    /** Positions among all images of the message, depth first, strictly increasing. */
    readonly imageIndexes: readonly number[]
  }[]
}

// ── Session ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `session/title`. */
export type SessionTitle = {
  readonly title: string
  /** The messages of people it was made from; empty when a person set it. */
  readonly messageSeqs: readonly SessionSeq[]
  readonly source: JsonValue
}

/** `command/run`: somebody gave a command. */
export type CommandRun = {
  readonly commandId: string
  readonly name: string
  readonly args?: JsonValue
  readonly source: JsonValue
}
/** `command/done`: how it went; on success it may name the event it led to. */
export type CommandDone = {
  readonly commandId: string
  readonly kind: 'success' | 'error'
  readonly text?: string
  readonly sourceEventSeq?: SessionSeq
}

/** `tool/ptc-dispatch-start`: the program of a code tool calls another tool. */
export type NestedCall = {
  /** The call of the model that all came from. */
  readonly rootCallId: CallId
  readonly parentCallId: CallId
  readonly subCallId: CallId
  readonly name: string
  readonly arguments: JsonValue
}
/** `tool/ptc-dispatch`: what came of it; name and arguments are those of its start. */
export type NestedResult = NestedCall & { readonly isError: boolean; readonly content: JsonValue }

type TeamBase = { readonly version: number; readonly teamId: string }
type HookBase = { readonly turn: number; readonly point: string; readonly handlerId: string }

/** Payload of each event type of a known plugin. All are log-only. */
export type PluginEventData = {
  'agent/inbox/spliced': InboxSplice
  'agent-preset/selected': { readonly agentPreset: string }
  'approval/asked': ApprovalAsked
  'approval/decided': ApprovalDecided
  'approval/policy': ApprovalPolicy
  'command/run': CommandRun
  'command/done': CommandDone
  'compaction/start': CompactionStart
  'compaction/summary': CompactionSummary
  'compaction/end': CompactionEnd
  'compaction/prune': CompactionPrune
  'image/offload': ImageOffload
  'llm/retry': RetryPlan
  'llm/retry-started': RetryStarted
  'model/selection': ModelSelection
  'permission/preset': { readonly preset: string }
  'plan/mode': { readonly active: boolean }
  'sandbox/mode': { readonly mode: string; readonly source?: JsonValue }
  'schedule/change': {
    readonly version: number
    readonly operation: string
    readonly schedule?: JsonValue
    readonly id?: string
    readonly acceptedAt?: JsonValue
  }
  'goal/change': {
    readonly kind: string
    readonly version: number
    readonly operation: string
    readonly goal?: JsonValue
    readonly roundsStarted?: number
    readonly createdAt?: JsonValue
    readonly updatedAt?: JsonValue
    readonly cleared?: JsonValue
    readonly clearedAt?: JsonValue
  }
  'session/title': SessionTitle
  'session/title-llm-request': {
    readonly titleProvider: string
    readonly messageSeqs: readonly SessionSeq[]
    readonly route: JsonValue
    readonly system: JsonValue
    readonly messages: readonly Message[]
    readonly maxTokens: number
  }
  'session-log-deepseek/delivery-accepted': {
    readonly sessionId: string
    readonly sessionFormatVersion?: number
    readonly throughSeq: SessionSeq
  }
  'subagent/catalog': JsonValue
  'subagent/descriptor': {
    readonly mode: string
    readonly version: number
    readonly provider: string
    readonly label?: string
    readonly agentProvider?: string
    readonly agentModel?: string
    readonly agentReasoningEffort?: string
    readonly persona?: JsonValue
    readonly toolFilter?: JsonValue
  }
  'subagent/model-selection-policy': { readonly allowedModels: JsonValue }
  'team/member': TeamBase & { readonly member: JsonValue }
  'team/task': TeamBase & { readonly task: JsonValue }
  'team/message/queued': TeamBase & { readonly message: JsonValue }
  'team/message/delivered': TeamBase & { readonly messageId: string; readonly targetId: string }
  /** The whole list; the last one counts. */
  'todo/write': { readonly todos: readonly JsonValue[] }
  'tool-workflow/run-start': { readonly runId: string; readonly name: string }
  'tool-workflow/run-end': { readonly runId: string; readonly stopReason: JsonValue }
  /** `seq` counts the agents of a run; it is no position in the log. */
  'tool-workflow/agent-start': {
    readonly runId: string
    readonly seq: number
    readonly label: string
    readonly childId: string
    readonly phase?: JsonValue
  }
  'tool-workflow/agent-end': { readonly runId: string; readonly seq: number; readonly outcome: JsonValue }
  'tool/ptc-dispatch-start': NestedCall
  'tool/ptc-dispatch': NestedResult
  'hook/invoked': HookBase & { readonly dialect: string; readonly matcher?: JsonValue }
  'hook/result': HookBase & {
    readonly decision: JsonValue
    readonly durationMs: number
    readonly exitCode?: number
    readonly stderrSummary?: string
  }
  'deliverables/presented': {
    readonly turn: number
    readonly callId: CallId
    readonly files: readonly JsonValue[]
  }
  'feedback/record': { readonly text: string }
  'feedback/message-put': { readonly sessionId: string; readonly item: JsonValue }
  'feedback/message-delete': { readonly sessionId: string; readonly messageId: MessageId }
  'web/deepseek-search-llm-request': {
    readonly endpoint: string
    readonly apiVersion: JsonValue
    readonly body: JsonValue
  }
}
