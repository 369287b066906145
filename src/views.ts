/** `palimpsest/views`: a session as people read it, kept up to date: transcript, surface, usage, cost, status. */
export { costOf } from './views/cost.ts'
export type { Cost, Prices, PriceTable } from './views/cost.ts'
export type { ReadState } from './views/follow.ts'
export type { LiveAnswer, LiveBlock } from './views/live-answer.ts'
export { localSource } from './views/local-source.ts'
export { Sequence } from './views/sequence.ts'
export type { AgentStatus, SessionSource, SessionStatus, SessionUpdate, SurfaceNode } from './views/source.ts'
export { deriveStatus } from './views/status.ts'
export type { Saving, StatusFacts, StatusView } from './views/status.ts'
export { statusView } from './views/status-view.ts'
export type { ViewStore } from './views/store.ts'
export { emptySurface, evolveSurface, surfaceFrom } from './views/surface.ts'
export type { SurfaceItem, SurfaceOrigin, SurfaceView } from './views/surface.ts'
export { surfaceView } from './views/surface-view.ts'
export type { SurfaceSnapshot, SurfaceStore } from './views/surface-view.ts'
export { estimateTokens } from './views/tokens.ts'
export { emptyTranscript, evolveTranscript, foldTranscript, streamTranscript } from './views/transcript.ts'
export type { Transcript, TranscriptTurn } from './views/transcript.ts'
export { prependHistory } from './views/transcript-history.ts'
export { transcriptView } from './views/transcript-view.ts'
export type { TranscriptSnapshot, TranscriptView, TranscriptViewOptions } from './views/transcript-view.ts'
export type {
  AnswerItem,
  AttemptItem,
  ReplacementItem,
  RetryItem,
  SystemItem,
  ToolApproval,
  ToolItem,
  TranscriptItem,
  UserItem,
} from './views/turn-items.ts'
export { usageFold } from './views/usage.ts'
export type { ModelUsage, UsageState } from './views/usage.ts'
export { usageView } from './views/usage-view.ts'
