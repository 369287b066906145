/** Names of files from titles of sessions, and the other way round. */
import { wellFormedText } from 'palimpsest/core'
import { characterStart } from '../text/cut.ts'

const LONGEST = 80
/** Names that some systems keep for devices. */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i

/** A name every system takes, made of a title or, where nothing of it is left, of an id. */
export function fileNameOf(title: string | null, id: string, extension: string): string {
  return `${safe(title ?? '') || safe(id) || 'session'}.${extension}`
}

function safe(text: string): string {
  const words = wellFormedText(text)
    // Separators and wildcards, what is hidden, and what turns the text around.
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[<>:"/\\|?*]+/g, '-')
    .replace(/\s+/g, ' ')
  const name = words.slice(0, characterStart(words, LONGEST)).replace(/^[. ]+|[. ]+$/g, '')
  return RESERVED.test(name) ? `_${name}` : name
}

const ENDING = /\.(?:jsonl|ndjson|json|zstd|zst|gz|log|txt)$/i

/** A title made of a file's name; null where nothing is left of it. */
export function titleFromFile(name: string): string | null {
  let title = wellFormedText(name.slice(0, 200)).trim()
  for (let cut = title.replace(ENDING, ''); cut !== title; cut = title.replace(ENDING, '')) title = cut
  return title === '' ? null : title
}
