/** A block of code with its language and a button to copy it. */
import type { ReactElement, ReactNode } from 'react'
import { CopyButton } from '../text/copy-button.tsx'
import { Visible } from '../text/visible-text.tsx'

export function CodeBlock({
  code,
  language,
  children,
}: {
  code: string
  language: string
  children: ReactNode
}): ReactElement {
  return (
    <div className="code-block">
      <div className="code-head">
        <span className="code-language">{language === '' ? 'code' : <Visible text={language} />}</span>
        <CopyButton text={code} what="code" />
      </div>
      <pre tabIndex={0} role="group" aria-label={language === '' ? 'Code' : `Code, ${language}`} dir="ltr">
        {children}
      </pre>
    </div>
  )
}
