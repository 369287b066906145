/** Everything of a request besides its messages: canonical form, equality, and when it is logged (SPEC H1–H4). */
import type { EpochHeader, EventData, EventOf } from './events.ts'
import type { Fold } from './fold.ts'

/** `header` without an empty tool list or empty adapter defaults. */
export function canonicalHeader({ config, adapterDefaults, tools }: EpochHeader): EpochHeader {
  return {
    config,
    ...(adapterDefaults?.reasoningEffort || adapterDefaults?.maxTokens ? { adapterDefaults } : {}),
    ...(tools !== undefined && tools.length > 0 ? { tools } : {}),
  }
}

/** True when two canonical headers make the same request. Absent and empty `stop` differ. */
export function equalHeaders(left: EpochHeader, right: EpochHeader): boolean {
  return headerText(left) === headerText(right)
}

/** The parts that count, in a fixed order. */
function headerText({ config, adapterDefaults, tools }: EpochHeader): string {
  const { provider, model, reasoningEffort, temperature, maxTokens, stop } = config
  const flags = [adapterDefaults?.reasoningEffort, adapterDefaults?.maxTokens]
  return JSON.stringify([
    provider,
    model,
    reasoningEffort,
    temperature,
    maxTokens,
    stop,
    flags,
    tools?.map(tool => JSON.stringify(tool)) ?? [],
  ])
}

/** What decides whether a header event is due. */
export type HeaderSituation = {
  /** The latest logged header, or null. */
  readonly logged: EpochHeader | null
  /** No header has been logged since this session was opened. */
  readonly firstSinceOpen: boolean
  /** A new message series begins, or the surface content moved since the last request. */
  readonly startsSeries: boolean
}

/** The header event due before a request with `header` (canonical), or null when the logged one still holds. */
export function planHeaderEvent(header: EpochHeader, situation: HeaderSituation): EventData['request/header'] | null {
  const { logged, firstSinceOpen, startsSeries } = situation
  if (logged === null) return { header, reason: 'initial' }
  if (firstSinceOpen) return { header, reason: 'resume' }
  if (!equalHeaders(header, logged)) return { header, reason: 'change', ...(startsSeries ? { startsSeries } : {}) }
  return startsSeries ? { header, reason: 'series' } : null
}

export type RequestState = {
  /** The latest `request/header` event, or null. */
  readonly header: EventOf<'request/header'> | null
  /** The latest `request/context` payload, or null. */
  readonly context: EventData['request/context'] | null
}

/** The latest header and context: full snapshots, the last one wins. */
export const requestFold: Fold<RequestState> = {
  key: 'request',
  version: 1,
  initial: () => ({ header: null, context: null }),
  evolve(state, { event }) {
    if (event.type === 'request/header') return { ...state, header: event }
    if (event.type === 'request/context') return { ...state, context: event.data }
    return state
  },
  toJSON: state => state,
  fromJSON: json => json as unknown as RequestState,
}

/** True when `context` has to be logged: one of its four fields differs from the latest one. */
export function contextChanged(
  context: EventData['request/context'],
  logged: EventData['request/context'] | null,
): boolean {
  return (
    logged === null ||
    context.provider !== logged.provider ||
    context.model !== logged.model ||
    context.contextWindow !== logged.contextWindow ||
    context.systemPromptUpdate !== logged.systemPromptUpdate
  )
}
