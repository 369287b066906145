/** The surface: exactly the messages of the next request, each with the event it comes from and what it weighs. */
import { projectMessage, type SessionEvent } from 'palimpsest/core'
import { type ClientSession, useSurface, useUsage } from 'palimpsest/react'
import { estimateTokens, type SurfaceItem } from 'palimpsest/views'
import { memo, type ReactElement, useEffect, useState } from 'react'
import { LongText } from '../text/long-text.tsx'
import { Visible } from '../text/visible-text.tsx'
import { contentText, speaker } from '../conversation/content.ts'
import { counted, tokens } from '../app/format.ts'
import { Seq, useLit } from '../app/seq.tsx'
import { useRows } from './use-rows.ts'
import { WindowBar } from './window-bar.tsx'

const PREVIEW = 140
/** Nodes shown from the start, and those each step back adds. */
const PAGE = 300

export function SurfaceTab({ session }: { readonly session: ClientSession }): ReactElement {
  const { surface, state, error } = useSurface(session)
  const usage = useUsage(session)
  const [wanted, setWanted] = useState(PAGE)
  const { nodes } = surface
  const hidden = Math.max(0, nodes.length - wanted)
  const shown = nodes.slice(hidden)
  const { view, content } = useRows(session.id, shown[0]?.seq)

  return (
    <>
      <div className="panel-head">
        <h3>Surface</h3>
        <p id="surface-sum" className="about">
          {nodes.length === 0
            ? 'what the model reads next: nothing yet'
            : `what the model reads next: ${counted(surface.messages, 'message')}, ≈${tokens(surface.tokens)} tokens`}
        </p>
      </div>
      <WindowBar nodes={nodes} tokens={surface.tokens} contextWindow={usage.contextWindow} />
      <div className="scroll" role="region" aria-label="Messages of the next request" tabIndex={0} ref={view}>
        <div id="surface" ref={content}>
          {state === 'failed' && (
            <p className="about none" role="alert">
              The surface could not be read: {error instanceof Error ? error.message : String(error)}
            </p>
          )}
          {hidden > 0 && (
            <button type="button" className="earlier" onClick={() => setWanted(wanted + PAGE)}>
              Show earlier ({counted(hidden, 'more node')})
            </button>
          )}
          {shown.map(node => (
            <NodeRow key={node.seq} node={node} session={session} />
          ))}
        </div>
      </div>
    </>
  )
}

type NodeRowProps = { readonly node: SurfaceItem; readonly session: ClientSession }

const NodeRow = memo(function NodeRow({ node, session }: NodeRowProps): ReactElement {
  const { seq, message, origin } = node
  const [isOpen, setOpen] = useState(false)
  const sources = origin.kind === 'replaces' ? origin.seqs : NONE
  const lit = useLit(seq)
  if (message === null) {
    return (
      <div className="node none" {...lit}>
        <Seq seq={seq} kin={sources} of="Node" />
        <span>contributes nothing</span>
      </div>
    )
  }
  const text = contentText(message.content)
  return (
    <div className={`node ${message.role}${sources.length > 0 ? ' summary' : ''}`} {...lit}>
      <Seq seq={seq} kin={sources} of="Node" />
      <details open={isOpen} onToggle={toggled => setOpen(toggled.currentTarget.open)}>
        <summary>
          <span className="role">{sources.length > 0 ? `stands for ${sources.length}` : speaker(message)}</span>
          <span className="preview">
            <Visible text={text.length > PREVIEW ? `${text.slice(0, PREVIEW)}…` : text} />
          </span>
          {origin.kind === 'projected' && <span className="about">projected</span>}
          <span className="size" title="Estimated tokens">
            ≈{tokens(node.tokens)}
          </span>
        </summary>
        {isOpen && (
          <div className="code" role="group" aria-label="The whole message" tabIndex={0}>
            <LongText text={text} />
          </div>
        )}
        {isOpen && sources.length > 0 && <Shadowed seqs={sources} by={seq} session={session} />}
      </details>
    </div>
  )
})

const NONE: readonly number[] = []
/** Most shadowed messages listed at once. */
const LISTED = 50

type ShadowedProps = { readonly seqs: readonly number[]; readonly by: number; readonly session: ClientSession }

/** What a node stands for: read from the log, where it still is. */
function Shadowed({ seqs, by, session }: ShadowedProps): ReactElement {
  const [events, setEvents] = useState<readonly SessionEvent[] | null>(null)
  const [failed, setFailed] = useState(false)
  useEffect(() => {
    let isGone = false
    Promise.all(seqs.slice(0, LISTED).map(seq => session.eventAt(seq))).then(
      found => {
        if (!isGone) setEvents(found.filter(event => event !== undefined))
      },
      () => {
        if (!isGone) setFailed(true)
      },
    )
    return () => {
      isGone = true
    }
  }, [seqs, session])
  if (failed) return <p className="about">What it stands for cannot be read now.</p>
  if (events === null) return <p className="about">Reading what it stands for…</p>
  return (
    <ul className="under-layer plain" aria-label="What it stands for">
      {events.map(event => (
        <ShadowedRow key={event.seq} event={event} by={by} />
      ))}
      {seqs.length > LISTED && <li className="about">and {seqs.length - LISTED} more, in the log</li>}
    </ul>
  )
}

function ShadowedRow({ event, by }: { readonly event: SessionEvent; readonly by: number }): ReactElement {
  const message = projectMessage(event)
  const lit = useLit(event.seq)
  const text = message === null ? event.type : contentText(message.content)
  return (
    <li className="shadow" {...lit}>
      <Seq seq={event.seq} kin={[by]} />
      <span className="role">{message === null ? '' : speaker(message)}</span>
      <span className="preview">
        <Visible text={text.length > PREVIEW ? `${text.slice(0, PREVIEW)}…` : text} />
      </span>
      <span className="size">{message === null ? '' : `≈${tokens(estimateTokens(message))}`}</span>
    </li>
  )
}
