/**
 * An answer as a list of blocks, for text that grows. Only the part that can still change is parsed again; every block before
 * it stays the same object, so that what shows it has nothing to do.
 *
 * The text is taken apart at places where no later text can change what came before: at a blank line between two blocks, after
 * a heading, and around fenced code at the margin, each once the line that starts the next block is complete. So the blocks
 * depend on the text alone and not on the steps in which it came. What costs too much (`cost.ts`) ends the markdown: the rest
 * of the text is one plain block.
 *
 * Link reference definitions and notes may stand anywhere. When a new label appears, the parts that have a `[` are parsed
 * again, and a block is new only if what it refers to has changed.
 */
import type { Root } from 'hast'
import type { Definition, Nodes, RootContent } from 'mdast'
import { costOf, LONGEST_TEXT, reach } from './cost.ts'
import { nextLine, readFence } from './fence.ts'
import { extentOf, type Labels, parseMarkdown } from './parse.ts'
import { toTree } from './tree.ts'

export interface Block {
  /** The same for as long as the block starts at the same place. */
  readonly key: string
  readonly source: string
  /** Its elements; null for text that is shown as it is. */
  readonly tree: Root | null
  /** Its kind and what its references lead to: with the source, all that its tree depends on. */
  readonly meaning: string
}

export interface MarkdownBlocks {
  readonly text: string
  readonly blocks: readonly Block[]
  /** What parsing the part that can still change costs, about a microsecond or a few for each. */
  readonly openCost: number
  readonly parts: readonly Part[]
  readonly labels: Labels
  /** Every definition with its target. */
  readonly targets: string
}

/** A stretch of text that is parsed at once. */
interface Part {
  readonly start: number
  readonly end: number
  readonly cost: number
  /** Whether later text leaves it alone. */
  readonly closed: boolean
  readonly plain: boolean
  /** Its blocks of markdown; null where they are not needed again. */
  readonly nodes: readonly Placed[] | null
  readonly definitions: readonly Definition[]
  readonly notes: readonly string[]
  readonly blocks: readonly Block[] | null
}

interface Placed {
  readonly node: RootContent
  readonly start: number
  readonly end: number
}

const NONE: Labels = { links: [], notes: [] }
/** More definitions than this are not looked at: the parser searches them one by one. */
const MOST_LABELS = 200
/** A block that nests deeper is shown as plain text. */
const DEEPEST = 100
const WINDOW = 4_000

/** The blocks of `text`. `previous` is a result for any text; what `text` shares with it from the start is reused. */
export function markdownBlocks(text: string, previous?: MarkdownBlocks): MarkdownBlocks {
  if (previous?.text === text) return previous
  const grown = previous !== undefined && text.startsWith(previous.text) ? previous : null
  const known = grown?.labels ?? NONE
  const split = splitText(text, grown?.parts ?? [], known)
  const definitions = definitionsOf(split)
  const labels = keepIfSame(known, { links: [...definitions.keys()], notes: notesOf(split) })
  const parts = labels === known ? split : split.map(part => parsedAgain(text, part, labels))
  const targets = [...definitions.values()].map(({ identifier, url }) => `${identifier} ${url}`).join('\n')
  const before = new Map(previous?.blocks.map(block => [block.key, block]))
  const built = parts.map(part =>
    part.blocks !== null && targets === grown?.targets ? part : withBlocks(text, part, definitions, before),
  )
  const last = built.at(-1)
  const openCost = last === undefined || last.closed || last.plain ? 0 : last.cost
  return { text, blocks: built.flatMap(part => part.blocks ?? []), openCost, parts: built, labels, targets }
}

