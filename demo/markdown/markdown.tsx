/** An answer of a model: markdown, while it streams and after, with nothing in it that runs, loads or deceives. */
import type { Root } from 'hast'
import { toJsxRuntime } from 'hast-util-to-jsx-runtime'
import { memo, type ReactElement } from 'react'
import { Fragment, jsx, jsxs } from 'react/jsx-runtime'
import { LongText } from '../text/long-text.tsx'
import type { Block } from './blocks.ts'
import { components } from './components.tsx'
import { useBlocks } from './use-blocks.ts'

/** `text` as markdown. While it is `streaming`, text that is costly to parse is shown in larger steps. */
export function Markdown({ text, streaming = false }: { text: string; streaming?: boolean }): ReactElement {
  const { blocks, complete } = useBlocks(text, streaming)
  return (
    <div className="markdown" aria-busy={!complete}>
      {blocks.map(block => (
        <MarkdownBlock key={block.key} block={block} />
      ))}
    </div>
  )
}

const MarkdownBlock = memo(function MarkdownBlock({ block: { tree, source } }: { block: Block }) {
  return <div className="markdown-block">{tree === null ? <LongText text={source} /> : elementsOf(tree)}</div>
})

function elementsOf(tree: Root): ReactElement {
  return toJsxRuntime(tree, { Fragment, jsx, jsxs, components, passNode: true }) as ReactElement
}
