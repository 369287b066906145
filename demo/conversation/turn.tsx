/** The rows of one turn. */
import type { AgentStatus, LiveAnswer, TranscriptItem, TranscriptTurn } from 'palimpsest/views'
import { type FC, memo, type ReactElement } from 'react'
import { AnswerRow } from './answer-row.tsx'
import { EndingRow } from './ending-row.tsx'
import { AttemptRow, ReplacementRow, SystemRow } from './item-rows.tsx'
import { RetryRow } from './retry-row.tsx'
import { ToolCard } from './tool-card.tsx'
import type { TurnActions } from './turn-actions.ts'
import { TurnEnd } from './turn-end.tsx'
import { UserRow } from './user-row.tsx'

export type TurnProps = {
  readonly turn: TranscriptTurn
  /** Items before this one are not shown. */
  readonly from: number
  readonly isLast: boolean
  /** The answer that is arriving, when it belongs to this turn. */
  readonly live: LiveAnswer | null
  /** What the agent does, when this is the turn it may do it in. */
  readonly agent: AgentStatus | null
  /** It was cut off, and the agent can go on with it. */
  readonly canGoOn: boolean
  readonly actions: TurnActions
}

export const Turn: FC<TurnProps> = memo(function Turn({
  turn,
  from,
  isLast,
  live,
  agent,
  canGoOn,
  actions,
}: TurnProps): ReactElement {
  const { items } = turn
  const begun = openingLength(turn)
  const doing = turn.reason === null ? agent : null
  const shown: (TranscriptItem | LiveAnswer)[] = [...items.slice(from)]
  if (live !== null) shown.push(live)
  // In one list, with the key of its message: the row of a live answer stays the same element when the answer is there.
  const rows = shown.map((item, index) => (
    <Item
      key={keyOf(item)}
      item={item}
      canEdit={from + index < begun}
      isOver={index < shown.length - 1}
      agent={'kind' in item && (item.kind === 'retry' || item.kind === 'tool') ? doing : null}
      actions={actions}
    />
  ))
  return (
    <>
      {rows}
      <EndingRow turn={turn} isLast={isLast} canGoOn={canGoOn} actions={actions} />
      {turn.turn !== null && <TurnEnd turn={turn} isLast={isLast} actions={actions} />}
    </>
  )
})

/** How many items a turn began with, before anything was asked of a model: only such prompts can be said otherwise. */
function openingLength({ turn, isCut, items }: TranscriptTurn): number {
  if (turn === null || isCut) return 0
  let length = 0
  for (const { kind } of items) {
    if (kind !== 'system' && kind !== 'user' && kind !== 'replacement') break
    length += 1
  }
  return length
}

function keyOf(item: TranscriptItem | LiveAnswer): string {
  if (!('kind' in item)) return `answer ${item.messageId}`
  return item.kind === 'answer' ? `answer ${item.message.id}` : item.key
}

type ItemProps = Pick<TurnProps, 'agent' | 'actions'> & {
  readonly item: TranscriptItem | LiveAnswer
  readonly canEdit: boolean
  /** Something came after it. */
  readonly isOver: boolean
}

function Item({ item, canEdit, isOver, agent, actions }: ItemProps): ReactElement {
  if (!('kind' in item)) return <AnswerRow item={null} live={item} />
  switch (item.kind) {
    case 'system':
      return <SystemRow item={item} />
    case 'user':
      return <UserRow item={item} canEdit={canEdit} edit={actions.edit} />
    case 'answer':
      return <AnswerRow item={item} live={null} />
    case 'tool': {
      const isShown = agent?.kind === 'tool' && agent.callId === item.callId
      const progress = isShown ? (agent.progress ?? null) : null
      return <ToolCard item={item} progress={progress} approve={actions.approve} />
    }
    case 'attempt':
      return <AttemptRow item={item} isOver={isOver} />
    case 'retry':
      return <RetryRow item={item} agent={agent} />
    case 'replacement':
      return <ReplacementRow item={item} />
  }
}
