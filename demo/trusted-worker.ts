/** Starts the agent's worker, also where the page's policy asks for Trusted Types. */
import workerUrl from './agent.worker.ts?worker&url'
import { workerPolicy } from './build/trusted-worker-policy.ts'

type PolicyFactory = {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): PolicyRules
}
type PolicyRules = { createScriptURL(url: string): string }

/** The policy admits scripts of the page's own origin. Browsers without Trusted Types take the address as it is. */
function createRules(): PolicyRules {
  const createScriptURL = (url: string): string => {
    if (new URL(url, document.baseURI).origin !== location.origin) throw new TypeError('Not a script of this page')
    return url
  }
  const { trustedTypes } = globalThis as { trustedTypes?: PolicyFactory }
  return trustedTypes?.createPolicy(workerPolicy, { createScriptURL }) ?? { createScriptURL }
}

const rules = createRules()

/** A script's address as the browser wants it: for `new Worker` and `serviceWorker.register`. */
export const trustedScriptUrl = (url: string): string => rules.createScriptURL(url)

export const createWorker = (): Worker => new Worker(trustedScriptUrl(workerUrl), { type: 'module' })
