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
/** Bytes: bare in spec v2 and v3, wrapped in spec v4. Typed as both, since it has to fit each; it is only ever one. */
export type AiSdkFileData = Uint8Array & { type: 'data'; data: Uint8Array }
/** `text` is never there: a part of a person can be asked for it without looking at its type first. */
export type AiSdkFilePart = {
  type: 'file'
  mediaType: string
  data: AiSdkFileData
  filename?: string
  text?: never
} & Annotated
export type AiSdkToolCallPart = { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown } & Annotated
/** Beside texts there are images: `media` in spec v2, `image-data` in v3, `file` in v4. No type of them fits each. */
export type AiSdkToolResultContent = { type: 'text'; text: string }
export type AiSdkToolResultPart = {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: { type: 'text' | 'error-text'; value: string } | { type: 'content'; value: AiSdkToolResultContent[] }
}
export type AiSdkAssistantPart = AiSdkTextPart | ({ type: 'reasoning'; text: string } & Annotated) | AiSdkToolCallPart

export type AiSdkMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: (AiSdkTextPart | AiSdkFilePart)[] }
  | ({ role: 'assistant'; content: AiSdkAssistantPart[] } & Annotated)
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
  doStream(options: AiSdkCallOptions): PromiseLike<{
    readonly stream: ReadableStream<unknown>
    readonly response?: { readonly headers?: { readonly [name: string]: string } }
  }>
}
