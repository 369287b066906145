/** `palimpsest/core`: the session log and its surface, pure, for any JavaScript runtime. */
export { assertNever, PalimpsestError, SessionError } from './core/errors.ts'
export type { ErrorFacts, SessionErrorCode } from './core/errors.ts'
export { SESSION_FORMAT_VERSION } from './core/events.ts'
export type {
  AssistantMessage,
  CancelCause,
  ContentBlock,
  CoreEvent,
  CoreEventType,
  EpochHeader,
  EventData,
  EventOf,
  FileBlock,
  FinishReason,
  ImageBlock,
  LlmFailure,
  LogOnlyEventType,
  Message,
  MessageSource,
  ModelSource,
  PluginEvent,
  PluginEventType,
  PluginSource,
  ReasoningBlock,
  RequestConfig,
  SessionEvent,
  SessionHeader,
  StreamChunk,
  StreamRecord,
  SurfaceEvent,
  SurfaceEventType,
  SurfaceOp,
  SystemMessage,
  TextBlock,
  ToolCallBlock,
  ToolDescription,
  ToolError,
  ToolResultBlock,
  ToolResultMessage,
  TurnEndReason,
  Usage,
  UserMessage,
} from './core/events.ts'
export type { Committed, EventLookup, Fold, FoldContext, SurfaceChange } from './core/fold.ts'
export { CallId, LogId, MessageId, SessionId, SessionSeq } from './core/ids.ts'
export { equalJson, shareJson, snapshotJson } from './core/json.ts'
export type { JsonValue } from './core/json.ts'
export type { SurfaceIntent } from './core/log.ts'
export { MessageSequence, messagesFold, projectMessage } from './core/messages.ts'
export { hasLoneSurrogate, wellFormedText } from './core/well-formed.ts'
export { requestFold } from './core/request-header.ts'
export type { RequestState } from './core/request-header.ts'
export { repair, repairLog } from './core/repair.ts'
export { Session, SessionSurface } from './core/session.ts'
export type {
  AppendableEventType,
  CreateOptions,
  IntentArguments,
  RestoreOptions,
  SessionListener,
  SessionOptions,
} from './core/session.ts'
export {
  foldSurface,
  isAppendSurfaceEvent,
  isReplaceSurfaceEvent,
  isSurfaceEvent,
  planSurfaceChange,
  surfaceFold,
} from './core/surface.ts'
export type { FoldedSurface, SurfaceReplacement, SurfaceState } from './core/surface.ts'
export { foldTurns, turnsFold } from './core/turns.ts'
export type { PendingCall, TurnsState } from './core/turns.ts'
export { isCoreEventType, isKnownEventType, isSurfaceEventType } from './core/vocabulary.ts'
