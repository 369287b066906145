/** Starts the page: connects to the worker and renders the app. Everything the page knows comes from the worker. */
import { connect } from 'palimpsest'
import { PalimpsestProvider } from 'palimpsest/react'
import { type ReactElement, StrictMode, useCallback, useMemo, useState, useSyncExternalStore } from 'react'
import { createRoot } from 'react-dom/client'
import { initialConfig, labelOf, type ProviderConfig } from '../providers/config.ts'
import { createKeyStore } from '../providers/key-store.ts'
import { initTestHook } from './test-hook.ts'
import { initTheme, setThemeTool } from './theme.ts'
import { createWorker } from '../trusted-worker.ts'
import { App } from './app.tsx'
import { errorFacts } from './words.ts'
import { ErrorBoundary } from './error-boundary.tsx'
import type { ProviderControl } from './provider-dialog.tsx'

import '../styles/tokens.css'
import '../styles/base.css'
import '../styles/frame.css'
import '../styles/conversation.css'
import '../styles/inspector.css'
import '../text/text.css'
import '../markdown/markdown.css'
import '../providers/provider-panel.css'

const keys = createKeyStore(() => localStorage)
const first = initialConfig(location, keys.load())

let lost: unknown = null
const lostListeners = new Set<() => void>()
const worker = createWorker()
const palimpsest = connect(worker, {
  config: first,
  tools: [setThemeTool],
  onLost: error => {
    lost = error
    for (const listener of lostListeners) listener()
  },
})

function subscribeLost(listener: () => void): () => void {
  lostListeners.add(listener)
  return () => {
    lostListeners.delete(listener)
  }
}

function Page(): ReactElement {
  const [config, setConfig] = useState<ProviderConfig>(first)
  const use = useCallback(async (next: ProviderConfig) => {
    await palimpsest.configure(next)
    setConfig(next)
  }, [])
  const provider = useMemo((): ProviderControl => ({ config, label: labelOf(config), keys, use }), [config, use])
  return (
    <PalimpsestProvider client={palimpsest}>
      <ErrorBoundary instead={error => <Broken error={error} />}>
        <App palimpsest={palimpsest} lost={useSyncExternalStore(subscribeLost, () => lost)} provider={provider} />
      </ErrorBoundary>
    </PalimpsestProvider>
  )
}

/** The page itself failed; what was said is in the worker and in storage. */
function Broken({ error }: { readonly error: unknown }): ReactElement {
  return (
    <main className="ending error" role="alert">
      <p className="what">
        <strong>The page cannot be drawn.</strong> What was said is safe. Reload to go on.
      </p>
      <p className="detail">{errorFacts(error).message}</p>
      <div className="actions">
        <button type="button" onClick={() => location.reload()}>
          Reload
        </button>
      </div>
    </main>
  )
}

initTheme()
initTestHook(palimpsest, worker)
const root = document.getElementById('app')
if (root === null) throw new Error('index.html has no #app')
createRoot(root).render(
  <StrictMode>
    <Page />
  </StrictMode>,
)

import.meta.hot?.dispose(() => {
  void palimpsest.close()
})
