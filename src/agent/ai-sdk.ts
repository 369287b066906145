/** Any AI SDK language model as a `Model` (SPEC A9, A10). */
import type { RequestConfig, StreamChunk } from '../core/events.ts'
import type { JsonValue } from '../core/json.ts'
import { callFailure } from './ai-sdk-failure.ts'
import { defined, fieldOf, textField } from './ai-sdk-fields.ts'
import { promptOf } from './ai-sdk-prompt.ts'
import { partMapping } from './ai-sdk-stream.ts'
import type { AiSdkCallOptions, AiSdkLanguageModel, AiSdkProviderOptions, AiSdkReasoning } from './ai-sdk-types.ts'
import { AgentError } from './errors.ts'
import type { Model, ModelRequest } from './model.ts'

export type AiSdkModelOptions = {
  /** Name the log knows the provider under; default: the language model's own. */
  readonly provider?: string
  /** Name the log knows the model under; default: the language model's own. */
  readonly modelId?: string
  /** Size of the model's window, tokens. */
  readonly contextWindow?: number
  readonly maxTokens?: number
  readonly temperature?: number
  readonly reasoningEffort?: string
  readonly stop?: readonly string[]
  readonly systemPromptUpdate?: 'in-history'
  /** Keys and other texts that must never show up in a failure. */
  readonly secrets?: readonly string[]
  /** Handed to the provider with each call, by provider name. */
  readonly providerOptions?: { readonly [provider: string]: { readonly [key: string]: JsonValue } }
}

/**
 * Wraps an AI SDK language model of spec v2, v3 or v4. It streams, never retries, and reports every failure as data.
 *
 * @throws {AgentError} `model` when the object is not such a model, or has no name and none is given.
 */
export function aiSdkModel(languageModel: AiSdkLanguageModel, options: AiSdkModelOptions = {}): Model {
  const { provider = languageModel?.provider, modelId: model = languageModel?.modelId } = options
  check('spec v2, v3 or v4', /^v[234]$/.test(textField(languageModel, 'specificationVersion')))
  check('doStream', typeof fieldOf(languageModel, 'doStream') === 'function')
  check('a provider and a model id', provider && model)
  const { contextWindow, maxTokens, temperature, reasoningEffort, stop, systemPromptUpdate } = options
  const config: RequestConfig = Object.freeze(
    defined({
      provider,
      model,
      reasoningEffort,
      temperature,
      maxTokens,
      stop: stop && Object.freeze([...stop]),
    }),
  )
  return defined({
    config,
    contextWindow,
    systemPromptUpdate,
    stream: (request: ModelRequest) => streamCall(languageModel, options, request),
  })
}

function check(what: string, isFine: unknown): void {
  if (!isFine) throw new AgentError('model', `Expected an AI SDK language model with ${what}`)
}

async function* streamCall(
  languageModel: AiSdkLanguageModel,
  options: AiSdkModelOptions,
  request: ModelRequest,
): AsyncGenerator<StreamChunk, void, void> {
  const { signal } = request
  if (signal.aborted) return
  const { secrets = [] } = options
  const address = addressOf(languageModel)
  const failureOf = (error: unknown, begun: boolean) => callFailure(error, { secrets, address, begun })
  let reader: ReadableStreamDefaultReader<unknown> | undefined
  // A stream that ignores the signal is let go of all the same.
  const letGo = () => void reader?.cancel().catch(() => undefined)
  signal.addEventListener('abort', letGo)
  try {
    const { stream } = await languageModel.doStream(callOptions(languageModel, options, request))
    reader = stream.getReader()
    const mapping = partMapping(error => failureOf(error, true))
    while (!signal.aborted && !mapping.isFinished()) {
      const { done, value } = await reader.read()
      if (!signal.aborted) yield* done ? mapping.end() : mapping.push(value)
    }
  } catch (error) {
    if (!signal.aborted)
      yield { type: 'finish', reason: { kind: 'error', failure: failureOf(error, reader !== undefined) } }
  } finally {
    signal.removeEventListener('abort', letGo)
    letGo()
  }
}

function callOptions(
  { specificationVersion, provider }: AiSdkLanguageModel,
  options: AiSdkModelOptions,
  { header, messages, signal }: ModelRequest,
): AiSdkCallOptions {
  const { config, tools } = header
  const { temperature, maxTokens, stop, reasoningEffort } = config
  const providerOptions = { ...options.providerOptions }
  if (reasoningEffort !== undefined && specificationVersion !== 'v4') {
    // Before spec v4 each provider takes it as an option of its own, under the first part of its name.
    const name = provider.split('.')[0] ?? provider
    providerOptions[name] = { reasoningEffort, ...providerOptions[name] }
  }
  return defined({
    prompt: promptOf(messages, config.provider),
    tools: tools?.map(({ name, description, inputSchema }) =>
      defined({ type: 'function' as const, name, description, inputSchema: inputSchema as object }),
    ),
    maxOutputTokens: maxTokens,
    temperature,
    stopSequences: stop && [...stop],
    reasoning: specificationVersion === 'v4' ? (reasoningEffort as AiSdkReasoning | undefined) : undefined,
    providerOptions: Object.keys(providerOptions).length > 0 ? (providerOptions as AiSdkProviderOptions) : undefined,
    abortSignal: signal,
    includeRawChunks: false,
  })
}

/** Where the model sends its requests, as far as it shows: a browser's failed fetch does not say. */
function addressOf(languageModel: AiSdkLanguageModel): unknown {
  const config = fieldOf(languageModel, 'config')
  const url = fieldOf(config, 'url')
  try {
    if (typeof url !== 'function') return fieldOf(config, 'baseURL')
    return (url as (target: object) => unknown).call(config, { path: '', modelId: languageModel.modelId })
  } catch {
    return undefined
  }
}
