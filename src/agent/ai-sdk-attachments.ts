/** Attachments on their way to a provider: whose bytes a request needs, and what each block is sent as (SPEC A9). */
import type { ContentBlock, Message } from '../core/events.ts'
import { fieldOf, sizeText, textField } from './ai-sdk-fields.ts'
import { bounded } from './failure.ts'
import type { ModelRequest } from './model.ts'
import { orAborted } from './or-aborted.ts'

/** Bytes by attachment id; null for those that are not here. */
export type Attachments = ReadonlyMap<string, Uint8Array | null>

/** What a block is sent as: text, or bytes of a type providers take. */
export type Shown =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'bytes'; readonly mediaType: string; readonly name: string; readonly bytes: Uint8Array }

/** Names and endings of files that hold text. What they really hold is looked at as well. */
const textNames = new RegExp(
  `(?:^|[./\\\\])(?:${[
    'txt|text|log|md|mdx|markdown|rst|adoc|tex|srt|vtt|ics|eml|diff|patch',
    'csv|tsv|json|jsonl|ndjson|json5|geojson|ipynb|html?|xhtml|xml|svg|ya?ml|toml|ini|cfg|conf|env|properties',
    'sql|graphql|gql|proto|css|scss|sass|less|[cm]?js|jsx|[cm]?ts|tsx|vue|svelte|astro',
    'pyi?|rb|php|pl|lua|r|jl|go|rs|zig|c|h|cc|cpp|cxx|hh|hpp|cs|fs|java|kts?|scala|swift|dart|m|mm',
    'cljs?|exs?|erl|hs|elm|ml|sh|bash|zsh|fish|bat|cmd|ps1|tf|gradle|cmake',
    'dockerfile|makefile|readme|license|changelog|gitignore|gitattributes|editorconfig',
  ].join('|')})$`,
  'i',
)
const PDF = 'application/pdf'
/** Longest name that is shown, UTF-16 units. */
const MAX_NAME = 512

/**
 * The bytes the blocks of `messages` are sent with, each read once; null as soon as the signal aborts. Rejects with
 * what `readBlob` rejects with.
 */
export async function readAttachments({
  messages,
  readBlob,
  signal,
}: Pick<ModelRequest, 'messages' | 'readBlob' | 'signal'>): Promise<Attachments | null> {
  const ids = new Set(messages.flatMap(neededIds))
  const read = async (id: string) => [id, await readBlob(id)] as const
  const entries = await orAborted(Promise.all([...ids].map(read)), signal)
  return entries && new Map(entries)
}

/** What a model said is never sent with bytes: providers take text of it only. */
function neededIds({ role, content }: Message): string[] {
  if (role !== 'user') return []
  const own = content.filter(needsBytes)
  const returned = content.flatMap(block => (block.type === 'tool-result' ? block.content.filter(isForResult) : []))
  return [...own, ...returned].map(block => textField(fieldOf(block, 'attachment'), 'attachmentId')).filter(Boolean)
}

const needsBytes = (block: ContentBlock): boolean =>
  (block.type === 'image' && block.offloaded !== true) ||
  (block.type === 'file' && (textNames.test(nameOf(block)) || isPdf(block)))

/** Providers take text and images as what a tool returned, and no documents. */
const isForResult = (block: ContentBlock): boolean => needsBytes(block) && !isPdf(block)

const isPdf = (block: ContentBlock): boolean => block.type === 'file' && /\.pdf$/i.test(nameOf(block))

/** A block of a person. Pure, as all below: the bytes were read before. */
export function shownBlock(block: ContentBlock, attachments: Attachments): Shown {
  if (!needsBytes(block)) return { type: 'text', text: blockText(block, noteOf(block)) }
  const attachment = fieldOf(block, 'attachment')
  const bytes = attachments.get(textField(attachment, 'attachmentId')) ?? null
  if (bytes === null) return { type: 'text', text: blockText(block, 'not available here') }
  const name = nameOf(block)
  if (block.type === 'image') {
    return { type: 'bytes', mediaType: textField(attachment, 'mediaType') || 'image/*', name, bytes }
  }
  if (isPdf(block)) return { type: 'bytes', mediaType: PDF, name, bytes }
  return { type: 'text', text: quotedFile(name, bytes) ?? blockText(block, 'not text') }
}

/** A block of what a tool returned. */
export const shownResult = (block: ContentBlock, attachments: Attachments): Shown =>
  isPdf(block) ? { type: 'text', text: blockText(block) } : shownBlock(block, attachments)

/** The text of a block; of an image or file, a placeholder that names it, and `note` where something is to be said. */
export function blockText(block: ContentBlock, note = ''): string {
  if (block.type === 'text') return block.text
  if (block.type !== 'image' && block.type !== 'file') return ''
  const name = nameOf(block)
  const bytes = block.type === 'file' ? fieldOf(fieldOf(block, 'attachment'), 'bytes') : undefined
  const size = typeof bytes === 'number' ? sizeText(bytes) : ''
  return `[${[[block.type, name].filter(Boolean).join(' '), size, note].filter(Boolean).join(', ')}]`
}

const noteOf = (block: ContentBlock): string =>
  block.type === 'image' && block.offloaded === true ? 'left out to save room' : ''

/** On one line: a name must not look like text around it. */
const nameOf = (block: ContentBlock): string =>
  bounded(textField(fieldOf(block, 'attachment'), 'name').replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '), MAX_NAME).trim()

/** A text file under its name, between fences that nothing in it can be taken for; null when it is no text. */
function quotedFile(name: string, bytes: Uint8Array): string | null {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
  // UTF-16 and binary files may pass for UTF-8, but not without this.
  if (text.includes('\0')) return null
  let fence = '```'
  for (const [run] of text.matchAll(/`{3,}/g)) if (run.length >= fence.length) fence = `${run}\``
  return `File ${name}:\n\n${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`
}

/** Bytes as base64. */
export function base64(bytes: Uint8Array): string {
  const parts: string[] = []
  // A call has room for so many arguments only.
  for (let at = 0; at < bytes.length; at += 0x2000) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x2000)))
  }
  return btoa(parts.join(''))
}
