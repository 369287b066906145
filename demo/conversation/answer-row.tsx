/** An answer: while it arrives and afterwards it is the same element, so that nothing flashes and nothing folds up. */
import type { AnswerItem, LiveAnswer } from 'palimpsest/views'
import { type FC, memo, type ReactElement } from 'react'
import { useMarkdown } from '../markdown/load-markdown.ts'
import { LongText } from '../text/long-text.tsx'
import { keyArgument } from './content.ts'
import { ErrorBoundary } from '../app/error-boundary.tsx'
import { tokens } from '../app/format.ts'
import { Row } from './row.tsx'

/** What is shown of an answer, settled or not. Tool calls that are settled have cards of their own. */
type Part = { readonly key: number; readonly kind: string; readonly text: string; readonly name: string }

export type AnswerRowProps = { readonly item: AnswerItem | null; readonly live: LiveAnswer | null }

const NONE: readonly number[] = []

/** One of `item` and `live` is given. */
export const AnswerRow: FC<AnswerRowProps> = memo(function AnswerRow({
  item,
  live,
}: AnswerRowProps): ReactElement | null {
  const parts = item === null ? livePartsOf(live) : partsOf(item)
  if (parts.length === 0) return null
  return (
    <Row
      kind={item === null ? 'agent live' : 'agent'}
      who="Agent"
      seq={item?.seq ?? null}
      busy={item === null}
      kin={item === null || item.replacedBy === null ? NONE : [item.replacedBy]}
    >
      {parts.map(part => (
        <AnswerPart key={part.key} kind={part.kind} text={part.text} name={part.name} streaming={item === null} />
      ))}
      {item?.interrupted === true && <p className="remark">The answer ends here: it was stopped.</p>}
      {item !== null && item.usage !== null && (
        <p className="remark usage" title="What the provider counted for this call">
          {tokens(item.usage.inputTokens + (item.usage.cacheReadTokens ?? 0))} tokens read,{' '}
          {tokens(item.usage.outputTokens)} written
        </p>
      )}
    </Row>
  )
})

const AnswerPart = memo(function AnswerPart(props: Omit<Part, 'key'> & { readonly streaming: boolean }): ReactElement {
  const { kind, text, name, streaming } = props
  const Markdown = useMarkdown()
  if (kind === 'text' && Markdown === null) return <LongText text={text} />
  if (kind === 'text' && Markdown !== null) {
    // Text that cannot be laid out is still text.
    return (
      <ErrorBoundary instead={() => <LongText text={text} />}>
        <Markdown text={text} streaming={streaming} />
      </ErrorBoundary>
    )
  }
  if (kind === 'reasoning') {
    return (
      <details className="reasoning">
        <summary>{streaming ? 'Thinking' : 'Reasoning'}</summary>
        <LongText text={text} />
      </details>
    )
  }
  if (kind === 'tool-call') {
    return (
      <div className="tool asking">
        <span className="name">{name === '' ? '…' : name}</span> <span className="key">{keyArgument(text)}</span>
        <span className="state">being asked for</span>
      </div>
    )
  }
  return <p className="remark">[{kind}]</p>
})

function partsOf({ message }: AnswerItem): readonly Part[] {
  return message.content.flatMap((block, key): Part[] => {
    if (block.type === 'tool-call') return []
    const text = block.type === 'text' || block.type === 'reasoning' ? block.text : ''
    return text.trim() === '' && (block.type === 'text' || block.type === 'reasoning')
      ? []
      : [{ key, kind: block.type, text, name: '' }]
  })
}

function livePartsOf(live: LiveAnswer | null): readonly Part[] {
  return (live?.blocks ?? []).flatMap(({ index, kind, text, name }) =>
    text.trim() === '' && kind !== 'tool-call' ? [] : [{ key: index, kind, text, name }],
  )
}
