/**
 * `palimpsest/plugins`: what a session may be given besides the format – interpreters of events that change messages,
 * rules of how events follow each other – and the streams that answers are recorded with.
 */
export { imageOffload } from './core/interpreters/image-offload.ts'
export { toolResultTrim, toolResultTrimming, trimText } from './core/interpreters/tool-result-trim.ts'
export type { ToolResultTrim } from './core/interpreters/tool-result-trim.ts'
export { assembleStream, StreamAssembler } from './core/stream.ts'
export type { Assembled } from './core/stream.ts'
export { streamMismatch, streamProblem } from './core/stream-grammar.ts'
export { expandStream, packStream } from './core/stream-records.ts'
export type { TimedChunk } from './core/stream-records.ts'
