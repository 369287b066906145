/**
 * From a parsed block to the elements that stand for it. Safe in three steps that do not trust each other: links and images
 * are decided here, `hast-util-sanitize` lets a short list through, and React is given elements, never markup.
 */
import type { Element, ElementContent, Nodes, Root, RootContent } from 'hast'
import { sanitize, type Schema } from 'hast-util-sanitize'
import type { Definition, Nodes as MarkdownNodes, RootContent as MarkdownBlock } from 'mdast'
import { type Handlers, toHast } from 'mdast-util-to-hast'
import { revealHidden } from '../text/visible.ts'
import { realPlace, safeHref } from './links.ts'

declare module 'hast' {
  interface ElementData {
    /** The code in a `pre`, as it was written. */
    code?: string
  }
}

const schema: Schema = {
  tagNames: [
    ...['p', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'hr', 'div'],
    ...['table', 'thead', 'tbody', 'tr', 'th', 'td'],
    ...['strong', 'em', 'del', 'code', 'a', 'br', 'sup', 'small', 'input'],
  ],
  attributes: {
    a: ['href'],
    code: [['className', /^language-/]],
    ol: ['start'],
    th: [['align', 'left', 'right', 'center']],
    td: [['align', 'left', 'right', 'center']],
    input: [['type', 'checkbox'], ['disabled', true], 'checked'],
  },
  protocols: { href: ['http', 'https', 'mailto'] },
  required: { input: { type: 'checkbox', disabled: true } },
  ancestors: { li: ['ul', 'ol'], tr: ['table'], th: ['table'], td: ['table'], thead: ['table'], tbody: ['table'] },
  strip: ['script', 'style'],
  clobber: [],
  clobberPrefix: '',
  allowComments: false,
  allowDoctypes: false,
}

/** Notes stay where they are written, without numbers and without ids that links could jump to. */
const handlers: Handlers = {
  footnoteReference: (_state, node: { label?: string | null; identifier: string }): Element =>
    element('sup', [text(`[${node.label ?? node.identifier}]`)]),
  footnoteDefinition: (state, node: Extract<MarkdownNodes, { type: 'footnoteDefinition' }>): Element =>
    element('div', [element('sup', [text(`[${node.label ?? node.identifier}]`)]), ...state.all(node)]),
  html: (_state, node: { value: string }) => text(node.value),
}

/** The elements of one block. `definitions` are those that it refers to. */
export function toTree(block: MarkdownBlock, definitions: readonly Definition[]): Root {
  const tree = toHast({ type: 'root', children: [...definitions, block] }, { handlers })
  const children = tree.type === 'root' ? tree.children : [tree]
  const settled: Root = { type: 'root', children: settleAll(children, false) }
  const safe = sanitize(settled, schema)
  return { type: 'root', children: revealAll(safe.type === 'root' ? safe.children : [safe]) }
}

const element = (tagName: string, children: ElementContent[], properties: Element['properties'] = {}): Element => ({
  type: 'element',
  tagName,
  properties,
  children,
})
const text = (value: string): ElementContent => ({ type: 'text', value })

/** Links, images and headings as an answer may have them. */
function settleAll(nodes: readonly RootContent[], inLink: boolean): ElementContent[] {
  const settled = nodes.flatMap(node => {
    if (node.type === 'text') return [text(node.value)]
    if (node.type !== 'element') return []
    const { tagName, properties } = node
    if (tagName === 'img') return settleImage(node, inLink)
    if (tagName === 'a') return settleLink(settleAll(node.children, true), String(properties['href'] ?? ''), inLink)
    const heading = /^h([1-6])$/.exec(tagName)
    const name = heading === null ? tagName : `h${Math.min(6, Math.max(4, Number(heading[1]) + 2))}`
    return [element(name, settleAll(node.children, inLink), properties)]
  })
  return joinText(settled)
}

/** Neighbouring texts as one. */
function joinText(nodes: readonly ElementContent[]): ElementContent[] {
  const joined: ElementContent[] = []
  for (const node of nodes) {
    const last = joined.at(-1)
    if (node.type === 'text' && last?.type === 'text') joined[joined.length - 1] = text(last.value + node.value)
    else joined.push(node)
  }
  return joined
}

/** An image is not loaded, as that would tell its host who reads what: it becomes a link to it. */
function settleImage({ properties }: Element, inLink: boolean): ElementContent[] {
  const words = String(properties['alt'] ?? '').trim()
  return settleLink([text(words === '' ? 'image' : words)], String(properties['src'] ?? ''), inLink)
}

const LONGEST_TARGET = 120

/** A link that may be followed, with its real place where its text misleads; or its text and target as text. */
function settleLink(label: ElementContent[], target: string, inLink: boolean): ElementContent[] {
  if (inLink) return label
  const words = textOf(label)
  const href = safeHref(target)
  if (href === null) {
    const shown = readable(target)
    if (shown === '' || shown === words) return label
    return [...label, text(` (${shown.length > LONGEST_TARGET ? `${shown.slice(0, LONGEST_TARGET)}…` : shown})`)]
  }
  const link = element('a', label.length === 0 ? [text(href)] : label, { href })
  const place = realPlace(words, href)
  return place === null ? [link] : [link, element('small', [text(` (${place})`)])]
}

function readable(target: string): string {
  try {
    return decodeURI(target)
  } catch {
    return target
  }
}

function textOf(nodes: readonly Nodes[]): string {
  return nodes
    .map(node => (node.type === 'text' ? node.value : 'children' in node ? textOf(node.children) : ''))
    .join('')
}

/** Hidden characters as `mark` elements, which only come from here; `pre` keeps what was written, for copying. */
function revealAll(nodes: readonly RootContent[]): ElementContent[] {
  return nodes.flatMap(node => {
    if (node.type === 'text') {
      return revealHidden(node.value).map(segment =>
        'text' in segment ? text(segment.text) : element('mark', [text(segment.mark)], { title: segment.name }),
      )
    }
    if (node.type !== 'element') return []
    const shown = element(node.tagName, revealAll(node.children), node.properties)
    if (node.tagName === 'pre') shown.data = { code: textOf(node.children).replace(/\n$/, '') }
    return [shown]
  })
}
