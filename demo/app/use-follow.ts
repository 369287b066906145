/** Keeps a scrolled view at its end while the reader is there, and leaves it alone otherwise. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

const NEAR = 32
/** How long what is opened may take to be there, ms. */
const OPENING_MS = 300

const distance = ({ scrollHeight, scrollTop, clientHeight }: HTMLElement) => scrollHeight - scrollTop - clientHeight

export type Following = {
  readonly view: RefObject<HTMLDivElement | null>
  readonly content: RefObject<HTMLDivElement | null>
  readonly isAtEnd: boolean
  /** Goes to the end and stays there. */
  readonly toEnd: () => void
}

/**
 * For a scrolling element (`view`) with its content in one child (`content`). `of` names what is shown: another one starts
 * at its end, or at its beginning when `fromStart`. What is put in front of the content does not move what is read.
 */
export function useFollow(of: string, fromStart = false): Following {
  const view = useRef<HTMLDivElement | null>(null)
  const content = useRef<HTMLDivElement | null>(null)
  const follows = useRef(true)
  /** Where the view was when it was last looked at. */
  const top = useRef(0)
  /** Until then nothing makes it follow: something was opened. */
  const stays = useRef(0)
  const [isAtEnd, setAtEnd] = useState(true)

  const look = useCallback(() => {
    const element = view.current
    if (element === null) return
    // Content that came since the last look makes the end further away: only going up is a reader's leaving it.
    const isNear = distance(element) < NEAR
    if (isNear && performance.now() >= stays.current) follows.current = true
    else if (!isNear && element.scrollTop < top.current - 1) follows.current = false
    top.current = element.scrollTop
    setAtEnd(follows.current || isNear)
  }, [])
  const keep = useCallback(() => {
    const element = view.current
    if (element === null) return
    // A reader who has just scrolled up is told apart before the scroll event comes: it may be later than this change.
    if (element.scrollTop < top.current - 1 && distance(element) >= NEAR) follows.current = false
    if (follows.current) element.scrollTop = element.scrollHeight
    look()
  }, [look])
  const toEnd = useCallback(() => {
    follows.current = true
    stays.current = 0
    top.current = 0
    keep()
  }, [keep])

  useLayoutEffect(() => {
    follows.current = !fromStart
    top.current = 0
    if (fromStart && view.current !== null) view.current.scrollTop = 0
    keep()
  }, [of, fromStart, keep])

  useEffect(() => {
    const element = view.current
    if (element === null) return
    const observer = new ResizeObserver(keep)
    observer.observe(element)
    if (content.current !== null) observer.observe(content.current)
    let timer: ReturnType<typeof setTimeout> | undefined
    // Who opens something wants to read that, not what comes after it.
    const onClick = ({ target }: Event) => {
      const pressed = target instanceof Element ? target.closest('summary, button') : null
      if (pressed === null) return
      follows.current = false
      if (pressed.matches('button')) return void requestAnimationFrame(look)
      stays.current = performance.now() + OPENING_MS
      clearTimeout(timer)
      timer = setTimeout(look, OPENING_MS)
    }
    element.addEventListener('scroll', look, { passive: true })
    element.addEventListener('click', onClick, true)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
      element.removeEventListener('scroll', look)
      element.removeEventListener('click', onClick, true)
    }
  }, [keep, look])

  return { view, content, isAtEnd, toEnd }
}

/**
 * Keeps what is read in its place when rows are put in front of it: `first` names the first row. Call it in the component
 * that renders the rows.
 */
export function useKeepPlace(view: RefObject<HTMLElement | null>, first: string | null): void {
  const before = useRef<{ readonly first: string | null; readonly height: number; readonly top: number } | null>(null)
  useLayoutEffect(() => {
    const element = view.current
    if (element === null) return
    const last = before.current
    if (last !== null && last.first !== null && last.first !== first && element.scrollHeight > last.height) {
      element.scrollTop = last.top + element.scrollHeight - last.height
    }
    before.current = { first, height: element.scrollHeight, top: element.scrollTop }
  })
}
