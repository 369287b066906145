/** What of an answer a log has no place for, in words (SPEC A9). */
import { fieldOf, sizeText, textField } from './ai-sdk-fields.ts'
import { bounded } from './failure.ts'

/** The text that stands for a file the model generated: `[image/png, 12 kB, not kept]`. */
export function droppedFile(part: unknown): string {
  const mediaType = bounded(textField(part, 'mediaType').trim(), 100) || 'file'
  return `[${[mediaType, sizeOrPlace(part), 'not kept'].filter(Boolean).join(', ')}]`
}

/** Spec v4 wraps what earlier specs hand over as it is, and may tell an address instead. */
function sizeOrPlace(part: unknown): string {
  const data = fieldOf(part, 'data')
  const inner = fieldOf(data, 'data') ?? data
  if (inner instanceof Uint8Array) return sizeText(inner.byteLength)
  if (typeof inner === 'string') return sizeText(base64Size(inner.slice(inner.indexOf(',') + 1)))
  const url = fieldOf(data, 'url')
  return url instanceof URL || typeof url === 'string' ? bounded(String(url), 500) : ''
}

const base64Size = (text: string): number => Math.floor((text.replace(/=+$/, '').length * 3) / 4)

/** What a part that carries nothing we keep warns of. */
export function warningText(part: unknown): readonly string[] {
  switch (textField(part, 'type')) {
    case 'stream-start': {
      const warnings = fieldOf(part, 'warnings')
      return Array.isArray(warnings) ? warnings.map(callWarning) : []
    }
    case 'source':
      return [`A source of the answer was not kept: ${sourceText(part)}`]
    case 'reasoning-file':
      return [`A file of the reasoning was not kept: ${droppedFile(part)}`]
    default:
      return []
  }
}

/** A warning of any spec: in words of its own, or what kind it is and of what. */
function callWarning(warning: unknown): string {
  const fields = ['type', 'feature', 'setting', 'details'].map(key => textField(warning, key))
  return textField(warning, 'message') || fields.filter(Boolean).join(': ') || 'unknown'
}

const sourceText = (part: unknown): string =>
  ['title', 'filename', 'url']
    .map(key => textField(part, key))
    .filter(Boolean)
    .join(', ')
