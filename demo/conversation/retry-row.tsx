/** A failed model call that is tried again: one quiet line. */
import type { AgentStatus, RetryItem } from 'palimpsest/views'
import { type FC, memo, type ReactElement } from 'react'
import { Aside } from './aside.tsx'
import { failureInShort } from '../app/words.ts'
import { useSecondsTo } from '../app/use-seconds.ts'

export type RetryRowProps = {
  readonly item: RetryItem
  /** What the agent does, while the turn of this try runs. */
  readonly agent: AgentStatus | null
}

export const RetryRow: FC<RetryRowProps> = memo(function RetryRow({ item, agent }: RetryRowProps): ReactElement {
  const isNext = agent?.kind === 'retrying' && agent.retry === item.retry
  const seconds = useSecondsTo(item.state === 'waiting' && isNext ? agent.until : null)
  const count = item.maxRetries === null ? `try ${item.retry}` : `${item.retry} of ${item.maxRetries}`
  const why = failureInShort(item.failure)
  return <Aside seq={item.seq} of="Retry" words={`${wordsOf(item, agent, seconds)} · ${count}: ${why}`} />
})

const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(ms < 950 ? 1 : 0)} s`

function wordsOf({ state, delayMs }: RetryItem, agent: AgentStatus | null, seconds: number | null): string {
  if (state === 'started') return `Tried again after ${inSeconds(delayMs)}`
  if (agent === null) return 'Not tried again'
  if (agent.kind === 'offline') return 'Trying again once there is a network'
  return seconds === null || seconds === 0 ? 'Trying again' : `Trying again in ${seconds} s`
}
