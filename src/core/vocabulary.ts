/** Which event types exist, as data. The types themselves are in `events.ts`. */
import type { CoreEventType, PluginEventType, SurfaceEventType } from './events.ts'

const surfaceTypes: Record<SurfaceEventType, true> = {
  'system/message': true,
  'user/message': true,
  'assistant/message': true,
  'tool/result': true,
}

const coreTypes: Record<CoreEventType, true> = {
  ...surfaceTypes,
  'turn/start': true,
  'turn/end': true,
  'step/start': true,
  'step/end': true,
  'assistant/attempt': true,
  'tool/call': true,
  'request/header': true,
  'request/context': true,
  'session/end-seed': true,
}

/**
 * Log-only types of known plugins: kept, required, not interpreted by the core (SPEC L6). `image/offload` is not among
 * them: it changes messages, and without its interpreter it has to be refused.
 */
export const pluginEventTypes: readonly PluginEventType[] = (
  'agent/inbox/spliced agent-preset/selected approval/asked approval/decided approval/policy command/run command/done compaction/start ' +
  'compaction/summary compaction/end compaction/prune llm/retry llm/retry-started model/selection permission/preset plan/mode ' +
  'sandbox/mode schedule/change goal/change session/title session/title-llm-request session-log-deepseek/delivery-accepted subagent/catalog subagent/descriptor ' +
  'subagent/model-selection-policy team/member team/task team/message/queued team/message/delivered todo/write tool-workflow/run-start tool-workflow/run-end ' +
  'tool-workflow/agent-start tool-workflow/agent-end tool/ptc-dispatch-start tool/ptc-dispatch hook/invoked hook/result deliverables/presented feedback/record ' +
  'feedback/message-put feedback/message-delete web/deepseek-search-llm-request'
).split(' ') as PluginEventType[]

const surfaceSet: ReadonlySet<string> = new Set(Object.keys(surfaceTypes))
const coreSet: ReadonlySet<string> = new Set(Object.keys(coreTypes))
const knownSet: ReadonlySet<string> = new Set([...coreSet, ...pluginEventTypes])

/** One of the four types that may stand on the surface. */
export const isSurfaceEventType = (type: string): type is SurfaceEventType => surfaceSet.has(type)
/** A type the core interprets. */
export const isCoreEventType = (type: string): type is CoreEventType => coreSet.has(type)
/** A type of the core or of a known plugin. */
export const isKnownEventType = (type: string): boolean => knownSet.has(type)
