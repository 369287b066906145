import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type MarkdownBlocks, markdownBlocks } from './blocks.ts'
import { expensive, hostile } from './hostile.ts'
import { parseMarkdown } from './parse.ts'
import { toTree } from './tree.ts'

const pieces = [
  ...[
    'a',
    'b c',
    'word',
    ' ',
    '  ',
    '    ',
    '\t',
    '\n',
    '\n',
    '\n\n',
    '\n\n',
    '\r\n',
    '\r',
    '\\',
    '0',
    '1',
    '2.',
    '1)',
  ],
  ...[
    '# ',
    '## h\n',
    '#',
    '===',
    '---',
    '=\n',
    '-',
    '- ',
    '- a\n',
    '  - b\n',
    '* ',
    '+ ',
    '1. ',
    '2. c\n',
    '> ',
    '> q\n',
    '>',
  ],
  ...[
    '```',
    '```\n',
    '```js\n',
    '~~~\n',
    '````\n',
    ' ```\n',
    '  ```\n',
    '- ```\n',
    '`',
    '``',
    '* * *\n',
    '***',
    '___\n',
  ],
  ...[
    '*',
    '**',
    '_',
    '__',
    '~~',
    '~',
    '[',
    ']',
    '(',
    ')',
    '[a]',
    '[b]',
    '[a]: /u\n',
    '[b]: https://b.example',
    '\n"t',
    '"',
    "'",
  ],
  ...[
    '[a](https://a.example)',
    '![i](x)',
    '[^a]',
    '[^a]: note\n',
    '[^b]: ',
    '<https://c.example>',
    'www.d.example',
    'e@f.example',
  ],
  ...[
    '|',
    '| a | b |\n',
    '|-|-|\n',
    '|:-:|',
    '- [ ] ',
    '- [x] d\n',
    '&amp;',
    '&#',
    '<div>\n',
    '<!--',
    '-->',
    '<b>',
    '\ufeff',
    '\0',
    '\u202e',
  ],
]
const markdown = fc.array(fc.constantFrom(...pieces), { maxLength: 24 }).map(parts => parts.join(''))

const RUNS = 400

/** Where a block ends is not sure in the blank lines after it; what it shows is. */
const shown = ({ blocks }: MarkdownBlocks) =>
  blocks.map(({ key, source, tree }) => ({ key, source: source.trimEnd(), tree }))

describe('an answer in blocks', () => {
  test('comes out the same, in whatever steps it came', () => {
    fc.assert(
      fc.property(markdown, fc.array(fc.nat(200), { maxLength: 8 }), (text, cuts) => {
        let grown: MarkdownBlocks | undefined
        for (const cut of cuts.filter(each => each < text.length).sort((a, b) => a - b)) {
          grown = markdownBlocks(text.slice(0, cut), grown)
        }
        expect(shown(markdownBlocks(text, grown))).toEqual(shown(markdownBlocks(text)))
      }),
      { numRuns: RUNS },
    )
  })

  test('is what the parser makes of all of it at once', () => {
    fc.assert(
      fc.property(markdown, text => {
        const { children } = parseMarkdown(text)
        const definitions = children.flatMap(function all(node): typeof children {
          return node.type === 'definition' ? [node] : 'children' in node ? node.children.flatMap(all) : []
        })
        const first = definitions.filter(
          (node, index) =>
            node.type === 'definition' &&
            index === definitions.findIndex(each => each.type === 'definition' && each.identifier === node.identifier),
        )
        const trees = children
          .filter(({ type }) => type !== 'definition')
          .map(node =>
            toTree(
              node,
              first.filter(each => each.type === 'definition'),
            ),
          )
        expect(markdownBlocks(text).blocks.map(({ tree }) => tree)).toEqual(trees)
      }),
      { numRuns: RUNS },
    )
  })

  test('is the same character by character, for everything hostile', () => {
    for (const text of hostile) {
      let grown: MarkdownBlocks | undefined
      for (let end = 0; end <= text.length; end++) grown = markdownBlocks(text.slice(0, end), grown)
      expect(grown && shown(grown), text).toEqual(shown(markdownBlocks(text)))
    }
  })

  test('keeps the blocks that do not change', () => {
    const before = markdownBlocks('# One\n\nTwo\n\n```js\nthree()\n```\nFour\n\nFi')
    const after = markdownBlocks(`${before.text}ve`, before)
    expect(after.blocks.map(({ source }) => source)).toEqual(['# One', 'Two', '```js\nthree()\n```', 'Four', 'Five'])
    expect(after.blocks.map((block, index) => block === before.blocks[index])).toEqual([true, true, true, true, false])
    expect(markdownBlocks(after.text, after)).toBe(after)
  })

  test('gives a block its link when the definition comes, and leaves the others alone', () => {
    const before = markdownBlocks('See [a].\n\nSee [b].\n\nSee nothing.\n\n')
    const after = markdownBlocks(`${before.text}[a]: https://a.example`, before)
    expect(after.blocks.map((block, index) => block === before.blocks[index])).toEqual([false, true, true])
    expect(JSON.stringify(after.blocks[0]?.tree)).toContain('"href":"https://a.example/"')
    const longer = markdownBlocks(`${after.text}/b`, after)
    expect(longer.blocks.map((block, index) => block === after.blocks[index])).toEqual([false, true, true])
  })

  test('starts anew for another text', () => {
    const before = markdownBlocks('One\n\nTwo')
    expect(shown(markdownBlocks('Three\n\nTwo', before))).toEqual(shown(markdownBlocks('Three\n\nTwo')))
  })

  test('stays markdown up to a length, and shows the rest as plain text', () => {
    const text = 'Some *text* that is a little longer than the others.\n\n'.repeat(20_000)
    const { blocks } = markdownBlocks(text)
    expect(blocks.at(-1)?.tree).toBeNull()
    expect(blocks.slice(0, -1).every(({ tree }) => tree !== null)).toBe(true)
    const plain = blocks.at(-1)?.source ?? ''
    expect(text.endsWith(plain)).toBe(true)
    expect(text.length - plain.length).toBeGreaterThan(99_000)
  })

  test('shows code of 90 000 characters as code', () => {
    const { blocks } = markdownBlocks(`Here:\n\`\`\`\n${'some *code*\n'.repeat(7_500)}\`\`\`\n\n*After*`)
    expect(blocks.map(({ tree }) => tree?.children.map(each => each.type === 'element' && each.tagName))).toEqual([
      ['p'],
      ['pre'],
      ['p'],
    ])
  })

  // A sanity bound: on a quiet machine each takes a fifth of it or less.
  test.each(Object.entries(expensive))(
    'is quick about %s',
    (_name, text) => {
      const startedAt = process.cpuUsage()
      let grown: MarkdownBlocks | undefined
      // As the page does it: in steps, until only plain text is left.
      for (let end = 4_000; grown === undefined || grown.text.length < text.length; end += 4_000) {
        grown = markdownBlocks(text.slice(0, grown?.parts.at(-1)?.plain === true ? text.length : end), grown)
      }
      expect(process.cpuUsage(startedAt).user / 1_000).toBeLessThan(8_000)
      expect(JSON.stringify(shown(grown))).toBe(JSON.stringify(shown(markdownBlocks(text))))
    },
    60_000,
  )
})