/** The parts of `text`, taking over those of a shorter text that are closed. */
function splitText(text: string, previous: readonly Part[], labels: Labels): readonly Part[] {
  const last = previous.at(-1)
  const open = last?.closed === false ? last : null
  const parts = open === null ? [...previous] : previous.slice(0, -1)
  let at = parts.at(-1)?.end ?? 0
  let spent = parts.reduce((sum, part) => sum + part.cost, 0)
  // What was plain stays plain, and what could not be taken apart need not be tried at the same length again.
  if (open?.plain === true) return [...parts, plainPart(text, at)]
  let tried = open === null ? 0 : open.end - open.start
  while (at < text.length) {
    const part = nextPart(text, at, spent, tried, labels)
    parts.push(part)
    at = part.end
    spent += part.cost
    tried = 0
  }
  return parts
}

function nextPart(text: string, at: number, spent: number, tried: number, labels: Labels): Part {
  const fence = readFence(text, at)
  if (fence !== null) {
    const end = fence.end ?? text.length
    if (end > LONGEST_TEXT) return plainPart(text, at)
    const nodes = [{ node: fence.node, start: at, end: fence.sourceEnd }]
    return { ...part(text, at, end, nodes, fence.end !== null), cost: Math.ceil((end - at) / 10) }
  }
  const { to, cost } = reach(text, at, spent)
  for (let length = Math.max(WINDOW, tried * 2); to > at; length *= 2) {
    // A last stretch that is short is taken along.
    const end = at + length * 1.5 >= to ? to : at + length
    const nodes = parsePlaced(text, at, end, labels)
    const cut = nodes === null ? null : firstCut(text, end, nodes)
    if (nodes !== null && cut !== null) {
      const until = nodes[cut]?.start ?? end
      return part(text, at, until, nodes.slice(0, cut), true)
    }
    if (nodes === null) break
    if (end === text.length) return { ...part(text, at, end, nodes, false), cost }
    if (end === to) break
  }
  return plainPart(text, at)
}

function part(text: string, start: number, end: number, nodes: readonly Placed[], closed: boolean): Part {
  const definitions: Definition[] = []
  const notes: string[] = []
  for (const { node } of nodes) {
    walk(node, each => {
      if (each.type === 'definition') definitions.push(each)
      if (each.type === 'footnoteDefinition') notes.push(each.identifier)
    })
  }
  const cost = closed ? costOf(text, start, end) : 0
  return { start, end, cost, closed, plain: false, nodes, definitions, notes, blocks: null }
}

function plainPart(text: string, start: number): Part {
  const block = { key: `${start}`, source: text.slice(start), tree: null, meaning: '' }
  const end = text.length
  return { start, end, cost: 0, closed: false, plain: true, nodes: null, definitions: [], notes: [], blocks: [block] }
}

