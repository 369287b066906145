/** Images and files of a message or a tool's result: images as they are, files to be kept. */
import type { FileBlock, ImageBlock } from 'palimpsest/core'
import { type ReactElement, useContext, useState } from 'react'
import { bytes } from '../app/format.ts'
import { Visible } from '../text/visible-text.tsx'
import { BlobsContext, download, useBlobUrl } from './blobs.ts'
import { type AttachmentBlock, attachmentName } from './content.ts'

/** Nothing where nothing is attached. */
export function Attachments({ blocks }: { readonly blocks: readonly AttachmentBlock[] }): ReactElement | null {
  if (blocks.length === 0) return null
  return (
    <ul className="attachments plain" aria-label="Attachments">
      {blocks.map((block, index) => (
        <li key={index}>{block.type === 'image' ? <Picture block={block} /> : <KeptFile block={block} />}</li>
      ))}
    </ul>
  )
}

/** Room for a picture, and for one that is enlarged, px. */
const SMALL = { width: 240, height: 160 }
const LARGE = { width: 640, height: 640 }

/** The size of a picture in some room. Logs come from anywhere: one that says no size gets a square. */
function fitting(width: unknown, height: unknown, room: typeof SMALL): typeof SMALL {
  const isKnown = typeof width === 'number' && typeof height === 'number' && width > 0 && height > 0
  const [w, h] = isKnown ? [width, height] : [room.height, room.height]
  const scale = Math.min(1, room.width / w, room.height / h)
  return { width: Math.max(1, Math.round(w * scale)), height: Math.max(1, Math.round(h * scale)) }
}

/** Its room is kept while it is read, so that nothing moves when it is there. */
function Picture({ block }: { readonly block: ImageBlock }): ReactElement {
  const { attachmentId, mediaType, width, height } = block.attachment
  const url = useBlobUrl(attachmentId, mediaType)
  const [isLarge, setLarge] = useState(false)
  const [isBroken, setBroken] = useState(false)
  const name = attachmentName(block)
  if (url === null || isBroken) return <Missing block={block} what={isBroken ? 'cannot be shown' : 'not kept here'} />
  const size = fitting(width, height, isLarge ? LARGE : SMALL)
  return (
    <button
      type="button"
      className="picture-button"
      aria-pressed={isLarge}
      aria-label={`Enlarge ${name}`}
      title={name}
      onClick={() => setLarge(!isLarge)}
    >
      {url === undefined ? <svg {...size} /> : <img src={url} alt={name} {...size} onError={() => setBroken(true)} />}
    </button>
  )
}

function KeptFile({ block }: { readonly block: FileBlock }): ReactElement {
  const { getBlob } = useContext(BlobsContext)
  const [said, setSaid] = useState('')
  const name = attachmentName(block)
  const save = async () => {
    const blob = await getBlob(block.attachment.attachmentId).catch(() => null)
    setSaid(blob === null ? 'not kept here' : '')
    if (blob !== null) download(blob, name)
  }
  return (
    <span className="chip">
      <FileFacts name={name} size={block.attachment.bytes} />
      {said !== '' && <span role="status">{said}</span>}
      <button type="button" className="quiet" aria-label={`Download ${name}`} onClick={() => void save()}>
        Download
      </button>
    </span>
  )
}

function Missing({ block, what }: { readonly block: AttachmentBlock; readonly what: string }): ReactElement {
  return (
    <span className="chip">
      <FileFacts name={attachmentName(block)} size={block.attachment.bytes} />
      <span className="about">{what}</span>
    </span>
  )
}

export function FileFacts({ name, size }: { readonly name: string; readonly size: number }): ReactElement {
  return (
    <>
      <span className="chip-name" title={name}>
        <Visible text={name} />
      </span>
      <span className="about">{bytes(size)}</span>
    </>
  )
}
