/** Bytes of attachments: named by what they are, referred to by messages, kept once (SPEC W17). */
import type { SessionEvent } from '../core/events.ts'
import { BlobId } from '../core/ids.ts'
import { jsonText } from '../core/json.ts'

/** An attachment of a message whose bytes are a blob, as it stands in the JSON text of an event. */
const REFERENCE = /"attachmentId":"(sha256:[0-9a-f]{64})"/g

/** The blobs the JSON text of an event refers to. A person's text cannot look like that: its quotes are escaped. */
export function blobsIn(text: string): readonly BlobId[] {
  if (!text.includes('"attachmentId":"sha256:')) return NONE
  return [...new Set([...text.matchAll(REFERENCE)].map(([, id]) => BlobId(id ?? '')))]
}

const NONE: readonly BlobId[] = []

/** The id of these bytes: `sha256:` and their hash. */
export async function blobIdOf(bytes: Uint8Array<ArrayBuffer>): Promise<BlobId> {
  return BlobId(`sha256:${await hashOf(bytes)}`)
}

async function hashOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  // An insecure page has no `subtle`.
  const { subtle } = crypto as { readonly subtle?: SubtleCrypto }
  if (subtle === undefined) return (await import('../files/sha256.ts')).sha256OfBytes(bytes)
  const hash = new Uint8Array(await subtle.digest('SHA-256', bytes))
  return Array.from(hash, byte => byte.toString(16).padStart(2, '0')).join('')
}

/** An attachment of a message that brings its bytes along, as base64. */
const INLINE = /"attachmentId":"data:application\/octet-stream;base64,([A-Za-z0-9+/=]*)"/g

/** The JSON text of an event with the bytes it refers to in it; those that are not here stay references. */
export async function withBytes(text: string, getBlob: (id: BlobId) => Promise<Uint8Array | null>): Promise<string> {
  const parts = new Map<string, string>()
  for (const id of blobsIn(text)) {
    const bytes = await getBlob(id)
    if (bytes !== null) parts.set(id, `data:application/octet-stream;base64,${toBase64(bytes)}`)
  }
  return parts.size === 0
    ? text
    : text.replace(REFERENCE, (_all, id: string) => `"attachmentId":"${parts.get(id) ?? id}"`)
}

/** The same events with references in place of the bytes some of them bring along, which `putBlob` gets. */
export async function withoutBytes(
  events: SessionEvent[],
  putBlob: (bytes: Uint8Array<ArrayBuffer>) => Promise<BlobId>,
): Promise<SessionEvent[]> {
  const changed = new Map<SessionEvent, SessionEvent>()
  for (const event of events) {
    if (!bringsBytes(event)) continue
    const text = jsonText(event)
    const ids = new Map<string, BlobId>()
    for (const [, base64 = ''] of text.matchAll(INLINE)) {
      const bytes = fromBase64(base64)
      if (bytes !== null) ids.set(base64, await putBlob(bytes))
    }
    const referring = text.replace(INLINE, (all, base64: string) => {
      const id = ids.get(base64)
      return id === undefined ? all : `"attachmentId":"${id}"`
    })
    changed.set(event, JSON.parse(referring) as SessionEvent)
  }
  return changed.size === 0 ? events : events.map(event => changed.get(event) ?? event)
}

/**
 * Whether an attachment brings its bytes along, wherever an export puts them. Without recursion: what is imported may be of
 * any depth.
 */
function bringsBytes(event: SessionEvent): boolean {
  const left: unknown[] = []
  const look = (member: unknown) => {
    if (typeof member === 'object' && member !== null) left.push(member)
  }
  look(event.data)
  while (left.length > 0) {
    const value = left.pop()
    // The columns of a stream are most of a log: their texts are passed over without a key for each.
    if (Array.isArray(value)) value.forEach(look)
    else {
      for (const [key, member] of Object.entries(value as object)) {
        if (key === 'attachmentId' && typeof member === 'string' && member.startsWith('data:')) return true
        look(member)
      }
    }
  }
  return false
}

/** Bytes turned into characters at once: more would not fit a call. */
const PIECE = 0x8000

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += PIECE) binary += String.fromCharCode(...bytes.subarray(at, at + PIECE))
  return btoa(binary)
}

/** Null when it is no base64. */
function fromBase64(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(base64)
    const bytes = new Uint8Array(binary.length)
    // `Uint8Array.from` would make a list of all characters first.
    for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at)
    return bytes
  } catch {
    return null
  }
}
