/** Loaded on demand: any OpenAI-compatible endpoint as a model. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { type AiSdkModelOptions, aiSdkModel } from 'palimpsest/ai-sdk'
import type { Model } from 'palimpsest/worker'
import type { OpenAiCompatibleConfig } from './config.ts'

export function openAiCompatibleModel(
  { baseURL, apiKey, model }: OpenAiCompatibleConfig,
  fetch: typeof globalThis.fetch,
  options: AiSdkModelOptions,
): Model {
  const provider = createOpenAICompatible({
    name: 'demo',
    baseURL,
    includeUsage: true,
    fetch,
    ...(apiKey === '' ? {} : { apiKey }),
  })
  return aiSdkModel(provider.chatModel(model), { ...options, secrets: [apiKey] })
}
