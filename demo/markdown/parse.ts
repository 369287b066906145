/** Markdown (CommonMark and GFM) as a tree. HTML is not part of it: `<b>` is text like any other. */
import type { Root } from 'mdast'
import { fromMarkdown, type Options } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'

/** Labels that are defined elsewhere in the same text. */
export interface Labels {
  /** Of link reference definitions, as mdast spells identifiers. */
  readonly links: readonly string[]
  readonly notes: readonly string[]
}

type Syntax = NonNullable<Options['extensions']>[number]

const withoutHtml: Syntax = { disable: { null: ['htmlFlow', 'htmlText'] } }
const syntax = gfm({ singleTilde: false })
const mdastExtensions = [gfmFromMarkdown()]

/** The tree of `source`, which starts at the start of a line. Positions count from the start of `source`. */
export function parseMarkdown(source: string, labels: Labels = { links: [], notes: [] }): Root {
  // A line break in front keeps the parser from taking a byte order mark off.
  return fromMarkdown(`\n${source}`, { extensions: [syntax, withoutHtml, knowing(labels)], mdastExtensions })
}

/** Where a node starts and ends in the source it was parsed from. */
export function extentOf(node: Root['children'][number]): { start: number; end: number } {
  // The line break that was put in front is not the source's.
  return { start: (node.position?.start.offset ?? 1) - 1, end: (node.position?.end.offset ?? 1) - 1 }
}

/**
 * Tells the parser which labels are defined outside of what it parses. It resolves references against lists that it fills
 * before it looks at any text; this fills them a little more, at the first line.
 */
function knowing({ links, notes }: Labels): Syntax {
  if (links.length === 0 && notes.length === 0) return {}
  let told = false
  return {
    flowInitial: {
      null: {
        name: 'knownLabels',
        tokenize(_effects, _ok, nok) {
          if (!told) {
            told = true
            this.parser.defined.push(...links.map(link => link.toUpperCase()))
            this.parser.gfmFootnotes = [...(this.parser.gfmFootnotes ?? []), ...notes.map(note => note.toUpperCase())]
          }
          return nok
        },
      },
    },
  }
}
