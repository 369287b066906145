/** Texts made fit to stand in Markdown: nothing of them reaches beyond their own place (SPEC F13). */
import { wellFormedText } from '../core/well-formed.ts'

/** The text without control characters but newlines and tabs; half of a surrogate pair becomes U+FFFD. */
export const cleanText = (text: string): string => wellFormedText(text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, ''))

/** The text in one line, clean. */
export const oneLine = (text: string): string =>
  cleanText(text.replace(/[\r\x85]/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()

/** The text in one line of Markdown that says just that: nothing in it is a mark, a tag or a link. */
export const plainLine = (text: string): string =>
  oneLine(text).replace(/[\\`*_[\]<>#|~&]|:(?=\/\/)|(?<=www)\./gi, '\\$&')

const longestRun = (text: string): number =>
  (text.match(/`+/g) ?? []).reduce((longest, { length }) => Math.max(longest, length), 0)

/** A text within a line, to be read literally. */
export function codeSpan(text: string): string {
  const line = oneLine(text)
  if (line === '') return '(empty)'
  const mark = '`'.repeat(longestRun(line) + 1)
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return mark + pad + line + pad + mark
}

/** A text to be read literally, line by line. */
export function codeFence(text: string, language = ''): string {
  const clean = cleanText(text)
  const mark = '`'.repeat(Math.max(3, longestRun(clean) + 1))
  return `${mark}${language}\n${clean.endsWith('\n') ? clean : `${clean}\n`}${mark}`
}

/** Markdown in a quote: whatever it opens ends with the quote. */
export const quote = (text: string): string =>
  cleanText(text)
    .trimEnd()
    .split('\n')
    .map(line => (line === '' ? '>' : `> ${line}`))
    .join('\n')

// ── Markdown of others ──────────────────────────────────────────────────────────────────────────────────────────────

/** A fence that opens at the margin: there it belongs to no list and no quote. */
const opener = /^(?:(`{3,})[^`]*|(~{3,})[^]*)$/
/** Behind spaces, quote signs and list marks: a fence, whose end depends on those. */
const unsure = /^[\s>*+\-\d.)]+(?:```|~~~)/

/**
 * Markdown as it is, save for what reaches beyond its own place: tags and definitions of links are mere text, and a last
 * fence that was left open is closed. In a quote when it cannot be told at a glance what it leaves open.
 */
export function asIs(text: string): string {
  const { inert, fence, isUnsure } = withoutReach(cleanText(text).trimEnd())
  if (isUnsure) return quote(inert)
  return fence === null ? inert : `${inert}\n${fence}`
}

/** Markdown as `asIs` has it, to be put in a quote. */
export const withinQuote = (text: string): string => withoutReach(cleanText(text)).inert

/**
 * Markdown of somebody with its tags and definitions made text, outside of code. Code is what surely is: fences at the
 * margin, and spans within a line. Where code cannot be told at a glance, all is taken for text; at worst `&lt;` is
 * read there for `<`. That goes on up to a blank line, which ends whatever a line may be part of.
 */
function withoutReach(text: string): {
  readonly inert: string
  readonly fence: string | null
  readonly isUnsure: boolean
} {
  let fence: string | null = null
  let [isUnsure, isDoubtful] = [false, false]
  const lines = text.split('\n').map(line => {
    if (fence !== null) {
      if (closes(line, fence)) fence = null
      return line
    }
    const [, backticks, tildes] = (isUnsure ? null : opener.exec(line)) ?? []
    fence = backticks ?? tildes ?? null
    if (fence !== null || /^[ \t]*$/.test(line)) {
      isDoubtful = false
      return line
    }
    isUnsure ||= unsure.test(line)
    const parts = isDoubtful ? null : splitAtSpans(line)
    isDoubtful = parts === null
    // Text and spans take turns.
    return (parts ?? [line]).map((part, index) => (index % 2 === 0 ? withoutTags(part) : part)).join('')
  })
  return { inert: lines.join('\n'), fence, isUnsure }
}

/**
 * What decides about spans of code: backticks; the end of a link, which may have some in its address; and what may be the
 * beginning of an address, as which they count up to the next space.
 */
const mark = /(\]\((?:[^\s()<>`"'\\]*\))?)|([ \t])|(:|www\.)|(\\?)(`+)/gi

/**
 * A line as text, a span of code, text and so on; null when its spans depend on more than the line, or on what is not
 * looked at here: marks without a counterpart, links, cells of tables.
 */
function splitAtSpans(line: string): readonly string[] | null {
  const parts: string[] = []
  let from = 0
  let isAddress = false
  mark.lastIndex = 0
  for (let found = mark.exec(line); found !== null; found = mark.exec(line)) {
    const [whole, link, gap, , escape, run] = found
    if (link === '](') return null
    if (run === undefined) {
      isAddress = gap === undefined && (link === undefined || isAddress || /:|www\./i.test(link))
      continue
    }
    const start = found.index
    const end = isAddress || escape !== '' ? -1 : endOfSpan(line, start + whole.length, run.length)
    const span = line.slice(start, end)
    if (end === -1 || span.includes('|') || span.includes(']:')) return null
    parts.push(line.slice(from, start), span)
    from = end
    mark.lastIndex = end
  }
  parts.push(line.slice(from))
  return parts
}

/** Behind the next run of as many backticks; -1 when there is none. */
function endOfSpan(line: string, from: number, length: number): number {
  const runs = /`+/g
  runs.lastIndex = from
  for (let found = runs.exec(line); found !== null; found = runs.exec(line)) {
    if (found[0].length === length) return runs.lastIndex
  }
  return -1
}

/** An address in angle brackets; what begins a tag, a comment or the like, escaped or not; whatever else is escaped. */
const tag = /<https?:\/\/[^\s<>`\\]*>|\\?<(?=[a-z!/?])|\\[^]/gi

/** Text of a line without the beginning of any HTML, and without the end of a label that would define a link. */
const withoutTags = (text: string): string =>
  text.replaceAll(']:', ']\\:').replace(tag, found => (found.endsWith('<') ? found.replace(/\\?</, '&lt;') : found))

function closes(line: string, fence: string): boolean {
  const [, mark = ''] = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line) ?? []
  return mark.startsWith(fence)
}

/** Further in, lines are not indented more: text that nests without end stays about as long as it is. */
const DEEPEST = 16

/**
 * The text of a JSON object or list, laid out in lines; null when it is none. Numbers and texts are not written anew.
 */
export function prettyJson(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return null
  } catch {
    return null
  }
  const parts: string[] = []
  let depth = 0
  const newLine = () => parts.push(`\n${'  '.repeat(Math.min(depth, DEEPEST))}`)
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] as string
    if (char === '"') {
      const end = endOfString(text, at)
      parts.push(text.slice(at, end))
      at = end - 1
    } else if (char === '{' || char === '[') {
      parts.push(char)
      const next = afterSpace(text, at + 1)
      if (text[next] === '}' || text[next] === ']') {
        parts.push(text[next])
        at = next
      } else {
        depth += 1
        newLine()
      }
    } else if (char === '}' || char === ']') {
      depth -= 1
      newLine()
      parts.push(char)
    } else if (char === ',') {
      parts.push(char)
      newLine()
    } else if (char === ':') parts.push(': ')
    else if (!isSpace(char)) parts.push(char)
  }
  return parts.join('')
}

