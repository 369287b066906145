/**
 * How much of a text is worth parsing. The parser takes time that grows faster than some texts do (thousands of `*` or
 * `>` freeze it), so text has a price, and what lies beyond the budget is shown as plain text. Prices are by characters and
 * lines alone: the same for a text that arrived at once and for one that grew.
 */

/** A text is markdown up to here. */
export const LONGEST_TEXT = 100_000
/** A run of text that the parser cannot take apart, like one list, may be so long. Code between fences is not limited. */
const LONGEST_RUN = 20_000
const RUN_BUDGET = 60_000
const TEXT_BUDGET = 600_000
const STEP = 4_000
const STEP_BUDGET = 15_000
const SHORTEST_STEP = 100
/** `>` and list markers in one line. */
const DEEPEST = 32

const LINE = 20
const DELIMITER = 30
const LINE_MARKER = 60
const HEADING = 100
/** A line that starts further in costs more for each column: that may be one list in another, many times over. */
const FAR_IN = 16
const COLUMN = 10

const INDENT = /[ \t]*/y
const HEADING_LINE = /[ \t>]*(?:#|(?:=+|-+)[ \t]*(?:[\r\n]|$))/y
const MARKER = /[ \t]*(?:>|[-+*](?=[ \t\r\n]|$)|\d{1,9}[.)](?=[ \t\r\n]|$)|\[\^[^\]\r\n]{0,200}\]:)/y

export interface Reach {
  /** Where a parse has to stop, at the latest. */
  readonly to: number
  readonly cost: number
}

/** How far a parse may go that starts at the start of a line, `from`, in a text in which `spent` was spent before. */
export function reach(text: string, from: number, spent: number): Reach {
  return reachWithin(text, from, Math.min(from + LONGEST_RUN, LONGEST_TEXT), Math.min(RUN_BUDGET, TEXT_BUDGET - spent))
}

/** How much of `text` to parse next, after `from`, without keeping the page busy. */
export function nextStepEnd(text: string, from: number): number {
  const { to } = reachWithin(text, from, from + STEP, STEP_BUDGET)
  return Math.min(text.length, Math.max(to, from + SHORTEST_STEP))
}

function reachWithin(text: string, from: number, longest: number, budget: number): Reach {
  const last = Math.min(text.length, longest)
  let cost = 0
  let at = from
  let lineStart = true
  while (at < last) {
    if (lineStart) {
      lineStart = false
      const markers = markersAt(text, at)
      if (markers > DEEPEST) return { to: at, cost }
      cost += markers * LINE_MARKER + priceOfStart(text, at)
    }
    const price = priceOf(text.charCodeAt(at))
    if (cost + price > budget) return { to: at, cost }
    cost += price
    lineStart = price === LINE
    at++
  }
  return { to: Math.max(at, from), cost }
}

/** What the text from `from` to `to` costs. */
export function costOf(text: string, from: number, to: number): number {
  return reach(text.slice(from, to), 0, 0).cost
}

function priceOf(code: number): number {
  switch (code) {
    case 0x0a: // line feed
    case 0x0d: // carriage return
      return LINE
    case 0x2a: // *
    case 0x3c: // <
    case 0x3e: // >
    case 0x5b: // [
    case 0x5d: // ]
    case 0x5f: // _
    case 0x7c: // |
    case 0x7e: // ~
      return DELIMITER
    case 0x60: // `
      return 10
    default:
      return 1
  }
}

function priceOfStart(text: string, at: number): number {
  INDENT.lastIndex = at
  const columns = INDENT.test(text) ? INDENT.lastIndex - at : 0
  HEADING_LINE.lastIndex = at
  return Math.max(0, columns - FAR_IN) * COLUMN + (HEADING_LINE.test(text) ? HEADING : 0)
}

function markersAt(text: string, at: number): number {
  let markers = 0
  MARKER.lastIndex = at
  while (markers <= DEEPEST && MARKER.test(text)) markers++
  return markers
}
