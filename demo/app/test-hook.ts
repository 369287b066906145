/** For end-to-end tests, and only when the address says `?e2e`: what a test compares the stored facts with. */
import type { ClientSession, Palimpsest } from 'palimpsest'
import { requestMessages } from 'palimpsest/worker'

export type TestHook = {
  readonly palimpsest: Palimpsest
  /** The session on the page. */
  readonly session: () => ClientSession | null
  readonly requestMessages: typeof requestMessages
  /** Ends the worker as a crash would. */
  readonly killWorker: () => void
}

let current: ClientSession | null = null

/** Tells the hook which session is on the page. */
export function exposeSession(session: ClientSession | null): void {
  current = session
}

/** Puts the hook on the window as `palimpsestDemo`. */
export function initTestHook(palimpsest: Palimpsest, worker: Worker): void {
  if (!new URLSearchParams(location.search).has('e2e')) return
  const hook: TestHook = { palimpsest, session: () => current, requestMessages, killWorker: () => worker.terminate() }
  Object.assign(window, { palimpsestDemo: hook })
}
