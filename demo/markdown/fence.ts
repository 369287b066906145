/**
 * Code between fences that start at the margin, read without the parser: the most common long block of an answer, and the one
 * whose extent needs no markdown to know.
 */
import type { Code } from 'mdast'
import { parseMarkdown } from './parse.ts'

export interface Fence {
  readonly node: Code
  /** Where its text ends. */
  readonly sourceEnd: number
  /** Where the line after it starts; null while it may still grow. */
  readonly end: number | null
}

const OPENING = /(?:(`{3,})[^`\r\n]*|(~{3,})[^\r\n]*)(?:\r\n|\n|\r(?!$))/y

/** The fenced code whose opening line is complete and starts at `at`, the start of a line. */
export function readFence(text: string, at: number): Fence | null {
  OPENING.lastIndex = at
  const match = OPENING.exec(text)
  if (match === null) return null
  const [opening, backticks, tildes] = match
  const start = at + opening.length
  const closing = findClosing(text, start, backticks ?? tildes ?? '')
  // The parser knows what an info string means; it gets this line alone.
  const [node] = parseMarkdown(opening).children
  if (node?.type !== 'code') return null
  const value = text
    .slice(start, closing?.start ?? text.length)
    .replace(/(?:\r\n|\n|\r)$/, '')
    .replaceAll('\0', '\ufffd')
  return {
    node: { type: 'code', lang: node.lang ?? null, meta: node.meta ?? null, value },
    sourceEnd: closing?.end ?? text.length,
    end: closing?.next ?? null,
  }
}

/** The line that closes a fence: as many of its characters or more, and nothing else. */
function findClosing(
  text: string,
  from: number,
  fence: string,
): { start: number; end: number; next: number | null } | null {
  const line = new RegExp(` {0,3}${fence.charAt(0)}{${fence.length},}[ \\t]*(?:(\\r\\n|\\n|\\r(?!$))|\\r?$)`, 'y')
  for (let at = from; at < text.length; ) {
    line.lastIndex = at
    const match = line.exec(text)
    if (match !== null) {
      const [source, ending] = match
      const end = at + source.replace(/[\r\n]+$/, '').length
      return { start: at, end, next: ending === undefined ? null : at + source.length }
    }
    at = nextLine(text, at)
  }
  return null
}

/** Where the line after the one at `at` starts, or the end of the text. */
export function nextLine(text: string, at: number): number {
  LINE_ENDING.lastIndex = at
  const match = LINE_ENDING.exec(text)
  return match === null ? text.length : match.index + match[0].length
}

const LINE_ENDING = /\r\n|\n|\r/g
