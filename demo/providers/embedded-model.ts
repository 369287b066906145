/** Loaded on demand: the embedded provider inside this worker, and what it needs to answer. */
import type { AiSdkModelOptions } from 'palimpsest/ai-sdk'
import type { Model } from 'palimpsest/worker'
import { createEmbeddedFetch, embeddedBaseURL } from '../provider/fetch.ts'
import type { EmbeddedConfig } from './config.ts'
import { openAiCompatibleModel } from './openai-compatible-model.ts'

/** One for all turns: it counts attempts. */
const embeddedFetch = createEmbeddedFetch()

export function embeddedModel({ model }: EmbeddedConfig, options: AiSdkModelOptions): Model {
  const config = { kind: 'openai-compatible', baseURL: embeddedBaseURL, apiKey: '', model } as const
  return openAiCompatibleModel(config, embeddedFetch, options)
}
