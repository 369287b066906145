/**
 * `palimpsest/plugins`: what a session may be given besides the format – interpreters of events that change messages,
 * rules of how events follow each other – and what a loop of one's own needs: the system prompt as messages, and the
 * streams that answers are recorded with.
 */
export { imageOffloading } from './core/interpreters/image-offload.ts'
export { toolResultTrim, toolResultTrimming, trimText } from './core/interpreters/tool-result-trim.ts'
export type { ToolResultTrim } from './core/interpreters/tool-result-trim.ts'
export { assembleStream, StreamAssembler } from './core/stream.ts'
export type { Assembled } from './core/stream.ts'
export { compactionFold } from './core/compaction-fold.ts'
export type { CompactionBracket, CompactionState } from './core/compaction-fold.ts'
export { allInvariants } from './core/invariants/all.ts'
export { checkRequest } from './core/invariants/check-request.ts'
export type { CheckedRequest } from './core/invariants/check-request.ts'
export { compactionInvariant } from './core/invariants/compaction-invariant.ts'
export { retryFold, retryInvariant } from './core/invariants/retry-invariant.ts'
export type { RetryChain, RetryState } from './core/invariants/retry-invariant.ts'
export { sessionInvariant } from './core/invariants/session-invariant.ts'
export { streamInvariant } from './core/invariants/stream-invariant.ts'
export { streamMismatch, streamProblem } from './core/stream-grammar.ts'
export { expandStream, packStream } from './core/stream-records.ts'
export type { TimedChunk } from './core/stream-records.ts'
export { SystemPromptProjection, systemMessage } from './core/system-prompt.ts'
export type { SystemPromptCommit, SystemPromptRequest } from './core/system-prompt.ts'
