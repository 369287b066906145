/** The worker: sessions, storage and the agent live here; the page is a remote control. */
import { serve } from 'palimpsest/worker'
import { noteTools } from './notes/note-tools.ts'
import type { ProviderConfig } from './providers/config.ts'
import { modelOf } from './providers/model.ts'
import { titleFromPrompts } from './sessions/titles.ts'

const system =
  'You are the agent of the Palimpsest demo page. You can search, write and delete notes that are kept in the browser, ' +
  'and switch the page between dark and light. Answer briefly and say what you did.'

serve<ProviderConfig>({
  agent: ({ config }) => ({
    model: modelOf(config),
    system,
    tools: noteTools,
    title: ({ prompts }) => titleFromPrompts(prompts),
  }),
})
