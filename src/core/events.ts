/**
 * READ FIRST. Every event of a session log (format v3) as one union; the messages, blocks, headers and stream records
 * they carry are in `message.ts`. Durable names are the format's and never change here (SPEC F1).
 */
import type { CallId, SessionSeq } from './ids.ts'
import type { JsonValue } from './json.ts'
import type {
  AssistantMessage,
  EpochHeader,
  LlmFailure,
  StreamRecord,
  SystemMessage,
  ToolResultMessage,
  Usage,
  UserMessage,
} from './message.ts'
import type { PluginEventData } from './plugin-events.ts'

export type * from './message.ts'

/** The format this build writes and reads. */
export const SESSION_FORMAT_VERSION = 3

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
export type CoreEventData = {
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

/** Payload of each known event type. Those of plugins are what the format says; the core does not check them. */
export type EventData = CoreEventData & PluginEventData

export type CoreEventType = keyof CoreEventData
/** Log-only types of known plugins. The core keeps them; only `image/offload` means something to it. */
export type PluginEventType = keyof PluginEventData
export type KnownEventType = CoreEventType | PluginEventType
/** The four types whose events may stand on the surface. */
export type SurfaceEventType = 'system/message' | 'user/message' | 'assistant/message' | 'tool/result'
export type LogOnlyEventType = Exclude<KnownEventType, SurfaceEventType>

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

/** The event of one known type. */
export type EventOf<Type extends KnownEventType> = Type extends SurfaceEventType
  ? Envelope<Type, EventData[Type]> & {
      readonly surfaceOp: SurfaceOp
      /** Earlier events this one was made from. */
      readonly sourceEventSeqs?: readonly SessionSeq[]
    }
  : LogOnlyEvent<Type, EventData[Type]>

/** An event that is never on the surface, of a known type or of one made with `defineEvent`. */
export type LogOnlyEvent<Type, Data> = Envelope<Type, Data> & { readonly ignorable?: true }

export type CoreEvent = { [Type in CoreEventType]: EventOf<Type> }[CoreEventType]
/**
 * An event the core keeps verbatim: its payload is as its writer wrote it, so check what you read of it. A log may also
 * hold events of types not listed here, defined by an extension or ignorable: give a `switch` over events a `default`.
 */
export type PluginEvent = { [Type in PluginEventType]: EventOf<Type> }[PluginEventType]
/** One recorded fact. `switch (event.type)` narrows to the payload of its type. */
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
