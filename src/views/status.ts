/**
 * How a session is doing, in the terms of a status line: one value that changes only when it says something else
 * (SPEC V13).
 */
import type { PalimpsestError } from '../core/errors.ts'
import { equalJson } from '../core/json.ts'
import type { AgentStatus } from '../core/live.ts'
import type { SessionStatus } from './source.ts'

/**
 * What is true of the events so far. `nothing`: there are none. `saved`: all are stored and none is being written; said
 * only then. `saving`: being written. `unsaved`: waiting to be. `trouble`: the last write failed and is tried again.
 * `lost`: this page may not write the session any more.
 */
export type Saving = 'nothing' | 'saved' | 'saving' | 'unsaved' | 'trouble' | 'lost'

export type StatusView = {
  readonly agent: AgentStatus
  readonly phase: 'opening' | AgentStatus['kind'] | 'ended'
  readonly saving: Saving
  /** Events that are not stored yet. */
  readonly unsaved: number
  /** True when what is saved survives the page. */
  readonly isDurable: boolean
  /** Why the last write failed. */
  readonly error: { readonly code: string; readonly message: string } | null
  /** Why the session does not change any more. */
  readonly ended: PalimpsestError | null
}

export type StatusFacts = {
  /** Null while the session is being opened. */
  readonly status: SessionStatus | null
  /** Number of events. */
  readonly length: number
  readonly ended: PalimpsestError | null
}

const IDLE: AgentStatus = Object.freeze({ kind: 'idle' })

/** The status to show. `previous` is returned when nothing is different; its parts are, where they are not. */
export function deriveStatus({ status, length, ended }: StatusFacts, previous: StatusView | null = null): StatusView {
  const storage = status?.storage ?? null
  const agent = same(previous?.agent, ended === null ? (status?.agent ?? IDLE) : IDLE)
  const next: StatusView = {
    agent,
    phase: ended !== null ? 'ended' : status === null ? 'opening' : agent.kind,
    saving: storage === null ? 'nothing' : savingOf(storage, length),
    unsaved: storage?.unsaved ?? 0,
    isDurable: storage !== null && storage.kind !== 'memory',
    error: same(previous?.error, storage?.lastError ?? null),
    ended,
  }
  return previous !== null && isSame(next, previous) ? previous : next
}

function savingOf({ state, unsaved, lastError }: SessionStatus['storage'], length: number): Saving {
  if (state === 'lost') return 'lost'
  if (lastError !== null) return 'trouble'
  if (state === 'writing') return 'saving'
  if (state !== 'idle' || unsaved > 0) return 'unsaved'
  return length === 0 ? 'nothing' : 'saved'
}

const same = <Value>(known: Value | undefined, value: Value): Value =>
  known !== undefined && equalJson(known, value) ? known : value

const isSame = (left: StatusView, right: StatusView): boolean =>
  left.agent === right.agent &&
  left.phase === right.phase &&
  left.saving === right.saving &&
  left.unsaved === right.unsaved &&
  left.isDurable === right.isDurable &&
  left.error === right.error &&
  left.ended === right.ended
