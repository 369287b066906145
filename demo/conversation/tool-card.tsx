/** A tool call in the conversation: one quiet line that opens to its arguments and its result. */
import type { ContentBlock } from 'palimpsest/core'
import type { ToolItem } from 'palimpsest/views'
import { type FC, memo, type ReactElement, useEffect, useMemo, useState } from 'react'
import { LongText } from '../text/long-text.tsx'
import { pretty } from '../text/pretty.ts'
import { Visible } from '../text/visible-text.tsx'
import { ApprovalCard } from './approval-card.tsx'
import { Attachments } from './attachments.tsx'
import { attachmentsOf, keyArgument, textBeside } from './content.ts'
import type { TurnActions } from './turn-actions.ts'
import { duration } from '../app/format.ts'
import { Seq, useLit } from '../app/seq.tsx'
import { approvalWords } from '../app/words.ts'

export type ToolCardProps = {
  readonly item: ToolItem
  /** What the tool says of how far it is, while it runs. */
  readonly progress: string | null
}

/** A failing one opens itself; one that nobody allowed has not failed. */
export const ToolCard: FC<ToolCardProps & { readonly approve: TurnActions['approve'] }> = memo(function ToolCard({
  item,
  progress,
  approve,
}): ReactElement {
  const { callId, callSeq, resultSeq, approval, content } = item
  const state = stateOf(item)
  const isFailed = state === 'failed'
  const [isOpen, setOpen] = useState(isFailed)
  const [wasFailed, setWasFailed] = useState(isFailed)
  if (isFailed !== wasFailed) {
    setWasFailed(isFailed)
    if (isFailed) setOpen(true)
  }
  const lit = useLit(resultSeq, callSeq)
  const decision = approval === null ? '' : approvalWords(approval.state)
  const blocks = useMemo(() => blocksOf(content), [content])
  return (
    <div className="row tool-row" tabIndex={-1} data-row="" {...lit}>
      <details
        className={`tool ${state}`}
        open={isOpen}
        data-call={callId}
        onToggle={event => setOpen(event.currentTarget.open)}
      >
        <summary>
          <span className="name">
            <Visible text={item.name === '' ? 'unknown tool' : item.name} />
          </span>{' '}
          <span className="key">
            <Visible text={keyArgument(item.arguments)} />
          </span>
          <ToolState item={item} progress={progress} />
          {decision !== '' && <span className="decision">{decision}</span>}
        </summary>
        {isOpen && <ToolBody item={item} blocks={blocks} />}
      </details>
      {state === 'waiting' && <ApprovalCard item={item} approve={approve} />}
      {blocks !== null && <Attachments blocks={attachmentsOf(blocks)} />}
    </div>
  )
})

/** What a call is in: as the view tells it, but that one which nobody allowed did not run. */
function stateOf({ state, approval }: ToolItem): ToolItem['state'] | 'declined' {
  const isDeclined = approval !== null && approval.state !== 'asked' && approval.state !== 'allowed-once'
  return state === 'failed' && isDeclined ? 'declined' : state
}

/** What a result is made of; null while there is none. */
const blocksOf = (content: ToolItem['content']): readonly ContentBlock[] | null =>
  content?.flatMap(block => (block.type === 'tool-result' ? block.content : [block])) ?? null

function ToolState({ item, progress }: ToolCardProps): ReactElement {
  const { startedAt, durationMs, approval } = item
  // While a person is asked the time runs as well: it says nothing about the tool.
  const spent = durationMs === null || approval !== null ? '' : `${duration(durationMs)} `
  switch (stateOf(item)) {
    case 'asked':
      return <span className="state">asked for</span>
    case 'waiting':
      return <span className="state">waiting for you</span>
    case 'declined':
      return <span className="state">not run</span>
    case 'running':
      return (
        <span className="state">
          {progress !== null && <span className="progress">{progress}</span>}{' '}
          <Running since={approval === null ? startedAt : null} />
        </span>
      )
    case 'done':
      return (
        <span className="state">
          {spent}
          <b>✓ done</b>
        </span>
      )
    case 'failed':
      return (
        <span className="state">
          {spent}
          <b>✗ failed</b>
        </span>
      )
  }
}

/** Counts the seconds of a tool that runs; only where it is worth a word. */
function Running({ since }: { readonly since: number | null }): ReactElement {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const seconds = since === null ? 0 : Math.floor((now - since) / 1_000)
  return <>running{seconds > 0 ? ` ${seconds} s` : ''}…</>
}

type ToolBodyProps = { readonly item: ToolItem; readonly blocks: readonly ContentBlock[] | null }

function ToolBody({ item, blocks }: ToolBodyProps): ReactElement {
  const { callSeq, resultSeq, replacedBy, error, state } = item
  const kin = [callSeq, resultSeq, replacedBy].filter(seq => seq !== null)
  return (
    <div className="tool-body">
      <h4>Arguments {callSeq !== null && <Seq seq={callSeq} kin={kin} of="Call" />}</h4>
      <div className="code">
        <LongText text={pretty(item.arguments === '' ? '(none)' : item.arguments)} kind="code" />
      </div>
      {blocks !== null && (
        <>
          <h4>
            {state === 'failed' ? 'Error' : 'Result'}{' '}
            {resultSeq !== null && <Seq seq={resultSeq} kin={kin} of="Result" />}
            {error !== null && <span className="about"> {error.code}</span>}
          </h4>
          <div className="code">
            <LongText text={pretty(textBeside(blocks) || '(nothing)')} kind="code" />
          </div>
        </>
      )}
      {replacedBy !== null && (
        <p className="remark">
          The model reads a shortened version since <Seq seq={replacedBy} kin={kin} of="Replacement" />
        </p>
      )}
    </div>
  )
}
