/** `palimpsest/worker`: what a worker's script needs to hold sessions and run agents. */
export { Agent } from './agent/agent.ts'
export type { AgentOptions, AgentSetup, RunningTurn, SentMessage } from './agent/agent.ts'
export type { ApprovalAnswer, ApprovalOutcome, ApprovalPolicy, ApprovalQuestion } from './agent/approval.ts'
export { systemClock } from './agent/clock.ts'
export type { Clock } from './agent/clock.ts'
export { AgentError } from './agent/errors.ts'
export type { AgentErrorCode } from './agent/errors.ts'
export { inboxFold } from './core/inbox.ts'
export type { ClaimedMessage, Inbox, InboxTarget } from './core/inbox.ts'
export { approvalsFold } from './core/approvals.ts'
export type { ApprovalsState, DecidedApproval, PendingApproval } from './core/approvals.ts'
export type { AgentHooks, HookPlace, PreExecuteDecision, PreStepDecision } from './agent/hooks.ts'
export type { Prompt } from './agent/messages.ts'
export type { Network } from './agent/network.ts'
export { keepsTurn } from './agent/open-step.ts'
export type { ResumePolicy } from './agent/open-step.ts'
export { DEFAULT_RETRY } from './agent/retry.ts'
export type { RetryPolicy } from './agent/retry.ts'
export type { SessionTitling } from './agent/titling.ts'
export { ModelFailure } from './agent/failure.ts'
export type { AgentStatus, AssistantStreamFrame } from './core/live.ts'
export type { Model, ModelRequest } from './agent/model.ts'
export { defineTool } from './agent/tool.ts'
export type {
  JsonSchema,
  StandardSchema,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolOutput,
  ToolResult,
} from './agent/tool.ts'
export { PalimpsestError, SessionError } from './core/errors.ts'
export type { SessionErrorCode } from './core/errors.ts'
export { requestMessages } from './core/request-messages.ts'
export type { RequestChange, RequestMessages } from './core/request-messages.ts'
export type { LogSource } from './files/bytes.ts'
export type { ReadProgress } from './files/read-log.ts'
export { FormatError } from './format/errors.ts'
export type { FormatErrorCode } from './format/errors.ts'
export type { Redactor } from './format/redact.ts'
export type { Repair, RepairCode } from './format/migration.ts'
export type { ExportOptions } from './sessions/export-log.ts'
export type { ImportOptions, ImportResult } from './sessions/import-log.ts'
export { memoryLease, platformLease, webLease } from './sessions/lease.ts'
export type { Lease, Release, WebLeaseOptions } from './sessions/lease.ts'
export { LiveSession } from './sessions/live-session.ts'
export type { CommitListener, EventRange, StoredCommit } from './sessions/live-session.ts'
export { Sessions } from './sessions/sessions.ts'
export { branchAfter, branchBefore, lastTurnStart } from './sessions/branching.ts'
export type { BranchPoint, BranchSource } from './sessions/branching.ts'
export type { FamilyMember } from './sessions/family.ts'
export type { KeepsTurn } from './sessions/opening.ts'
export { titleFold } from './sessions/title.ts'
export type { TitleState } from './sessions/title.ts'
export type { PageOptions, SessionPage, SessionSummary } from './sessions/session-list.ts'
export type { ForkOptions, SessionsOptions } from './sessions/sessions.ts'
export { BlobId } from './core/ids.ts'
export type { WriteBehindStatus } from './storage/write-behind.ts'
export { indexedDbStorage } from './storage/indexeddb.ts'
export { memoryStorage } from './storage/memory.ts'
export { StorageError } from './storage/storage.ts'
export type {
  AppendBatch,
  Durability,
  Generation,
  InheritedRange,
  JournalPart,
  ListOptions,
  ListPosition,
  NewKeyframe,
  NewSession,
  RecordChange,
  Segment,
  SeqRange,
  SessionRecord,
  SessionStorage,
  StorageErrorCode,
  StoredKeyframe,
  WholeLog,
} from './storage/storage.ts'
export { WorkerError } from './worker/errors.ts'
export type { WorkerErrorCode } from './worker/errors.ts'
export { serve } from './worker/serve.ts'
export type { AgentFactory, ServeOptions } from './worker/serve-options.ts'
