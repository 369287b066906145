/** The rows of one turn. */
import type { LiveAnswer, TranscriptItem, TranscriptTurn } from 'palimpsest/views'
import { type FC, memo, type ReactElement } from 'react'
import { AnswerRow } from './answer-row.tsx'
import { type EndingActions, EndingRow } from './ending-row.tsx'
import { AttemptRow, ReplacementRow, SystemRow, UserRow } from './item-rows.tsx'
import { ToolCard } from './tool-card.tsx'

/** A tool that runs, and what it last said of how far it is. */
export type ToolProgress = { readonly callId: string; readonly progress: string }

export type TurnProps = {
  readonly turn: TranscriptTurn
  /** Items before this one are not shown. */
  readonly from: number
  readonly isLast: boolean
  /** The answer that is arriving, when it belongs to this turn. */
  readonly live: LiveAnswer | null
  readonly progress: ToolProgress | null
  readonly actions: EndingActions
}

export const Turn: FC<TurnProps> = memo(function Turn({
  turn,
  from,
  isLast,
  live,
  progress,
  actions,
}: TurnProps): ReactElement {
  // In one list, with the key of its message: its row stays the same element when the answer is there.
  const rows = [...turn.items.slice(from)].map(item => <Item key={keyOf(item)} item={item} progress={progress} />)
  if (live !== null) rows.push(<Item key={`answer ${live.messageId}`} item={live} progress={null} />)
  return (
    <>
      {rows}
      <EndingRow turn={turn} isLast={isLast} actions={actions} />
    </>
  )
})

function keyOf(item: TranscriptItem): string {
  return item.kind === 'answer' ? `answer ${item.message.id}` : item.key
}

function Item({
  item,
  progress,
}: {
  readonly item: TranscriptItem | LiveAnswer
  readonly progress: ToolProgress | null
}): ReactElement {
  if (!('kind' in item)) return <AnswerRow item={null} live={item} />
  switch (item.kind) {
    case 'system':
      return <SystemRow item={item} />
    case 'user':
      return <UserRow item={item} />
    case 'answer':
      return <AnswerRow item={item} live={null} />
    case 'tool':
      return <ToolCard item={item} progress={progress?.callId === item.callId ? progress.progress : null} />
    case 'attempt':
      return <AttemptRow item={item} />
    case 'replacement':
      return <ReplacementRow item={item} />
  }
}
