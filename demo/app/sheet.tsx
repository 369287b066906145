/** A side of the page: a column where there is room, a sheet over the conversation where there is not. */
import { type ReactElement, type ReactNode, useEffect, useRef } from 'react'

export type SheetProps = {
  readonly id: string
  readonly className: string
  readonly label: string
  readonly isWide: boolean
  /** Only asked on narrow screens. */
  readonly isOpen: boolean
  readonly close: () => void
  readonly children: ReactNode
}

export function Sheet({ id, className, label, isWide, isOpen, close, children }: SheetProps): ReactElement {
  const element = useRef<HTMLDivElement>(null)
  const isSheet = !isWide && isOpen
  useEffect(() => {
    if (!isSheet) return
    const before = document.activeElement
    const sheet = element.current
    sheet?.focus()
    return () => {
      // Whoever has led the focus elsewhere by now wants it there.
      const active = document.activeElement
      const isElsewhere = active !== document.body && sheet?.contains(active) === false
      if (!isElsewhere && before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [isSheet])
  return (
    <>
      {isSheet && <div className="scrim" onClick={close} />}
      <div
        id={id}
        ref={element}
        className={`${className}${isSheet ? ' sheet' : ''}`}
        aria-label={label}
        hidden={!isWide && !isOpen}
        tabIndex={-1}
        role={isSheet ? 'dialog' : 'complementary'}
        aria-modal={isSheet || undefined}
        onKeyDown={event => {
          if (!isSheet || event.key !== 'Escape' || event.defaultPrevented) return
          event.stopPropagation()
          close()
        }}
      >
        {isSheet && (
          <button type="button" className="quiet sheet-close" onClick={close}>
            Close
          </button>
        )}
        {children}
      </div>
    </>
  )
}
