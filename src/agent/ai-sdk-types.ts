/**
 * The part of an AI SDK language model that is used, typed by shape: objects of spec v2, v3 and v4 fit without this
 * library importing any package of the SDK (SPEC A9).
 */

/** JSON as the SDK types it: mutable, though nobody changes it. */
export type AiSdkJson = null | string | number | boolean | AiSdkJson[] | { [key: string]: AiSdkJson }

/** Options or metadata by provider name. */
export type AiSdkProviderOptions = { [provider: string]: { [key: string]: AiSdkJson } }

type Annotated = { providerOptions?: AiSdkProviderOptions }

export type AiSdkTextPart = { type: 'text'; text: string } & Annotated
export type AiSdkToolCallPart = { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown } & Annotated
export type AiSdkToolResultPart = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: { type: 'text' | 'error-text'; value: string }
}
export type AiSdkAssistantPart = AiSdkTextPart | ({ type: 'reasoning'; text: string } & Annotated) | AiSdkToolCallPart

export type AiSdkMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: AiSdkTextPart[] }
  | { role: 'assistant'; content: AiSdkAssistantPart[] }
  | { role: 'tool'; content: AiSdkToolResultPart[] }

export type AiSdkTool = { type: 'function'; name: string; description?: string; inputSchema: object }

/** Levels of spec v4; earlier specs take them as a provider option. */
export type AiSdkReasoning = 'provider-default' | 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

export type AiSdkCallOptions = {
  prompt: AiSdkMessage[]
  tools?: AiSdkTool[]
  maxOutputTokens?: number
  temperature?: number
  stopSequences?: string[]
  reasoning?: AiSdkReasoning
  providerOptions?: AiSdkProviderOptions
  abortSignal?: AbortSignal
  includeRawChunks?: boolean
}

/** Any AI SDK `LanguageModel` object of spec v2, v3 or v4. What its stream yields is checked part by part. */
export type AiSdkLanguageModel = {
  readonly specificationVersion: 'v2' | 'v3' | 'v4'
  readonly provider: string
  readonly modelId: string
  doStream(options: AiSdkCallOptions): PromiseLike<{ readonly stream: ReadableStream<unknown> }>
}
