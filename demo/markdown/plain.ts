/** What an answer says, without its markup: for reading aloud. */
import type { Nodes } from 'hast'
import { markdownBlocks } from './blocks.ts'

/** The text of `markdown` as it is shown. */
export function plainText(markdown: string): string {
  return markdownBlocks(markdown)
    .blocks.map(({ tree, source }) => (tree === null ? source : textOf(tree)))
    .join('\n')
    .trim()
}

function textOf(node: Nodes): string {
  if (node.type === 'text') return node.value
  if (!('children' in node)) return ''
  const separator =
    node.type === 'element' && /^(?:ul|ol|table|tr|thead|tbody|blockquote)$/.test(node.tagName) ? ' ' : ''
  return node.children.map(textOf).join(separator)
}
