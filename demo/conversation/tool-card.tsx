/** A tool call in the conversation: one quiet line that opens to its arguments and its result. */
import type { ToolItem } from 'palimpsest/views'
import { type FC, memo, type ReactElement, useEffect, useState } from 'react'
import { LongText } from '../text/long-text.tsx'
import { pretty } from '../text/pretty.ts'
import { Visible } from '../text/visible-text.tsx'
import { contentText, keyArgument } from './content.ts'
import { duration } from '../app/format.ts'
import { Seq, useLit } from '../app/seq.tsx'

export type ToolCardProps = {
  readonly item: ToolItem
  /** What the tool says of how far it is, while it runs. */
  readonly progress: string | null
}

/** A failing one opens itself. */
export const ToolCard: FC<ToolCardProps> = memo(function ToolCard({ item, progress }: ToolCardProps): ReactElement {
  const { callId, state, callSeq, resultSeq, replacedBy } = item
  const isFailed = state === 'failed'
  const [isOpen, setOpen] = useState(isFailed)
  const [wasFailed, setWasFailed] = useState(isFailed)
  if (isFailed !== wasFailed) {
    setWasFailed(isFailed)
    if (isFailed) setOpen(true)
  }
  const lit = useLit(resultSeq, callSeq)
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
        </summary>
        {isOpen && <ToolBody item={item} replacedBy={replacedBy} />}
      </details>
    </div>
  )
})

function ToolState({ item, progress }: ToolCardProps): ReactElement {
  const { state, startedAt, durationMs } = item
  const spent = durationMs === null ? '' : `${duration(durationMs)} `
  switch (state) {
    case 'asked':
      return <span className="state">asked for</span>
    case 'running':
      return (
        <span className="state">
          {progress !== null && <span className="progress">{progress}</span>} <Running since={startedAt} />
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

function ToolBody({ item, replacedBy }: { readonly item: ToolItem; readonly replacedBy: number | null }): ReactElement {
  const { callSeq, resultSeq, content, error, state } = item
  const kin = [callSeq, resultSeq, replacedBy].filter(seq => seq !== null)
  return (
    <div className="tool-body">
      <h4>Arguments {callSeq !== null && <Seq seq={callSeq} kin={kin} of="Call" />}</h4>
      <div className="code">
        <LongText text={pretty(item.arguments === '' ? '(none)' : item.arguments)} kind="code" />
      </div>
      {content !== null && (
        <>
          <h4>
            {state === 'failed' ? 'Error' : 'Result'}{' '}
            {resultSeq !== null && <Seq seq={resultSeq} kin={kin} of="Result" />}
            {error !== null && <span className="about"> {error.code}</span>}
          </h4>
          <div className="code">
            <LongText text={pretty(contentText(content) || '(nothing)')} kind="code" />
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
