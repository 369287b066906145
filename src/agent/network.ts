/** Whether there is a network at all: requests that need one wait for it instead of failing (SPEC A22). */

export type Network = {
  readonly isOnline: () => boolean
  /** Calls `listener` whenever it may have changed; returns its remover. */
  readonly onChange: (listener: () => void) => () => void
}

/** For hosts that cannot tell. */
export const alwaysOnline: Network = { isOnline: () => true, onChange: () => () => undefined }

/** Resolves with true once there is a network, with false as soon as `signal` aborts. */
export function online({ isOnline, onChange }: Network, signal: AbortSignal): Promise<boolean> {
  return new Promise(resolve => {
    const settle = (value: boolean) => {
      remove()
      signal.removeEventListener('abort', onAbort)
      resolve(value)
    }
    const onAbort = () => settle(false)
    const remove = onChange(() => {
      if (isOnline()) settle(true)
    })
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) settle(false)
    else if (isOnline()) settle(true)
  })
}
