/**
 * The value of `work`, or null as soon as `signal` aborts: what ignores the signal is not waited for, and how it ends
 * then is nobody's concern. Before the abort its failure passes through.
 */
export function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value | null> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(null)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
      .catch(() => undefined)
  })
}
