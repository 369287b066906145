/** The right side: what the model reads and what is recorded, one above the other or one at a time. */
import type { ClientSession } from 'palimpsest/react'
import { type KeyboardEvent, type ReactElement, useRef } from 'react'
import { LogTab } from './log-tab.tsx'
import { SurfaceTab } from './surface-tab.tsx'

/** Every view of the inspector, in the order of its tabs. Further ones find their place here. */
export const inspectorTabs = [
  { key: 'surface', label: 'Surface' },
  { key: 'log', label: 'Log' },
] as const
export type InspectorTab = (typeof inspectorTabs)[number]['key']

export type InspectorProps = {
  /** Null while no session is open. */
  readonly session: ClientSession | null
  /** How long its log is as text; null when that is not known. */
  readonly size: number | null
  /** It began as another session did. */
  readonly isBranch: boolean
  readonly tab: InspectorTab
  readonly show: (tab: InspectorTab) => void
  /** Both views at once: there is room for it. */
  readonly isSplit: boolean
  readonly split: (isSplit: boolean) => void
  readonly canSplit: boolean
  /** Counts the wishes to see the selected event in the log. */
  readonly reveal: number
}

export function Inspector({
  session,
  size,
  isBranch,
  tab,
  show,
  isSplit,
  split,
  canSplit,
  reveal,
}: InspectorProps): ReactElement {
  const list = useRef<HTMLDivElement>(null)
  const isBoth = isSplit && canSplit
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    const at = inspectorTabs.findIndex(each => each.key === tab)
    const next = inspectorTabs[(at + step + inspectorTabs.length) % inspectorTabs.length]
    if (next === undefined) return
    show(next.key)
    list.current?.querySelector<HTMLElement>(`#tab-${next.key}`)?.focus()
  }
  const choose = (key: InspectorTab) => {
    if (isBoth) split(false)
    show(key)
  }
  const panel = (key: InspectorTab): ReactElement => (
    <section
      key={key}
      id={`panel-${key}`}
      className="panel"
      role="tabpanel"
      aria-labelledby={`tab-${key}`}
      hidden={!isBoth && tab !== key}
    >
      {session !== null &&
        (key === 'surface' ? (
          <SurfaceTab key={session.id} session={session} />
        ) : (
          <LogTab key={session.id} session={session} size={size} isBranch={isBranch} reveal={reveal} />
        ))}
    </section>
  )
  return (
    <>
      <div className="tabs">
        <div
          role="tablist"
          aria-label="Inspector"
          aria-multiselectable={isBoth || undefined}
          ref={list}
          onKeyDown={onKeyDown}
        >
          {inspectorTabs.map(({ key, label }, index) => (
            <button
              key={key}
              type="button"
              role="tab"
              id={`tab-${key}`}
              aria-selected={isBoth || tab === key}
              aria-controls={`panel-${key}`}
              tabIndex={tab === key ? 0 : -1}
              onClick={() => choose(key)}
              title={`${label} (${index + 1})`}
            >
              {label}
            </button>
          ))}
        </div>
        {canSplit && (
          <button type="button" className="quiet" aria-pressed={isBoth} onClick={() => split(!isSplit)}>
            {isBoth ? 'One at a time' : 'Both'}
          </button>
        )}
      </div>
      <div className={isBoth ? 'panels both' : 'panels'}>{inspectorTabs.map(({ key }) => panel(key))}</div>
    </>
  )
}
