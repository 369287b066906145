/** Keeps the focus on the page: when what has it is removed, hidden or disabled, something near it gets it. */
import { useEffect } from 'react'

/** Where the focus goes, by where it was: the nearest of these around it. */
const homes: readonly (readonly [around: string, home: string])[] = [
  ['#sessions li', '.session'],
  ['#sessions', '[aria-current]'],
  ['#deleted', 'summary'],
  ['.sessions', '#sessions [aria-current]'],
  ['#storage', '#storage'],
  ['#files', '#files button:enabled'],
  ['#composer', '#prompt'],
  ['#transcript', '#transcript'],
  ['.scroll', '.scroll'],
  ['.side', '.side'],
  ['.inspector', '.inspector'],
]

export function useKeepFocus(): void {
  useEffect(() => {
    /** What has the focus, and everything around it, as it was then. */
    let path: readonly Element[] = []
    let frame = 0
    const onFocusIn = ({ target }: FocusEvent) => {
      path = []
      for (let each = target instanceof Element ? target : null; each !== null; each = each.parentElement) {
        path = [...path, each]
      }
    }
    // Whoever leaves it on purpose leaves it for good. What is being removed is gone only after this event.
    const onFocusOut = ({ target }: FocusEvent) => {
      queueMicrotask(() => {
        if (target instanceof Element && path[0] === target && isUsable(target)) path = []
      })
    }
    const check = () => {
      frame = 0
      const [last] = path
      const active = document.activeElement
      // The browser takes the focus away a little after its reason.
      const isLost = last !== undefined && (active === document.body || active === last) && !isUsable(last)
      if (isLost) homeOf(path)?.focus({ preventScroll: true })
    }
    const observer = new MutationObserver(() => {
      if (path.length > 0 && frame === 0) frame = requestAnimationFrame(check)
    })
    document.addEventListener('focusin', onFocusIn)
    document.addEventListener('focusout', onFocusOut)
    observer.observe(document.body, {
      subtree: true,
      childList: true,
      attributes: true,
      attributeFilter: ['disabled', 'hidden', 'inert', 'open'],
    })
    return () => {
      document.removeEventListener('focusin', onFocusIn)
      document.removeEventListener('focusout', onFocusOut)
      observer.disconnect()
      cancelAnimationFrame(frame)
    }
  }, [])
}

const isUsable = (element: Element): boolean =>
  element.isConnected && !element.matches(':disabled, [hidden], [hidden] *, [inert] *, dialog:not([open]) *')

function homeOf(path: readonly Element[]): HTMLElement | null {
  for (const element of path) {
    for (const [around, home] of homes) {
      if (!element.isConnected || !element.matches(around)) continue
      const found = element.matches(home) ? element : element.querySelector(home)
      if (found instanceof HTMLElement && isUsable(found)) return found
    }
  }
  return document.querySelector<HTMLElement>('#transcript')
}