/** Behind the closing quote of the string that opens at `from`. */
function endOfString(text: string, from: number): number {
  let at = from + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

const isSpace = (char: string | undefined): boolean => char === ' ' || char === '\n' || char === '\t' || char === '\r'

function afterSpace(text: string, from: number): number {
  let at = from
  while (isSpace(text[at])) at += 1
  return at
}

const DAY = 86_400_000

/** Epoch ms as ISO 8601 in UTC, for any safe integer. */
export function isoTime(time: number): string {
  const ms = ((time % DAY) + DAY) % DAY
  const { year, month, day } = dateOf((time - ms) / DAY)
  const years = year >= 0 && year <= 9999 ? digits(year, 4) : (year < 0 ? '-' : '+') + digits(Math.abs(year), 6)
  const clock = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60]
  const hours = clock.map(part => digits(part, 2)).join(':')
  return `${years}-${digits(month, 2)}-${digits(day, 2)}T${hours}.${digits(ms % 1000, 3)}Z`
}

const digits = (value: number, count: number): string => String(value).padStart(count, '0')

/** The date of a day counted from 1970-01-01. Years begin in March here, so that a leap day comes last. */
function dateOf(epochDay: number): { readonly year: number; readonly month: number; readonly day: number } {
  const days = epochDay + 719_468
  const era = Math.floor(days / 146_097)
  const dayOfEra = days - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shifted = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shifted < 10 ? shifted + 3 : shifted - 9
  const day = dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}
