/** The other rows of the conversation: instructions, failed attempts, replacements. */
import type { AttemptItem, ReplacementItem, SystemItem } from 'palimpsest/views'
import { type FC, memo, type ReactElement } from 'react'
import { LongText } from '../text/long-text.tsx'
import { contentText } from './content.ts'
import { counted, seqsInWords } from '../app/format.ts'
import { Row } from './row.tsx'
import { Seq, useLit } from '../app/seq.tsx'

/** The system prompt, folded; an empty one has no row. */
export const SystemRow: FC<{ readonly item: SystemItem }> = memo(function SystemRow({
  item,
}: {
  readonly item: SystemItem
}): ReactElement | null {
  const text = contentText(item.message.content)
  if (text === '') return null
  return (
    <Row kind="system" who="System" seq={item.seq} kin={kinOf(item)}>
      <details>
        <summary>Instructions for the model</summary>
        <LongText text={text} />
      </details>
      <ReplacedBy item={item} />
    </Row>
  )
})

/** What had arrived of an answer that failed. It is no part of the conversation, and folds up once it is over. */
export const AttemptRow: FC<AttemptRowProps> = memo(function AttemptRow({
  item,
  isOver,
}: AttemptRowProps): ReactElement {
  return (
    <Row kind="attempt" who="Agent" seq={item.seq}>
      <details open={!isOver}>
        <summary>What had arrived before it failed (recorded, not sent to the model)</summary>
        <LongText text={item.text === '' ? item.reasoning : item.text} />
      </details>
    </Row>
  )
})

type AttemptRowProps = { readonly item: AttemptItem; readonly isOver: boolean }

/** Something the model reads instead of older messages. They stay where they are. */
export const ReplacementRow: FC<{ readonly item: ReplacementItem }> = memo(function ReplacementRow({
  item,
}: {
  readonly item: ReplacementItem
}): ReactElement {
  const { seq, replaces, message } = item
  const lit = useLit(seq)
  return (
    <div className="replacement" tabIndex={-1} data-row="" {...lit}>
      <Seq seq={seq} kin={replaces} of="Replacement" />
      <details>
        <summary>
          <span className="rule">{replacementWords(item)}</span>
        </summary>
        <p className="about">
          From here on the model reads this instead of {seqsInWords(replaces)}. What was said stays as it was.
        </p>
        <LongText text={contentText(message.content)} />
      </details>
    </div>
  )
})

function replacementWords({ type, replaces }: ReplacementItem): string {
  switch (type) {
    case 'tool/result':
      return 'tool result shortened for the model'
    case 'system/message':
      return 'instructions changed'
    default:
      return replaces.length === 1
        ? 'message shortened for the model'
        : `${counted(replaces.length, 'message')} condensed`
  }
}

export function ReplacedBy({
  item,
}: {
  readonly item: { readonly seq: number; readonly replacedBy: number | null }
}): ReactElement | null {
  if (item.replacedBy === null) return null
  return (
    <p className="remark">
      The model reads <Seq seq={item.replacedBy} kin={[item.seq]} of="Replacement" /> instead.
    </p>
  )
}

export const kinOf = ({ replacedBy }: { readonly replacedBy: number | null }): readonly number[] =>
  replacedBy === null ? [] : [replacedBy]
