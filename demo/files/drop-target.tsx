/** What the page is while files are held over it: a place to drop logs of sessions, and one for the next message. */
import { type ReactElement, useEffect, useRef } from 'react'
import type { DropPlace } from './use-file-drop.ts'

export function DropTarget({ over }: { readonly over: DropPlace | null }): ReactElement {
  const isOver = over !== null
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Above open dialogs too: the whole page takes the file.
    if (isOver) element.current?.showPopover?.()
    else element.current?.hidePopover?.()
  }, [isOver])
  return (
    <div id="drop" className="drop" role="status" popover="manual" hidden={!isOver} ref={element}>
      <p className={over === 'page' ? 'over' : ''}>
        <b>Drop the log of a session to open it</b>
        <span>Any version, plain, gzip or zstd. It is read in this browser and sent nowhere.</span>
      </p>
      <p className={over === 'message' ? 'over' : ''} data-drop="message">
        <b>Drop it here to attach it to your message</b>
        <span>Pictures and files, for the model to read.</span>
      </p>
    </div>
  )
}
