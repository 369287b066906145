/** Showing much in steps, so that no step freezes the page. */
import { useEffect, useState } from 'react'

/** A count that starts at `step` and grows by it, a task at a time, until it reaches `total`. */
export function useGrowing(total: number, step: number): number {
  const [count, setCount] = useState(step)
  const more = count < total
  useEffect(() => {
    if (!more) return
    const timer = setTimeout(() => setCount(count + step), 0)
    return () => clearTimeout(timer)
  }, [more, count, step])
  return Math.min(count, total)
}
