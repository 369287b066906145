/** What stands on the page for each element of an answer. */
import type { Element } from 'hast'
import type { CSSProperties, ReactElement, ReactNode } from 'react'
import { HiddenMark } from '../text/visible-text.tsx'
import { CodeBlock } from './code-block.tsx'
import { safeHref } from './links.ts'

const LONGEST_LANGUAGE = 32

/** What an element's component is given. */
interface ElementProps {
  children?: ReactNode
  node?: Element
  href?: string
  title?: string
  checked?: boolean
  style?: CSSProperties
}

export const components: Readonly<Record<string, (props: ElementProps) => ReactElement>> = {
  p: ({ children }) => <p dir="auto">{children}</p>,
  h4: ({ children }) => <h4 dir="auto">{children}</h4>,
  h5: ({ children }) => <h5 dir="auto">{children}</h5>,
  h6: ({ children }) => <h6 dir="auto">{children}</h6>,
  li: ({ children }) => <li dir="auto">{children}</li>,
  td: ({ children, style }) => (
    <td dir="auto" style={style}>
      {children}
    </td>
  ),
  th: ({ children, style }) => (
    <th dir="auto" style={style}>
      {children}
    </th>
  ),
  div: ({ children }) => (
    <div className="markdown-note" dir="auto">
      {children}
    </div>
  ),
  a: ({ children, href }) => {
    // Checked when the tree was made. Asked again here, as this is where a link becomes one.
    const target = safeHref(href ?? '')
    if (target === null) return <>{children}</>
    return (
      <a href={target} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    )
  },
  small: ({ children }) => <small className="link-place">{children}</small>,
  code: ({ children }) => <code>{children}</code>,
  pre: ({ children, node }) => (
    <CodeBlock code={node?.data?.code ?? ''} language={languageOf(node)}>
      {children}
    </CodeBlock>
  ),
  table: ({ children }) => (
    <div className="table-box" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => (
    <input type="checkbox" disabled checked={checked === true} aria-label={checked === true ? 'Done' : 'Not done'} />
  ),
  mark: ({ children, title }) => <HiddenMark mark={typeof children === 'string' ? children : ''} name={title ?? ''} />,
}

/** The language of the code in a `pre`, from the class of its `code`. */
function languageOf(pre: Element | undefined): string {
  const code = pre?.children[0]
  const classes = code?.type === 'element' ? code.properties['className'] : undefined
  const name = Array.isArray(classes) ? String(classes[0] ?? '') : ''
  return name.replace(/^language-/, '').slice(0, LONGEST_LANGUAGE)
}
