/** What a session has cost so far, and how full the model's window is: one fold over the log (SPEC V8). */
import type { SessionEvent, Usage } from '../core/events.ts'
import type { Fold } from '../core/fold.ts'
import { asUsage, streamUsage } from './stream-facts.ts'

export type UsageState = {
  /** Of the latest request; null before the first one. */
  readonly provider: string | null
  readonly model: string | null
  /** Size of the model's window, tokens; null when it is not known. */
  readonly contextWindow: number | null
  /** Model calls that were settled, failed ones included. */
  readonly calls: number
  /** Sum over all calls, tokens; what a provider did not report counts as 0. */
  readonly total: Usage
  /** Of the latest call that reported it. */
  readonly last: Usage | null
}

const NOTHING: Usage = Object.freeze({ inputTokens: 0, outputTokens: 0 })
const EMPTY: UsageState = Object.freeze({
  provider: null,
  model: null,
  contextWindow: null,
  calls: 0,
  total: NOTHING,
  last: null,
})

export const usageFold: Fold<UsageState> = {
  key: 'usage',
  version: 1,
  initial: () => EMPTY,
  evolve: (state, { event }) => evolveUsage(state, event),
  toJSON: state => state,
  fromJSON: json => json as unknown as UsageState,
}

/** The usage after `event`; the same object when the event is not about it. */
export function evolveUsage(state: UsageState, event: SessionEvent): UsageState {
  switch (event.type) {
    case 'request/context': {
      const { provider, model, contextWindow = null } = event.data
      return { ...state, provider, model, contextWindow }
    }
    case 'assistant/message':
      return counted(state, asUsage(event.data.usage) ?? streamUsage(event.data.stream))
    case 'assistant/attempt':
      return counted(state, streamUsage(event.data.stream))
    default:
      return state
  }
}

function counted(state: UsageState, usage: Usage | null): UsageState {
  const calls = state.calls + 1
  if (usage === null) return { ...state, calls }
  return { ...state, calls, total: sum(state.total, usage), last: usage }
}

const OPTIONAL = ['totalTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const

function sum(left: Usage, right: Usage): Usage {
  const result: { -readonly [Key in keyof Usage]: Usage[Key] } = {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
  }
  for (const key of OPTIONAL) {
    if (left[key] !== undefined || right[key] !== undefined) result[key] = (left[key] ?? 0) + (right[key] ?? 0)
  }
  return result
}
