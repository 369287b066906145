/** Time, as the agent has it: handed in, so that tests turn it by hand. */

export type Clock = {
  /** Epoch ms. */
  readonly now: () => number
  /** Runs `work` once, `ms` from now; returns what keeps it from running. */
  readonly after: (ms: number, work: () => void) => () => void
}

/** Longest wait a timer of the platform takes, ms: a longer one it would not wait at all. */
const MAX_TIMER = 2 ** 31 - 1

/** The platform's. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, work) {
    let timer: ReturnType<typeof setTimeout>
    const wait = (left: number) => {
      timer = setTimeout(() => (left > MAX_TIMER ? wait(left - MAX_TIMER) : work()), Math.min(left, MAX_TIMER))
    }
    wait(ms)
    return () => clearTimeout(timer)
  },
}

/** Resolves with true after `ms`, with false as soon as `signal` aborts. */
export function sleep({ after }: Pick<Clock, 'after'>, ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve(false)
    const onAbort = () => {
      forget()
      resolve(false)
    }
    const forget = after(ms, () => {
      signal.removeEventListener('abort', onAbort)
      resolve(true)
    })
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
