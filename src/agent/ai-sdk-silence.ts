/** Ending a call whose provider falls silent: the connection may stay open for ever (SPEC A1). */
import { orAborted } from './or-aborted.ts'

/** The longest time a timer can be set to, ms. */
const LONGEST = 2 ** 31 - 1

export type SilenceWatch = {
  /** For the provider: aborts with the request, and when the provider was silent for too long. */
  readonly signal: AbortSignal
  /** What `work` comes to; null as soon as `signal` aborts. `work` may take as long as the provider may be silent. */
  wait<Value>(work: PromiseLike<Value>): Promise<Value | null>
  /** The provider was silent for too long. */
  isSilent(): boolean
  /** Lets go of the request's signal. */
  end(): void
}

/** Watches a call made for `signal`; `ms` is how long the provider may say nothing, 0 for as long as it likes. */
export function watchSilence(signal: AbortSignal, ms: number): SilenceWatch {
  const abort = new AbortController()
  let isSilent = false
  const onAbort = () => abort.abort(signal.reason)
  const onSilence = () => {
    isSilent = true
    abort.abort(new DOMException('The provider was silent for too long', 'TimeoutError'))
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return {
    signal: abort.signal,
    async wait(work) {
      const timer = ms > 0 && ms <= LONGEST ? setTimeout(onSilence, ms) : undefined
      try {
        return await orAborted(Promise.resolve(work), abort.signal)
      } finally {
        clearTimeout(timer)
      }
    },
    isSilent: () => isSilent,
    end: () => signal.removeEventListener('abort', onAbort),
  }
}
