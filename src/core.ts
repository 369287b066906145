/** `palimpsest/core`: the session log and its surface, pure, for any JavaScript runtime. */
export { PalimpsestError, SessionError } from './core/errors.ts'
export type { ErrorFacts, SessionErrorCode } from './core/errors.ts'
export { defineEvent, isEventOf } from './core/event-definition.ts'
export type { EventDefinition, EventDefinitionOptions } from './core/event-definition.ts'
export { SESSION_FORMAT_VERSION } from './core/events.ts'
export type {
  AssistantMessage,
  CancelCause,
  ContentBlock,
  CoreEvent,
  CoreEventData,
  CoreEventType,
  EpochHeader,
  EventData,
  EventOf,
  FileBlock,
  FinishReason,
  ImageBlock,
  KnownEventType,
  LlmFailure,
  LogOnlyEvent,
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
export type { ExtensionOptions, ExtensionsSeen } from './core/extensions.ts'
export type {
  Committed,
  EventLookup,
  Fold,
  FoldContext,
  FoldStates,
  ProjectedMessage,
  SurfaceChange,
} from './core/fold.ts'
export { CallId, LogId, MessageId, SessionId, SessionSeq } from './core/ids.ts'
export type { Invariant, LogView } from './core/invariant.ts'
export { equalJson, jsonDifference, shareJson, snapshotJson } from './core/json.ts'
export type { JsonDifference, JsonValue } from './core/json.ts'
export type { Keyframe, LastEvent, SessionDifference } from './core/keyframe.ts'
export type { SurfaceIntent } from './core/log.ts'
export type { MessageProjection, ProjectionContext } from './core/message-projection.ts'
export { MessageSequence, messagesFold, projectMessage } from './core/messages.ts'
export type * from './core/plugin-events.ts'
export { requestOf } from './core/request.ts'
export type { LoggedRequest } from './core/request.ts'
export { requestFold } from './core/request-header.ts'
export type { RequestState } from './core/request-header.ts'
export { repair, repairLog } from './core/repair.ts'
export { Session } from './core/session.ts'
export { SessionSurface } from './core/session-surface.ts'
export type {
  Appendable,
  AppendableEventType,
  CommittedOf,
  CreateOptions,
  DataOf,
  IntentArguments,
  IntentOf,
  KeyframeOptions,
  RestoreOptions,
  SessionListener,
  SessionOptions,
} from './core/session-options.ts'
export { seedFold } from './core/seed.ts'
export type { SeedState } from './core/seed.ts'
export { requestMessages } from './core/request-messages.ts'
export type { RequestChange, RequestMessages } from './core/request-messages.ts'
export {
  foldSurface,
  isAppendSurfaceEvent,
  isReplaceSurfaceEvent,
  isSurfaceEvent,
} from './core/surface.ts'
export type { FoldedSurface, FoldSurfaceOptions, SurfaceReplacement, SurfaceState } from './core/surface.ts'
export { foldTurns, turnsFold } from './core/turns.ts'
export type { PendingCall, TurnsState } from './core/turns.ts'
export { hasLoneSurrogate, wellFormedText } from './core/well-formed.ts'
export { isCoreEventType, isKnownEventType, isSurfaceEventType } from './core/vocabulary.ts'
