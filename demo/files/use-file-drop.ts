/**
 * Files dropped anywhere on the page; the browser itself would leave the page for them. On the field for messages, or where
 * the page says so while files are held over it, they are meant for the next message.
 */
import { useEffect, useRef, useState } from 'react'

export type DropPlace = 'page' | 'message'

/** Hands on what is dropped. Over which place files are held; null while none are. */
export function useFileDrop(take: (files: readonly File[], place: DropPlace) => void): DropPlace | null {
  const [over, setOver] = useState<DropPlace | null>(null)
  const latest = useRef(take)
  useEffect(() => {
    latest.current = take
  })
  useEffect(() => {
    const stop = new AbortController()
    const onOver = (event: DragEvent) => {
      if (!holdsFiles(event)) return
      event.preventDefault()
      event.dataTransfer.dropEffect = 'copy'
      setOver(placeOf(event))
    }
    const onDrop = (event: DragEvent) => {
      if (!holdsFiles(event)) return
      event.preventDefault()
      setOver(null)
      const files = [...event.dataTransfer.files]
      if (files.length > 0) latest.current(files, placeOf(event))
    }
    // From one element to the next is not away from the page.
    const onLeave = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) setOver(null)
    }
    const { signal } = stop
    addEventListener('dragenter', onOver, { signal })
    addEventListener('dragover', onOver, { signal })
    addEventListener('dragleave', onLeave, { signal })
    addEventListener('drop', onDrop, { signal })
    return () => stop.abort()
  }, [])
  return over
}

const holdsFiles = (event: DragEvent): event is DragEvent & { readonly dataTransfer: DataTransfer } =>
  event.dataTransfer?.types.includes('Files') === true

const placeOf = ({ target }: DragEvent): DropPlace =>
  target instanceof Element && target.closest('#composer, [data-drop="message"]') !== null ? 'message' : 'page'