/** The blocks between two places, with their places in the text; null when the parser gives up (its stack is limited). */
function parsePlaced(text: string, start: number, end: number, labels: Labels): readonly Placed[] | null {
  try {
    return parseMarkdown(text.slice(start, end), labels).children.map(node => {
      const extent = extentOf(node)
      return { node, start: lineStart(text, start + extent.start), end: start + extent.end }
    })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/**
 * The block before which the text, known up to `end`, can be taken apart for good: the first fenced code at the margin, or
 * else the last block.
 */
function firstCut(text: string, end: number, nodes: readonly Placed[]): number | null {
  let last: number | null = null
  for (let index = 1; index < nodes.length; index++) {
    const node = nodes[index]
    const before = nodes[index - 1]
    if (node === undefined || before === undefined || !isLineComplete(text, node.start, end)) break
    if (node.node.type === 'code' && /[`~]/.test(text.charAt(node.start))) return index
    // After indented code the parser reads the next block in a different light, as if it were still open.
    if (before.node.type === 'code') continue
    const closed = before.node.type === 'heading' || before.node.type === 'thematicBreak'
    if (closed || isBlankBetween(text.slice(before.end, node.start))) last = index
  }
  return last
}

function isLineComplete(text: string, start: number, end: number): boolean {
  const next = nextLine(text, start)
  // A carriage return at the very end may be the first half of a line ending.
  return next < end || (next === end && text.charAt(end - 1) === '\n')
}

const isBlankBetween = (gap: string): boolean => gap.trim() === '' && (gap.match(/\r\n|\n|\r/g)?.length ?? 0) >= 2

/** Where the line of `at` starts; a block is indented by a few spaces at most. */
function lineStart(text: string, at: number): number {
  let start = at
  while (start > 0 && !/[\n\r]/.test(text.charAt(start - 1))) start--
  return start
}

/** Definitions by label: the first one of a label counts. */
function definitionsOf(parts: readonly Part[]): ReadonlyMap<string, Definition> {
  const found = new Map<string, Definition>()
  for (const definition of parts.flatMap(each => each.definitions)) {
    if (!found.has(definition.identifier) && found.size < MOST_LABELS) found.set(definition.identifier, definition)
  }
  return found
}

function notesOf(parts: readonly Part[]): readonly string[] {
  return [...new Set(parts.flatMap(each => each.notes))].slice(0, MOST_LABELS)
}

function keepIfSame(known: Labels, now: Labels): Labels {
  const same = (a: readonly string[], b: readonly string[]) =>
    a.length === b.length && a.every((each, i) => each === b[i])
  return same(known.links, now.links) && same(known.notes, now.notes) ? known : now
}

const mayRefer = (text: string, { start, end }: Part): boolean => text.slice(start, end).includes('[')

/** A part after labels have changed. Where it starts and ends does not depend on them. */
function parsedAgain(text: string, before: Part, labels: Labels): Part {
  if (before.plain || !mayRefer(text, before) || before.nodes?.every(({ node }) => node.type === 'code')) return before
  const nodes = parsePlaced(text, before.start, before.end, labels)
  return nodes === null ? before : { ...before, nodes, blocks: null }
}

/** A part with its blocks, each one that shows the same as before being the same object. */
function withBlocks(
  text: string,
  part: Part,
  definitions: ReadonlyMap<string, Definition>,
  before: ReadonlyMap<string, Block>,
): Part {
  if (part.nodes === null) return part
  const visible = part.nodes.filter(({ node }) => node.type !== 'definition')
  const blocks = visible.map(placed => blockOf(text, placed, definitions, before))
  // Without a `[` it refers to nothing and will not be looked at again.
  return { ...part, blocks, nodes: mayRefer(text, part) ? part.nodes : null }
}

function blockOf(
  text: string,
  { node, start, end }: Placed,
  definitions: ReadonlyMap<string, Definition>,
  before: ReadonlyMap<string, Block>,
): Block {
  const key = String(start)
  const source = text.slice(start, end)
  const used = new Map<string, Definition>()
  const shown = new Set<string>()
  const depth = walk(node, each => {
    if (each.type === 'footnoteReference') shown.add(`^${each.identifier}`)
    if (each.type !== 'linkReference' && each.type !== 'imageReference') return
    const definition = definitions.get(each.identifier)
    if (definition === undefined) return
    used.set(each.identifier, definition)
    shown.add(`${each.identifier} ${definition.url}`)
  })
  const meaning = [node.type, ...shown].join('\n')
  const old = before.get(key)
  const plain = depth > DEEPEST
  if (old?.source === source && old.meaning === meaning && (old.tree === null) === plain) return old
  return { key, source, tree: plain ? null : toTree(node, [...used.values()]), meaning }
}

/** Visits `node` and everything in it, and says how deep it is. */
function walk(node: Nodes, visit: (node: Nodes) => void): number {
  let depth = 0
  const open: { node: Nodes; level: number }[] = [{ node, level: 1 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node: each, level } = next
    depth = Math.max(depth, level)
    visit(each)
    // Backwards, so that they are visited in the order of the text.
    if ('children' in each) for (const child of each.children.toReversed()) open.push({ node: child, level: level + 1 })
  }
  return depth
}
