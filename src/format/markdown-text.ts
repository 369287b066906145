/** Texts made fit to stand in Markdown: nothing of them reaches beyond their own place (SPEC F13). */
import { wellFormedText } from '../core/well-formed.ts'

/** The text without control characters but newlines and tabs; half of a surrogate pair becomes U+FFFD. */
export const cleanText = (text: string): string => wellFormedText(text.replace(/[\0-\x08\x0b-\x1f]/g, ''))

/** The text in one line, clean. */
export const oneLine = (text: string): string => cleanText(text.replace(/\r/g, ' ')).replace(/\s+/g, ' ').trim()

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

/** A fence that opens at the margin: there it belongs to no list and no quote. */
const opener = /^(?:(`{3,})[^`]*|(~{3,})[^]*)$/
/** Behind spaces, quote signs and list marks: a fence, whose end depends on those; anywhere, HTML that may go on. */
const unsure = /^(?:[\s>*+\-\d.)]+(?:```|~~~)|[\s>*+\-\d.)]*<)/

/**
 * Markdown as it is, save for a last fence that was left open, which is closed. In a quote when it cannot be told at a
 * glance what it leaves open.
 */
export function asIs(text: string): string {
  const clean = cleanText(text).trimEnd()
  let fence: string | null = null
  for (const line of clean.split('\n')) {
    if (fence !== null) {
      if (closes(line, fence)) fence = null
      continue
    }
    const [, backticks, tildes] = opener.exec(line) ?? []
    fence = backticks ?? tildes ?? null
    if (fence === null && unsure.test(line)) return quote(clean)
  }
  return fence === null ? clean : `${clean}\n${fence}`
}

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
