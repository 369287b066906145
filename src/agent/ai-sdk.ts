/** Any AI SDK language model as a `Model` (SPEC A9, A10). */
import type { LlmFailure, RequestConfig, StreamChunk } from '../core/events.ts'
import type { JsonValue } from '../core/json.ts'
import { addressOf, isLoopback } from './ai-sdk-address.ts'
import { type Attachments, readAttachments } from './ai-sdk-attachments.ts'
import { callFailure, requestIdOf } from './ai-sdk-failure.ts'
import { defined, fieldOf, textField } from './ai-sdk-fields.ts'
import { maskedText } from './ai-sdk-masking.ts'
import { promptOf } from './ai-sdk-prompt.ts'
import { watchSilence } from './ai-sdk-silence.ts'
import { partMapping } from './ai-sdk-stream.ts'
import type { AiSdkCallOptions, AiSdkLanguageModel, AiSdkProviderOptions, AiSdkReasoning } from './ai-sdk-types.ts'
import { AgentError } from './errors.ts'
import { failureOf as ownFailureOf } from './failure.ts'
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
  /**
   * How long the provider may say nothing, before its first part and between parts, ms; default 120 000, 0 for as long
   * as it likes. Then the request is aborted and the call has failed: `TIMEOUT`. What keeps a connection open without
   * being a part of the answer, such as comments and pings, does not count.
   */
  readonly idleTimeoutMs?: number
  /** Requests leave the machine; default: yes, unless the language model's address is known to be this machine's. */
  readonly usesNetwork?: boolean
  /**
   * The provider takes images in the results of tools; default: yes, unless its name ends in `.chat`: messages of the
   * chat-completions protocol hold text only. Where it does not, images follow the results in a user message.
   */
  readonly imagesInToolResults?: boolean
  /**
   * Told what a provider says it did not do as asked, and what of an answer could not be kept, in words without secrets.
   * Called on its own: what it throws is nobody's failure but its own.
   */
  readonly onWarning?: (warning: string) => void
}

const DEFAULT_IDLE_MS = 120_000

/**
 * Wraps an AI SDK language model of spec v2, v3 or v4 (SPEC A9). It streams, never retries, and reports every failure as
 * data: its codes are `AUTH`, `RATE_LIMIT`, `INSUFFICIENT_QUOTA`, `OVERLOADED`, `SERVER`, `TRANSPORT`, `TIMEOUT`,
 * `CONTEXT_WINDOW_EXCEEDED`, `CONTENT_FILTER`, `MODEL_NOT_FOUND`, `INVALID_REQUEST`, `EMPTY_RESPONSE`.
 *
 * Images, PDFs and text files of people are sent with their bytes, images and text files of tools too; a text file is
 * one by name and by what it holds. Whatever else is attached, or is not here, is named in a text in its place.
 *
 * A file the model generates has no place in a log: a text such as `[image/png, 12 kB, not kept]` stands for it. Sources
 * an answer cites are left out; both are told to `onWarning`.
 *
 * @throws {AgentError} `model` when the object is not such a model, or has no name and none is given; `setup` when
 * `idleTimeoutMs` makes no sense.
 */
export function aiSdkModel(languageModel: AiSdkLanguageModel, options: AiSdkModelOptions = {}): Model {
  const { provider = languageModel?.provider, modelId: model = languageModel?.modelId } = options
  check('spec v2, v3 or v4', /^v[234]$/.test(textField(languageModel, 'specificationVersion')))
  check('doStream', typeof fieldOf(languageModel, 'doStream') === 'function')
  check('a provider and a model id', provider && model)
  const { idleTimeoutMs = DEFAULT_IDLE_MS, usesNetwork = !isLoopback(addressOf(languageModel)) } = options
  if (!(idleTimeoutMs >= 0)) {
    throw new AgentError('setup', `Expected idleTimeoutMs to be ms, 0 for none; found ${idleTimeoutMs}`)
  }
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
    usesNetwork,
    stream: (request: ModelRequest) => streamCall(languageModel, { ...options, idleTimeoutMs }, request),
  })
}

function check(what: string, isFine: unknown): void {
  if (!isFine) throw new AgentError('model', `Expected an AI SDK language model with ${what}`)
}

