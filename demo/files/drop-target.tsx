/** What the page is while files are held over it: a place to drop them. */
import { type ReactElement, useEffect, useRef } from 'react'

export function DropTarget({ isOver }: { readonly isOver: boolean }): ReactElement {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Above open dialogs too: the whole page takes the file.
    if (isOver) element.current?.showPopover?.()
    else element.current?.hidePopover?.()
  }, [isOver])
  return (
    <div id="drop" className="drop" role="status" popover="manual" hidden={!isOver} ref={element}>
      <p>
        <b>Drop the log of a session to open it</b>
        <span>Any version, plain, gzip or zstd. It is read in this browser and sent nowhere.</span>
      </p>
    </div>
  )
}
