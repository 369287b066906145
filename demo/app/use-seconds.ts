/** Counting down to a moment, once a second. */
import { useCallback, useSyncExternalStore } from 'react'

const secondsTo = (until: number | null): number | null =>
  until === null ? null : Math.max(0, Math.ceil((until - Date.now()) / 1_000))

/** Whole seconds until a time, epoch ms; null for none. */
export function useSecondsTo(until: number | null): number | null {
  const subscribe = useCallback(
    (listener: () => void) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const wait = () => {
        const left = until === null ? 0 : until - Date.now()
        if (left <= 0) return
        // Right after a full second: then another number is shown.
        timer = setTimeout(
          () => {
            listener()
            wait()
          },
          (left % 1_000) + 5,
        )
      }
      wait()
      return () => clearTimeout(timer)
    },
    [until],
  )
  return useSyncExternalStore(subscribe, () => secondsTo(until))
}
