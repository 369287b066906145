/** Loaded on demand: Anthropic's own API as a model. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { type AiSdkModelOptions, aiSdkModel } from 'palimpsest/ai-sdk'
import type { Model } from 'palimpsest/worker'
import { type AnthropicConfig, anthropicBaseURL, anthropicPageHeaders } from './config.ts'

export function anthropicModel(
  { baseURL = anthropicBaseURL, apiKey, model }: AnthropicConfig,
  fetch: typeof globalThis.fetch,
  options: AiSdkModelOptions,
): Model {
  const provider = createAnthropic({ baseURL, apiKey, headers: { ...anthropicPageHeaders }, fetch })
  return aiSdkModel(provider(model), { ...options, secrets: [apiKey] })
}
