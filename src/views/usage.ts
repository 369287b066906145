/** What a session has cost so far, and how full the model's window is: one fold over the log (SPEC V8). */
import type { SessionEvent, Usage } from '../core/events.ts'
import type { Fold } from '../core/fold.ts'
import { fieldsOf, isText } from '../core/invariants/payload.ts'
import { isCount, isString, listOf, membersOf, nullOr } from '../core/value-shapes.ts'
import { asUsage, streamUsage } from './stream-facts.ts'

/** What went to one model. */
export type ModelUsage = {
  /** Empty, both, for calls that failed before any request said whose they were. */
  readonly provider: string
  readonly model: string
  readonly calls: number
  readonly total: Usage
}

export type UsageState = {
  /** Of the latest request; null before the first one. */
  readonly provider: string | null
  readonly model: string | null
  /** Size of the model's window, tokens; null when it is not known. */
  readonly contextWindow: number | null
  /** Model calls that were settled, failed ones and those of compactions included. */
  readonly calls: number
  /** Sum over all calls, tokens; what a provider did not report counts as 0. It never gets less. */
  readonly total: Usage
  /** The same by model, in the order they were first called. */
  readonly byModel: readonly ModelUsage[]
  /** Of the latest call of the conversation that reported it: how full the window was. */
  readonly last: Usage | null
}

const NOTHING: Usage = Object.freeze({ inputTokens: 0, outputTokens: 0 })
const EMPTY: UsageState = Object.freeze({
  provider: null,
  model: null,
  contextWindow: null,
  calls: 0,
  total: NOTHING,
  byModel: Object.freeze([]),
  last: null,
})

export const usageFold: Fold<UsageState> = {
  key: 'usage',
  version: 2,
  on: ['request/header', 'request/context', 'assistant/message', 'assistant/attempt', 'compaction/summary'],
  initial: () => EMPTY,
  evolve: (state, { event }) => evolveUsage(state, event),
  toJSON: state => state,
  fromJSON(json) {
    if (!isUsageState(json)) throw new TypeError('no usage')
    return json as unknown as UsageState
  },
}

/** The usage after `event`; the same object when the event is not about it. */
export function evolveUsage(state: UsageState, event: SessionEvent): UsageState {
  switch (event.type) {
    case 'request/header': {
      const { provider, model } = event.data.header.config
      if (provider === state.provider && model === state.model) return state
      return { ...state, provider, model, contextWindow: null }
    }
    case 'request/context': {
      const { provider, model, contextWindow } = event.data
      // Admission does not look at it.
      return { ...state, provider, model, contextWindow: isSum(contextWindow) ? contextWindow : null }
    }
    case 'assistant/message': {
      const { message, usage, stream } = event.data
      return settled(state, message.source, asUsage(usage) ?? streamUsage(stream))
    }
    case 'assistant/attempt':
      return settled(state, state, streamUsage(event.data.stream))
    case 'compaction/summary': {
      const { provider, model, usage } = fieldsOf(event.data)
      const spent = asUsage(usage)
      // Its prompt is not the conversation: it says nothing about the window.
      return spent === null || !isText(provider) || !isText(model) ? state : counted(state, { provider, model }, spent)
    }
    default:
      return state
  }
}

type Route = Pick<UsageState, 'provider' | 'model'>

const settled = (state: UsageState, route: Route, usage: Usage | null): UsageState => {
  const next = counted(state, route, usage ?? NOTHING)
  return usage === null ? next : { ...next, last: usage }
}

function counted(state: UsageState, { provider, model }: Route, usage: Usage): UsageState {
  const name = { provider: provider ?? '', model: model ?? '' }
  const { byModel } = state
  const at = byModel.findIndex(each => each.provider === name.provider && each.model === name.model)
  const known = byModel[at] ?? { ...name, calls: 0, total: NOTHING }
  const own = { ...known, ...added(known, usage) }
  return { ...state, ...added(state, usage), byModel: at === -1 ? [...byModel, own] : byModel.with(at, own) }
}

const added = ({ calls, total }: Pick<UsageState, 'calls' | 'total'>, usage: Usage) => ({
  calls: calls + 1,
  total: sum(total, usage),
})

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

const isSum = (value: unknown): value is number => Number.isFinite(value) && (value as number) >= 0
const isTotal = membersOf({
  inputTokens: isSum,
  outputTokens: isSum,
  ...Object.fromEntries(OPTIONAL.map(key => [key, (value: unknown) => value === undefined || isSum(value)])),
})
const isUsageState = membersOf({
  provider: nullOr(isString),
  model: nullOr(isString),
  contextWindow: nullOr(isSum),
  calls: isCount,
  total: isTotal,
  byModel: listOf(membersOf({ provider: isString, model: isString, calls: isCount, total: isTotal })),
  last: nullOr(isTotal),
})
