/**
 * `palimpsest/testing`: scripted models, strict request validators, and the suite every storage passes. Needs no test
 * runner.
 */
export { validateAnthropicMessages, validateOpenAiChat } from './core/provider-rules.ts'
export type { RequestFinding, RequestFindingCode } from './core/provider-rules.ts'
export { ConformanceError, storageCases } from './storage/conformance.ts'
export type { StorageCase } from './storage/conformance.ts'
export { withFaults } from './storage/faults.ts'
export type { StorageCall, StorageFault } from './storage/faults.ts'
export { answerChunks, gate, scriptedModel } from './testing/scripted-model.ts'
export type {
  Gate,
  ScriptedCall,
  ScriptedItem,
  ScriptedModel,
  ScriptedModelOptions,
  ScriptedStep,
} from './testing/scripted-model.ts'
