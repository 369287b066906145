/** A call that waits for a person: what would run, exactly, and the two answers. Nothing runs before one is given. */
import type { ToolItem } from 'palimpsest/views'
import {
  type KeyboardEvent,
  type ReactElement,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { answerRefusalWords } from '../app/words.ts'
import { pieces } from '../text/cut.ts'
import { pretty } from '../text/pretty.ts'
import { revealHidden } from '../text/visible.ts'
import { Segments, Visible } from '../text/visible-text.tsx'
import { useGrowing } from '../text/use-growing.ts'
import type { TurnActions } from './turn-actions.ts'

export type ApprovalCardProps = {
  readonly item: ToolItem
  readonly approve: TurnActions['approve']
}

export function ApprovalCard({ item, approve }: ApprovalCardProps): ReactElement {
  const title = useId()
  const box = useRef<HTMLDivElement>(null)
  const safe = useRef<HTMLButtonElement>(null)
  const isDeciding = useRef(false)
  const [refusal, setRefusal] = useState('')
  const onKeyDown = useOwnFocus(box, safe)

  const decide = async (answer: 'allowed-once' | 'rejected') => {
    if (isDeciding.current) return
    isDeciding.current = true
    try {
      await approve(item.callId, answer)
    } catch (error) {
      setRefusal(answerRefusalWords(error))
    } finally {
      isDeciding.current = false
    }
  }
  return (
    <div className="approval" role="group" aria-labelledby={title} ref={box} onKeyDown={onKeyDown}>
      <p id={title} className="what">
        <strong>
          May{' '}
          <span className="name">
            <Visible text={item.name} />
          </span>{' '}
          run?
        </strong>{' '}
        {item.approval?.reason}
      </p>
      <ExactText text={item.arguments === '' ? '(no arguments)' : pretty(item.arguments)} />
      {refusal !== '' && (
        <p role="alert" className="refusal">
          {refusal}
        </p>
      )}
      <div className="actions">
        <button type="button" ref={safe} onClick={() => void decide('rejected')}>
          Reject
        </button>
        <button type="button" onClick={() => void decide('allowed-once')}>
          Allow once
        </button>
      </div>
    </div>
  )
}

const PIECE = 4_000
const PIECES_A_STEP = 100

/** All of it, in a box that scrolls: who decides sees what is decided about. */
function ExactText({ text }: { readonly text: string }): ReactElement {
  const all = pieces(text, PIECE)
  const count = useGrowing(all.length, PIECES_A_STEP)
  return (
    <div className="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable with the keyboard */}
      <pre role="group" aria-label="Arguments" tabIndex={0} dir="ltr">
        {all.slice(0, count).map((piece, index) => (
          <Segments key={index} segments={revealHidden(piece)} />
        ))}
      </pre>
    </div>
  )
}

/** A key that was on its way when the card took the focus is not an answer to it, ms. */
const GRACE_MS = 500

/**
 * The safe choice has the focus when nobody does anything else: who waits at the end with an empty field, or with nothing
 * at all. Who then writes is back in the field with the first letter. Whoever decides gets back to where they were.
 */
function useOwnFocus(
  box: RefObject<HTMLDivElement | null>,
  safe: RefObject<HTMLButtonElement | null>,
): (event: KeyboardEvent) => void {
  /** When it was taken from the field, as events tell the time; null when it was not, or is the person's own by now. */
  const taken = useRef<number | null>(null)
  const isFromField = useRef(false)
  useEffect(() => {
    const field = fieldOf()
    const active = document.activeElement
    const isIdle = active === document.body || active?.id === 'transcript' || (active === field && field?.value === '')
    const isAtEnd = document.querySelector('#jump:not([hidden])') === null
    if (!isIdle || !isAtEnd || document.querySelector('dialog[open]') !== null) return
    isFromField.current = active === field
    taken.current = performance.now()
    safe.current?.focus({ preventScroll: true })
  }, [safe])
  useLayoutEffect(() => {
    const own = box.current
    return () => {
      if (own === null || !own.contains(document.activeElement)) return
      const row = own.closest<HTMLElement>('[data-row]')
      queueMicrotask(() => {
        if (own.isConnected) return // it is only mounted again
        const next = document.querySelector<HTMLElement>('#rows .approval button')
        const home = next ?? (isFromField.current ? fieldOf() : row)
        home?.focus({ preventScroll: true })
      })
    }
  }, [box])
  return event => {
    const { key, ctrlKey, metaKey, altKey } = event
    if (taken.current === null) return
    const isPress = key === 'Enter' || key === ' '
    if (isPress && event.timeStamp - taken.current < GRACE_MS) event.preventDefault()
    if (isPress || ctrlKey || metaKey || altKey || key.length !== 1) {
      if (key === 'Tab') taken.current = null
      return
    }
    event.stopPropagation()
    taken.current = null
    fieldOf()?.focus()
  }
}

const fieldOf = (): HTMLTextAreaElement | null => document.querySelector<HTMLTextAreaElement>('#prompt')
