/** Text of any length without a frozen page: long text shows its beginning, and all of it in pieces on demand. */
import { memo, type ReactElement, type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { CopyButton } from './copy-button.tsx'
import { characterStart, pieces } from './cut.ts'
import { useGrowing } from './use-growing.ts'
import { revealHidden } from './visible.ts'
import { Segments } from './visible-text.tsx'

const SHOWN_AT_ONCE = 4_000
const PIECE = 4_000
const PIECES_A_STEP = 100

export type TextKind = 'text' | 'code'

/** `text` as it is, with what is hidden in it shown. Code and long text can be copied. */
export function LongText({ text, kind = 'text' }: { text: string; kind?: TextKind }): ReactElement {
  const [whole, setWhole] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const toggled = useRef(false)
  const long = text.length > SHOWN_AT_ONCE
  useEffect(() => {
    // Only a person's click moves the focus: into what it opened, or back to the button.
    if (!toggled.current) return
    toggled.current = false
    const target = whole ? box.current : button.current
    target?.focus()
  }, [whole])
  const toggle = (open: boolean) => {
    toggled.current = true
    setWhole(open)
  }
  const copy = (long || kind === 'code') && text !== '' ? <CopyButton text={text} what={kind} /> : null
  if (!long) {
    return (
      <div className={`long-text ${kind}-kind`}>
        <Piece text={text} kind={kind} className="text" />
        {copy !== null && <div className="long-text-tools">{copy}</div>}
      </div>
    )
  }
  return (
    <div className={`long-text ${kind}-kind`}>
      {whole ? (
        <Whole text={text} kind={kind} box={box} />
      ) : (
        <Piece text={`${text.slice(0, characterStart(text, SHOWN_AT_ONCE))}…`} kind={kind} className="text" />
      )}
      <div className="long-text-tools">
        <button type="button" ref={button} onClick={() => toggle(!whole)}>
          {whole ? 'Show less' : `Show all ${text.length.toLocaleString('en')} characters`}
        </button>
        {copy}
      </div>
    </div>
  )
}

interface WholeProps {
  text: string
  kind: TextKind
  box: RefObject<HTMLDivElement | null>
}

function Whole({ text, kind, box }: WholeProps): ReactElement {
  const all = useMemo(() => pieces(text, PIECE), [text])
  const count = useGrowing(all.length, PIECES_A_STEP)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable with the keyboard
    <div
      className="text whole"
      ref={box}
      tabIndex={0}
      role="group"
      aria-label="Whole text"
      aria-busy={count < all.length}
    >
      {all.slice(0, count).map((piece, index) => (
        <Piece key={index} text={piece} kind={kind} className="piece" />
      ))}
    </div>
  )
}

const Piece = memo(function Piece({ text, kind, className }: { text: string; kind: TextKind; className: string }) {
  return (
    <div className={className} dir={kind === 'code' ? 'ltr' : 'auto'}>
      <Segments segments={revealHidden(text)} />
    </div>
  )
})
