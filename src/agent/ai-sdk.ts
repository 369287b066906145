/** Any AI SDK language model as a `Model` (SPEC A9, A10). */
import type { RequestConfig, StreamChunk } from '../core/events.ts'
import type { JsonValue } from '../core/json.ts'
import { callFailure } from './ai-sdk-failure.ts'
import { fieldOf } from './ai-sdk-fields.ts'
import { promptOf } from './ai-sdk-prompt.ts'
import { PartMapping } from './ai-sdk-stream.ts'
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
  checkLanguageModel(languageModel)
  const { contextWindow, maxTokens, temperature, reasoningEffort, stop, systemPromptUpdate } = options
  const config: RequestConfig = Object.freeze({
    provider: named('provider', options.provider ?? languageModel.provider),
    model: named('model id', options.modelId ?? languageModel.modelId),
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(stop === undefined ? {} : { stop: Object.freeze([...stop]) }),
  })
  return {
    config,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(systemPromptUpdate === undefined ? {} : { systemPromptUpdate }),
    stream: request => streamCall(languageModel, options, request),
  }
}

const SPECS: readonly unknown[] = ['v2', 'v3', 'v4']

function checkLanguageModel(value: unknown): void {
  const version = fieldOf(value, 'specificationVersion')
  if (SPECS.includes(version) && typeof fieldOf(value, 'doStream') === 'function') return
  const found = typeof value === 'object' && value !== null ? `one of spec ${String(version)}` : `a ${typeof value}`
  throw new AgentError('model', `Expected an AI SDK language model object of spec v2, v3 or v4; found ${found}`)
}

function named(what: string, name: unknown): string {
  if (typeof name === 'string' && name !== '') return name
  throw new AgentError('model', `The language model has no ${what}; pass one in the options`)
}

async function* streamCall(
  languageModel: AiSdkLanguageModel,
  options: AiSdkModelOptions,
  request: ModelRequest,
): AsyncGenerator<StreamChunk, void, void> {
  const { signal } = request
  const { secrets = [] } = options
  const address = addressOf(languageModel)
  const failure = (error: unknown, begun: boolean) => callFailure(error, { secrets, address, begun })
  const failed = (error: unknown, begun: boolean): StreamChunk => ({
    type: 'finish',
    reason: { kind: 'error', failure: failure(error, begun) },
  })

  let reader: ReadableStreamDefaultReader<unknown>
  try {
    const { stream } = await languageModel.doStream(callOptions(languageModel, options, request))
    reader = stream.getReader()
  } catch (error) {
    if (!signal.aborted) yield failed(error, false)
    return
  }
  // A stream that ignores the signal is let go of all the same.
  const letGo = () => void reader.cancel().catch(() => undefined)
  signal.addEventListener('abort', letGo, { once: true })
  try {
    const mapping = new PartMapping(error => failure(error, true))
    while (!signal.aborted && !mapping.finished) {
      const { done, value } = await reader.read()
      if (!signal.aborted) yield* done ? mapping.end() : mapping.push(value)
    }
  } catch (error) {
    if (!signal.aborted) yield failed(error, true)
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
  return {
    prompt: promptOf(messages, config.provider),
    ...(tools === undefined
      ? {}
      : { tools: tools.map(tool => ({ type: 'function', ...tool, inputSchema: tool.inputSchema as object })) }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...(reasoningEffort === undefined || specificationVersion !== 'v4'
      ? {}
      : { reasoning: reasoningEffort as AiSdkReasoning }),
    ...(Object.keys(providerOptions).length === 0 ? {} : { providerOptions: providerOptions as AiSdkProviderOptions }),
    abortSignal: signal,
    includeRawChunks: false,
  }
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