async function* streamCall(
  languageModel: AiSdkLanguageModel,
  options: AiSdkModelOptions & { readonly idleTimeoutMs: number },
  request: ModelRequest,
): AsyncGenerator<StreamChunk, void, void> {
  const { signal } = request
  if (signal.aborted) return
  const { secrets = [], idleTimeoutMs } = options
  const address = addressOf(languageModel)
  const onWarning = (warning: string): void => {
    if (options.onWarning) queueMicrotask(() => options.onWarning?.(maskedText(warning, secrets)))
  }
  const watch = watchSilence(signal, idleTimeoutMs)
  let reader: ReadableStreamDefaultReader<unknown> | undefined
  let headers: unknown
  const failureOf = (error: unknown) => callFailure(error, { secrets, address, headers, begun: reader !== undefined })
  try {
    const attachments = await attachmentsOf(request, secrets)
    if (attachments === null) return
    if ('code' in attachments) return yield failed(attachments)
    const started = Promise.resolve(
      languageModel.doStream(callOptions(languageModel, options, request, attachments.bytes, watch.signal)),
    )
    const answer = await watch.wait(started)
    if (answer === null) {
      // It may come all the same, from a provider that ignores the signal: then nobody reads it.
      started.then(({ stream }) => stream.cancel()).catch(() => undefined)
    } else {
      headers = fieldOf(answer.response, 'headers')
      reader = answer.stream.getReader()
      const requestId = requestIdOf({ headers, secrets })
      const mapping = partMapping({ failureOf, onWarning, requestId, contentType: textField(headers, 'content-type') })
      while (!watch.signal.aborted && !mapping.isFinished()) {
        const read = await watch.wait(reader.read())
        if (read !== null) yield* read.done ? mapping.end() : mapping.push(read.value)
      }
    }
  } catch (error) {
    if (!watch.signal.aborted) yield failed(failureOf(error))
  } finally {
    watch.end()
    // Not waited for, and its failure is nobody's: a stream may ignore that it is let go of.
    reader?.cancel().catch(() => undefined)
    reader?.releaseLock()
  }
  if (watch.isSilent() && !signal.aborted) {
    const seconds = idleTimeoutMs / 1_000
    const message = `The provider sent nothing for ${seconds} second${seconds === 1 ? '' : 's'}, so the call was ended.`
    yield failed(defined({ code: 'TIMEOUT', message, requestId: requestIdOf({ headers, secrets }) }))
  }
}

const failed = (failure: LlmFailure): StreamChunk => ({ type: 'finish', reason: { kind: 'error', failure } })

/** The bytes a request needs; a failure when they cannot be read; null when it was aborted. */
async function attachmentsOf(
  request: ModelRequest,
  secrets: readonly string[],
): Promise<{ readonly bytes: Attachments } | LlmFailure | null> {
  try {
    const bytes = await readAttachments(request)
    return bytes && { bytes }
  } catch (error) {
    const failure = ownFailureOf(error)
    return { ...failure, message: maskedText(`An attachment could not be read: ${failure.message}`, secrets) }
  }
}

function callOptions(
  { specificationVersion: version, provider }: AiSdkLanguageModel,
  options: AiSdkModelOptions,
  { header, messages }: ModelRequest,
  attachments: Attachments,
  abortSignal: AbortSignal,
): AiSdkCallOptions {
  const { config, tools } = header
  const isChat = /\.chat$/.test(provider)
  const { imagesInToolResults: imagesInResults = !isChat } = options
  const { temperature, maxTokens, stop, reasoningEffort } = config
  const providerOptions = { ...options.providerOptions }
  if (reasoningEffort !== undefined && version !== 'v4') {
    // Before spec v4 each provider takes it as an option of its own, under the first part of its name.
    const name = provider.split('.')[0] ?? provider
    providerOptions[name] = { reasoningEffort, ...providerOptions[name] }
  }
  return defined({
    prompt: promptOf(messages, config.provider, { attachments, version, isChat, imagesInResults }),
    tools: tools?.map(({ name, description, inputSchema }) =>
      defined({ type: 'function' as const, name, description, inputSchema: inputSchema as object }),
    ),
    maxOutputTokens: maxTokens,
    temperature,
    stopSequences: stop && [...stop],
    reasoning: version === 'v4' ? (reasoningEffort as AiSdkReasoning | undefined) : undefined,
    providerOptions: Object.keys(providerOptions).length > 0 ? (providerOptions as AiSdkProviderOptions) : undefined,
    abortSignal,
    includeRawChunks: false,
  })
}
