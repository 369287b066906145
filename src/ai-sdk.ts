/** `palimpsest/ai-sdk`: any AI SDK language model as a model of the agent. */
export { aiSdkModel } from './agent/ai-sdk.ts'
export type { AiSdkModelOptions } from './agent/ai-sdk.ts'
export type {
  AiSdkAssistantPart,
  AiSdkCallOptions,
  AiSdkFileData,
  AiSdkFilePart,
  AiSdkJson,
  AiSdkLanguageModel,
  AiSdkMessage,
  AiSdkProviderOptions,
  AiSdkReasoning,
  AiSdkTextPart,
  AiSdkTool,
  AiSdkToolCallPart,
  AiSdkToolResultContent,
  AiSdkToolResultPart,
} from './agent/ai-sdk-types.ts'
