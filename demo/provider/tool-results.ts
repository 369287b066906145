/** Reading what a tool said, whatever form it chose: JSON with a list in it, a list of lines, or prose. */
import { fieldsOf } from './chat-request.ts'

export type ToolOutcome =
  | ToolSuccess
  | { readonly kind: 'failed'; readonly excerpt: string }
  /** The tool was interrupted: nobody knows whether it took effect. */
  | { readonly kind: 'unknown'; readonly excerpt: string }

export type ToolSuccess = {
  readonly kind: 'done'
  /** What it found, and how much; for a tool that finds nothing by nature these mean little. */
  readonly titles: readonly string[]
  /** The titles as they are, where the tool tells them apart from the texts. */
  readonly names: readonly string[]
  readonly count: number
  readonly excerpt: string
}

const unknown = /\b(?:interrupted|outcome (?:is )?unknown|unknown outcome)\b/i
const failed =
  /\b(?:error|failed|failure|not started|not found|did not (?:run|allow)|denied|declined|rejected|refused|cancell?ed|aborted)\b/i
const nothing = /\b(?:no|zero|0|nothing)\b[^.]*\b(?:notes?|results?|match\w*|found)\b|^\s*$/i

/** Judges one tool result by its text. */
export function readOutcome(text: string): ToolOutcome {
  const shown = excerpt(text, 160)
  const value = parse(text)
  const fields = fieldsOf(value)
  const list = Array.isArray(value) ? value : Object.values(fields).find(Array.isArray)
  // Notes may well talk of errors; a list that came back is a success whatever its words are.
  const isFailed = list ? false : value === undefined ? failed.test(shown) : 'error' in fields || fields['ok'] === false
  if (!list && unknown.test(shown)) return { kind: 'unknown', excerpt: shown }
  if (isFailed) return { kind: 'failed', excerpt: shown }
  const titles = list ? list.map(titleOf) : titlesOfLines(text)
  const count = titles.length > 0 || list || nothing.test(text) ? titles.length : 1
  const names = (list ?? []).map(item => fieldsOf(item)['title']).filter(title => typeof title === 'string')
  return { kind: 'done', titles: titles.filter(Boolean), names, count, excerpt: shown }
}

/** The first characters of a text on one line; never half a character. */
export function excerpt(text: string, length: number): string {
  const line = text
    .slice(0, length * 4)
    .replace(/\s+/g, ' ')
    .trim()
  const characters = Array.from(line)
  return characters.length > length ? `${characters.slice(0, length).join('').trimEnd()}…` : line
}

function titleOf(item: unknown): string {
  if (typeof item === 'string') return excerpt(item, 60)
  const { title, name, text } = fieldsOf(item)
  const found = [title, name, text].find(value => typeof value === 'string') ?? ''
  // A title that is the beginning of its text says less than the text.
  if (typeof text !== 'string' || text.length <= found.length) return excerpt(found, 60)
  if (!text.toLowerCase().startsWith(found.toLowerCase())) return excerpt(found, 60)
  return excerpt(text.charAt(0).toUpperCase() + text.slice(1), 60)
}

function titlesOfLines(text: string): string[] {
  return text
    .split('\n')
    .map(line => /^\s*(?:[-*•#]+|\d+[.)])\s+(.+)$/.exec(line)?.[1] ?? '')
    .filter(Boolean)
    .map(line => excerpt(line.split(/:\s| — /)[0] ?? line, 60).replace(/^[*"“]+|[*"”]+$/g, ''))
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
