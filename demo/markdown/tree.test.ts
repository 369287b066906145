import type { Element, Nodes } from 'hast'
import { describe, expect, test } from 'vitest'
import { markdownBlocks } from './blocks.ts'
import { hostile } from './hostile.ts'

const nodesOf = (node: Nodes): Nodes[] => [node, ...('children' in node ? node.children.flatMap(nodesOf) : [])]
const elements = (text: string): Element[] =>
  markdownBlocks(text)
    .blocks.flatMap(({ tree }) => (tree === null ? [] : nodesOf(tree)))
    .filter(node => node.type === 'element')
const html = (text: string): string =>
  markdownBlocks(text)
    .blocks.map(({ tree }) => (tree === null ? '' : serialize(tree)))
    .join('')

function serialize(node: Nodes): string {
  if (node.type === 'text') return node.value
  if (node.type === 'root') return node.children.map(serialize).join('')
  if (node.type !== 'element') return `!${node.type}`
  const properties = Object.entries(node.properties).map(([name, value]) => ` ${name}=${String(value)}`)
  return `<${node.tagName}${properties.join('')}>${node.children.map(serialize).join('')}</${node.tagName}>`
}

const ALLOWED = new Set(
  'p h4 h5 h6 ul ol li blockquote pre hr div table thead tbody tr th td strong em del code a br sup small input mark'.split(
    ' ',
  ),
)
const PROPERTIES = new Set(['href', 'className', 'start', 'align', 'type', 'disabled', 'checked', 'title'])

describe('the elements of an answer', () => {
  test.each(hostile)('are harmless: %j', text => {
    for (const { tagName, properties } of elements(text)) {
      expect(ALLOWED).toContain(tagName)
      for (const name of Object.keys(properties)) expect(PROPERTIES).toContain(name)
      if (properties['title'] !== undefined) expect(tagName).toBe('mark')
      if (properties['href'] !== undefined) expect(String(properties['href'])).toMatch(/^(?:https?:\/\/|mailto:)/)
      if (properties['className'] !== undefined) expect(String(properties['className'])).toMatch(/^language-/)
    }
  })

  test.each([
    ['*a* **b** ~~c~~ ~d~ `e`', '<p><em>a</em> <strong>b</strong> <del>c</del> ~d~ <code>e</code></p>'],
    ['<b>a</b> <!-- c -->', '<p><b>a</b> <!-- c --></p>'],
    ['# a', '<h4>a</h4>'],
    ['### a', '<h5>a</h5>'],
    ['###### a', '<h6>a</h6>'],
    ['[a](./b.md)', '<p>a (./b.md)</p>'],
    ['[a](javascript:x)', '<p>a (javascript:x)</p>'],
    ['<javascript:x>', '<p>javascript:x</p>'],
    ['![a](https://b.example/c.png)', '<p><a href=https://b.example/c.png>a</a></p>'],
    ['[![a](https://b.example/c.png)](https://d.example)', '<p><a href=https://d.example/>a</a></p>'],
    [
      '[https://a.example](https://b.example)',
      '<p><a href=https://b.example/>https://a.example</a><small> (b.example)</small></p>',
    ],
    ['a\u202eb', '<p>a<mark title=right-to-left override>U+202E</mark>b</p>'],
    ['[^a]\n\n[^a]: b', '<p><sup>[a]</sup></p><div><sup>[a]</sup><p>b</p></div>'],
    ['3. a', '<ol start=3>\n<li>a</li>\n</ol>'],
  ])('%j → %s', (text, expected) => expect(html(text)).toBe(expected))

  test('keep the code as it was written, to be copied', () => {
    const [pre] = elements('```js\na\u200bb\n\n```')
    expect(pre?.data?.code).toBe('a\u200bb\n')
  })
})
