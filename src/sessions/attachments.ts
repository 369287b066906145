/** Bytes as blocks of a message: stored beside the log, and referred to (SPEC W17, A17). */
import type { FileBlock, ImageBlock } from '../core/message.ts'
import { wellFormedText } from '../core/well-formed.ts'

type MediaType = ImageBlock['attachment']['mediaType']

/** Longest name that is kept, code points. */
const MAX_NAME = 255

/**
 * Stores bytes and answers the block that refers to them: an image where it is one of the four types models see and this
 * platform can decode, else a file. What the bytes are they say themselves, whatever they were called.
 *
 * @throws what `putBlob` does.
 */
export async function attachmentBlock(
  data: Blob | Uint8Array,
  name: string,
  putBlob: (blob: Blob) => Promise<string>,
): Promise<ImageBlock | FileBlock> {
  const blob = data instanceof Blob ? data : new Blob([new Uint8Array(data)])
  const { size: bytes } = blob
  const mediaType = mediaTypeOf(new Uint8Array(await blob.slice(0, 12).arrayBuffer()))
  const size = mediaType === null ? null : await imageSize(blob)
  const attachmentId = await putBlob(blob)
  const shown = [...wellFormedText(name.slice(0, 2 * MAX_NAME))].slice(0, MAX_NAME).join('') || 'file'
  return mediaType === null || size === null
    ? { type: 'file', attachment: { attachmentId, name: shown, bytes } }
    : { type: 'image', attachment: { attachmentId, mediaType, bytes, ...size, name: shown } }
}

/** What files of a type begin with; `.` stands for any byte. */
const BEGINNINGS: readonly (readonly [RegExp, MediaType])[] = [
  [/^\x89PNG\r\n\x1a\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF[^]{4}WEBP/, 'image/webp'],
]

function mediaTypeOf(start: Uint8Array): MediaType | null {
  const text = String.fromCharCode(...start)
  return BEGINNINGS.find(([beginning]) => beginning.test(text))?.[1] ?? null
}

/** Null where images cannot be decoded, and for what is none after all. */
async function imageSize(blob: Blob): Promise<{ readonly width: number; readonly height: number } | null> {
  if (typeof createImageBitmap !== 'function') return null
  try {
    const bitmap = await createImageBitmap(blob)
    const { width, height } = bitmap
    bitmap.close()
    return { width, height }
  } catch {
    return null
  }
}
