/** Where a language model sends its requests, as far as it shows. */
import { fieldOf } from './ai-sdk-fields.ts'
import type { AiSdkLanguageModel } from './ai-sdk-types.ts'

/** The address; undefined when the model does not tell: a browser's failed fetch does not either. */
export function addressOf(languageModel: AiSdkLanguageModel): unknown {
  const config = fieldOf(languageModel, 'config')
  const url = fieldOf(config, 'url')
  try {
    if (typeof url !== 'function') return fieldOf(config, 'baseURL')
    return (url as (target: object) => unknown).call(config, { path: '', modelId: languageModel.modelId })
  } catch {
    return undefined
  }
}

/** Requests to this address do not leave the machine. */
export function isLoopback(address: unknown): boolean {
  if (typeof address !== 'string' || !URL.canParse(address)) return false
  return /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(address).hostname)
}
