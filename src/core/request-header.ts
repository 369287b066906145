/** Everything of a request besides its messages: canonical form, equality, and when it is logged (SPEC H1–H4). */
import type { EpochHeader, EventData, EventOf } from './events.ts'
import type { Fold } from './fold.ts'

/** `header` with what a request has, and no empty tool list or empty adapter defaults. */
export function canonicalHeader({ config, adapterDefaults = {}, tools = [] }: EpochHeader): EpochHeader {
  const flags = present(adapterDefaults, ['reasoningEffort', 'maxTokens'])
  return {
    config: present(config, CONFIG_KEYS),
    ...(Object.values(flags).some(Boolean) ? { adapterDefaults: flags } : {}),
    ...(tools.length > 0 ? { tools } : {}),
  }
}

const CONFIG_KEYS = ['provider', 'model', 'reasoningEffort', 'temperature', 'maxTokens', 'stop'] as const

/** The members of these names that are there. */
function present<Fields extends object>(fields: Fields, keys: readonly (keyof Fields)[]): Fields {
  return Object.fromEntries(keys.filter(key => fields[key] !== undefined).map(key => [key, fields[key]])) as Fields
}

/** True when two headers make the same request. Absent and empty `stop` differ. */
export function equalHeaders(left: EpochHeader, right: EpochHeader): boolean {
  return headerText(left) === headerText(right)
}

/** True when two lists of tools are the same to a model: the same JSON, in order. */
export const equalTools = (left: EpochHeader['tools'] = [], right: EpochHeader['tools'] = []): boolean =>
  JSON.stringify(left) === JSON.stringify(right)

/** The parts that count, in a fixed order. */
function headerText({ config, adapterDefaults = {}, tools = [] }: EpochHeader): string {
  return JSON.stringify([
    CONFIG_KEYS.map(key => config[key]),
    adapterDefaults.reasoningEffort === true,
    adapterDefaults.maxTokens === true,
    tools,
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
  on: ['request/header', 'request/context'],
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
