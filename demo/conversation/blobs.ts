/** Bytes of attachments: stored by the worker, and read from there when they are shown. */
import type { FileBlock, ImageBlock } from 'palimpsest/core'
import { type Context, createContext, useContext, useEffect, useState } from 'react'

export type Blobs = {
  readonly attach: (file: File) => Promise<ImageBlock | FileBlock>
  /** Null when they are not here. */
  readonly getBlob: (attachmentId: string) => Promise<Blob | null>
}

export const BlobsContext: Context<Pick<Blobs, 'getBlob'>> = createContext({
  getBlob: (_attachmentId: string): Promise<Blob | null> => Promise.resolve(null),
})

/** An address for the bytes, as long as it is shown; undefined while they are read, null when they are not here. */
export function useBlobUrl(attachmentId: string, type: string): string | null | undefined {
  const { getBlob } = useContext(BlobsContext)
  const [url, setUrl] = useState<string | null>()
  useEffect(() => {
    let made: string | null = null
    let isGone = false
    getBlob(attachmentId).then(
      blob => {
        if (isGone) return
        made = blob === null ? null : URL.createObjectURL(new Blob([blob], { type }))
        setUrl(made)
      },
      () => {
        if (!isGone) setUrl(null)
      },
    )
    return () => {
      isGone = true
      if (made !== null) URL.revokeObjectURL(made)
    }
  }, [getBlob, attachmentId, type])
  return url
}

/** How long the browser may take to begin a download, ms. */
const KEPT_MS = 10_000

/** Has the browser keep bytes as a file, without looking into them. */
export function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS)
}
