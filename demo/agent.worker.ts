/** The worker: sessions, storage and the agent live here; the page is a remote control. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { aiSdkModel } from 'palimpsest/ai-sdk'
import { serve } from 'palimpsest/worker'
import { contextWindows, type ProviderConfig } from './config.ts'
import { noteTools } from './note-tools.ts'

const system =
  'You are the agent of the Palimpsest demo page. You can search and write notes that are kept in the browser, and ' +
  'switch the page between dark and light. Answer briefly and say what you did.'

serve<ProviderConfig>({
  agent: ({ config }) => {
    const { baseURL, apiKey, model } = config
    const contextWindow = contextWindows.get(model)
    const provider = createOpenAICompatible({
      name: 'demo',
      baseURL,
      includeUsage: true,
      ...(apiKey === '' ? {} : { apiKey }),
    })
    return {
      model: aiSdkModel(provider.chatModel(model), {
        secrets: [apiKey],
        ...(contextWindow === undefined ? {} : { contextWindow }),
      }),
      system,
      tools: noteTools,
    }
  },
})
