/** The state of the session in one sentence, and what to do about it. */
import type { StatusView } from 'palimpsest/views'
import { type ReactElement, useEffect, useState } from 'react'
import { useSecondsTo } from '../app/use-seconds.ts'
import { errorFacts } from '../app/words.ts'

/** How long a write may take before it is worth a word, ms. */
const PATIENCE = 400

export type StatusLineProps = {
  /** Null while no session is open. */
  readonly status: StatusView | null
  readonly situation: 'opening' | 'open' | 'refused' | 'deleted' | 'ended'
  readonly isEmpty: boolean
  readonly queued: number
  /** Why the worker is gone; null while it is not. */
  readonly lost: unknown
}

export function StatusLine(props: StatusLineProps): ReactElement {
  const isSaving = props.status?.saving === 'saving'
  const isSlow = useSlow(isSaving)
  const agent = props.status?.agent
  // It is no live region: the seconds are for those who look.
  const seconds = useSecondsTo(agent?.kind === 'retrying' ? agent.until : null)
  const isTrouble = props.lost !== null || props.situation === 'refused' || isTroubled(props.status)
  return (
    <>
      <p id="status" className={isTrouble ? 'status trouble' : 'status'}>
        {/* Saving is quick: words that would only flash are not shown. */}
        {sentence(props, isSaving && !isSlow, seconds)}
      </p>
      <span id="status-trouble" className="unseen" role="alert">
        {troubleWords(props)}
      </span>
    </>
  )
}

/** Trouble as it is read out: once, not again with every number that changes. */
function troubleWords({ lost, status }: StatusLineProps): string {
  if (lost !== null) return 'Worker lost: reload to go on.'
  if (status?.saving === 'lost') return 'Another tab writes this session now. Reload to follow it.'
  return status?.saving === 'trouble' ? `Storage trouble: ${status.error?.message ?? ''}` : ''
}

/** True once `isOn` has been true for a while. */
function useSlow(isOn: boolean): boolean {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    if (!isOn) return
    const timer = setTimeout(() => setSlow(true), PATIENCE)
    return () => {
      clearTimeout(timer)
      setSlow(false)
    }
  }, [isOn])
  return isOn && isSlow
}

const isTroubled = (status: StatusView | null): boolean => status?.saving === 'trouble' || status?.saving === 'lost'

/** `isBrief` leaves out what is said about the storage; `seconds`: until the next try. */
function sentence(
  { status, situation, isEmpty, queued, lost }: StatusLineProps,
  isBrief: boolean,
  seconds: number | null,
): string {
  if (lost !== null) return `Worker lost: reload to go on. What was saved is safe. (${errorFacts(lost).code})`
  if (situation === 'opening') return 'Opening the session'
  if (situation === 'refused') return 'Not open'
  if (situation === 'deleted') return 'Deleted'
  if (situation === 'ended' || status === null) return 'Closed'
  return [
    agentWords(status, seconds),
    ...(queued > 0 ? [`${queued} queued`] : []),
    ...(isBrief ? [] : [storageWords(status, isEmpty)]),
  ].join(' · ')
}

function agentWords({ agent }: StatusView, seconds: number | null): string {
  switch (agent.kind) {
    case 'idle':
      return 'Idle'
    case 'thinking':
      return 'Asking the model'
    case 'answering':
      return 'Answering'
    case 'tool':
      return `Running tool ${agent.name}`
    case 'approval':
      return `Waiting for you: may ${agent.name} run?`
    case 'retrying':
      return [
        seconds === null || seconds === 0 ? 'Trying again' : `Trying again in ${seconds} s`,
        agent.maxRetries === null ? `try ${agent.retry}` : `${agent.retry} of ${agent.maxRetries}`,
      ].join(' · ')
    case 'offline':
      return agent.turn === null ? 'Offline' : 'Waiting for the network'
    case 'maintenance':
      return 'Tidying up the conversation'
  }
}

/** Says "saved" only when that is true: nothing is unsaved and nothing is being written. */
function storageWords({ saving, unsaved, isDurable, error }: StatusView, isEmpty: boolean): string {
  const count = unsaved === 0 ? [] : [`${unsaved} unsaved`]
  switch (saving) {
    case 'lost':
      return [...count, 'another tab writes this session now. Reload to follow it.'].join(': ')
    case 'trouble':
      return `${['storage trouble', ...count].join(', ')}: ${error?.message ?? ''}`
    case 'saving':
    case 'unsaved':
      return ['saving', ...count].join(', ')
    default: {
      const words = isEmpty ? 'nothing to save yet' : 'saved'
      return isDurable ? words : `${words}, in memory only`
    }
  }
}
