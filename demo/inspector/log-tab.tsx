/** The log: every event that was recorded, in order, each opening to its JSON. */
import { isReplaceSurfaceEvent, type SessionEvent } from 'palimpsest/core'
import { type ClientSession, useView } from 'palimpsest/react'
import { memo, type ReactElement, useEffect, useMemo, useRef, useState } from 'react'
import { LongText } from '../text/long-text.tsx'
import { bytes, clock, counted, seqsInWords } from '../app/format.ts'
import { type LanePart, lanesOf, LANES } from './lanes.ts'
import { filterOf, groups } from './log-filter.ts'
import { LogWindow } from './log-window.ts'
import { getSelection, useSelectedSeq } from '../app/selection.ts'
import { Seq, useLit } from '../app/seq.tsx'
import { Spent } from './spent.tsx'
import { useRows } from './use-rows.ts'

/** Matching events wanted before a filtered log stops reading back by itself. */
const WANTED = 50

export type LogTabProps = {
  readonly session: ClientSession
  /** How long it is as text; null when that is not known. */
  readonly size: number | null
  /** It began as another session did: some of its events are that one's. */
  readonly isBranch: boolean
  /** Counts the wishes to see the selected event here. */
  readonly reveal: number
}

export function LogTab({ session, size, isBranch, reveal }: LogTabProps): ReactElement {
  const log = useMemo(() => new LogWindow(session), [session])
  const { events, from, length, isReading, error } = useView(log)
  const [filterKey, setFilterKey] = useState('all')
  const filter = filterOf(filterKey)
  const shown = useMemo(() => events.filter(filterOf(filterKey).admits), [events, filterKey])
  const lanes = useMemo(
    () => (filterKey === 'all' ? lanesOf(events) : new Map<number, LanePart[]>()),
    [events, filterKey],
  )
  const shadows = useMemo(() => shadowsOf(events), [events])
  const types = useMemo(() => [...new Set(events.map(event => event.type))].sort(), [events])
  const { view, content } = useRows(session.id, shown[0]?.seq)
  const to = from + events.length

  // A filter that shows too little looks further back, page by page.
  const isLooking = filter.key !== 'all' && shown.length < WANTED && from > 0 && events.length < 1_000 && error === null
  useEffect(() => {
    if (isLooking && !isReading) void log.earlier()
  }, [isLooking, isReading, log, from])

  // Asked for: the event is brought into the window and into sight.
  const revealed = useRef(reveal)
  useEffect(() => {
    const seq = getSelection()?.seq
    if (revealed.current === reveal || seq === undefined) return
    revealed.current = reveal
    setFilterKey('all')
    void log.show(seq).then(() => {
      requestAnimationFrame(() => {
        const row = view.current?.querySelector<HTMLElement>(`[data-seq="${seq}"]`)
        row?.scrollIntoView({ block: 'center' })
        row?.querySelector('summary')?.focus()
      })
    })
  }, [reveal, log, view])

  return (
    <>
      <div className="panel-head">
        <h3>Log</h3>
        <p id="log-sum" className="about">
          what is recorded: {length === 0 ? 'nothing yet' : counted(length, 'event')}
          {length > 0 && size !== null && size > 0 && `, ${bytes(size)}${isBranch ? ' of its own' : ''}`}
        </p>
        <label className="filter">
          <span className="unseen">Show</span>
          <select value={filterKey} onChange={event => setFilterKey(event.target.value)} aria-label="Filter events">
            {groups.map(({ key, label }) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
            <optgroup label="One type">
              {types.map(type => (
                <option key={type} value={type}>
                  {type}
                </option>
              ))}
            </optgroup>
          </select>
        </label>
      </div>
      <Spent session={session} isBranch={isBranch} />
      <div className="scroll" role="region" aria-label="Every recorded event" tabIndex={0} ref={view}>
        <div id="log" className={lanes.size > 0 ? 'has-lanes' : undefined} ref={content}>
          {from > 0 && (
            <button type="button" className="earlier" disabled={isReading} onClick={() => void log.earlier()}>
              {isLooking
                ? `Looking further back, ${from.toLocaleString('en')} to go…`
                : `Show earlier (${counted(from, 'more event')})`}
            </button>
          )}
          {shown.map(event => (
            <EventRow
              key={event.seq}
              event={event}
              lanes={lanes.get(event.seq) ?? NO_LANES}
              shadow={shadows.get(event.seq) ?? null}
            />
          ))}
          {shown.length === 0 && events.length > 0 && !isLooking && (
            <p className="about none">No event of this kind{from > 0 ? ' among those read' : ''}.</p>
          )}
          {to < length && (
            <button type="button" className="earlier" disabled={isReading} onClick={() => void log.later()}>
              Show later ({counted(length - to, 'more event')})
            </button>
          )}
          {error !== null && (
            <p className="about none" role="alert">
              The log could not be read.{' '}
              <button type="button" onClick={() => void log.toEnd()}>
                Try again
              </button>
            </p>
          )}
        </div>
      </div>
    </>
  )
}

const NO_LANES: readonly LanePart[] = []

/** The event that stands for another one on the surface, the latest one counts. */
function shadowsOf(events: readonly SessionEvent[]): ReadonlyMap<number, number> {
  const shadows = new Map<number, number>()
  for (const event of events) {
    if (isReplaceSurfaceEvent(event)) for (const seq of event.sourceEventSeqs ?? []) shadows.set(seq, event.seq)
  }
  return shadows
}

type EventRowProps = {
  readonly event: SessionEvent
  readonly lanes: readonly LanePart[]
  readonly shadow: number | null
}

const EventRow = memo(function EventRow({ event, lanes, shadow }: EventRowProps): ReactElement {
  const { seq, type, time } = event
  const sources = 'sourceEventSeqs' in event ? (event.sourceEventSeqs ?? []) : []
  const isReplacement = isReplaceSurfaceEvent(event)
  const [isOpen, setOpen] = useState(false)
  const lit = useLit(seq)
  const kin = shadow === null ? sources : [...sources, shadow]
  return (
    <div className={shadow === null ? 'event' : 'event shadowed'} {...lit}>
      <Lanes parts={lanes} />
      <Seq seq={seq} kin={kin} />
      <details open={isOpen} onToggle={toggled => setOpen(toggled.currentTarget.open)}>
        <summary>
          <span className="type">{type}</span>
          {isReplacement && <span className="replaces">stands for {seqsInWords(sources)}</span>}
          {!isReplacement && sources.length > 0 && <span className="replaces">answers {seqsInWords(sources)}</span>}
          {shadow !== null && <span className="replaces">under #{shadow}</span>}
          <time dateTime={isoTime(time)}>{clock(time)}</time>
        </summary>
        {isOpen && (
          <div className="code" role="group" aria-label="The event as JSON" tabIndex={0}>
            <LongText text={JSON.stringify(event, null, 2)} kind="code" />
          </div>
        )}
      </details>
    </div>
  )
})

function isoTime(time: number): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/** The lines beside one row. Decoration: the words in the row say the same. */
function Lanes({ parts }: { readonly parts: readonly LanePart[] }): ReactElement | null {
  const light = useSelectedSeq()
  if (parts.length === 0) return <span className="lanes" />
  return (
    <svg className="lanes" viewBox={`0 0 ${LANES * 8} 24`} preserveAspectRatio="none" aria-hidden="true">
      {parts.map(({ lane, kind, up, down, of }) => {
        const x = (LANES - lane) * 8 - 4
        const d = [
          up ? `M${x} 0V12` : '',
          down ? `M${x} 12V24` : '',
          kind === 'through' ? '' : `M${x} 12H${LANES * 8}`,
        ].join('')
        return (
          <path
            key={of}
            className={light === of ? `lane ${kind} lit` : `lane ${kind}`}
            d={d}
            vectorEffect="non-scaling-stroke"
          />
        )
      })}
    </svg>
  )
}
