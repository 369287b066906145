/** Which event types exist, as data. The types themselves are in `events.ts`. */
import type { CoreEventType, KnownEventType, PluginEventType, SurfaceEventType } from './events.ts'

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

/** Log-only types of known plugins: required, kept, and read by who they belong to (SPEC L6). */
export const pluginEventTypes: readonly PluginEventType[] = (
  'agent/inbox/spliced agent-preset/selected approval/asked approval/decided approval/policy command/run command/done compaction/start ' +
  'compaction/summary compaction/end compaction/prune llm/retry llm/retry-started model/selection permission/preset plan/mode ' +
  'sandbox/mode schedule/change goal/change session/title session/title-llm-request session-log-deepseek/delivery-accepted subagent/catalog subagent/descriptor ' +
  'subagent/model-selection-policy team/member team/task team/message/queued team/message/delivered todo/write tool-workflow/run-start tool-workflow/run-end ' +
  'tool-workflow/agent-start tool-workflow/agent-end tool/ptc-dispatch-start tool/ptc-dispatch hook/invoked hook/result deliverables/presented feedback/record ' +
  'feedback/message-put feedback/message-delete web/deepseek-search-llm-request image/offload'
).split(' ') as PluginEventType[]

const surfaceSet: ReadonlySet<string> = new Set(Object.keys(surfaceTypes))
const coreSet: ReadonlySet<string> = new Set(Object.keys(coreTypes))
const knownSet: ReadonlySet<string> = new Set([...coreSet, ...pluginEventTypes])

/** One of the four types that may stand on the surface. */
export const isSurfaceEventType = (type: string): type is SurfaceEventType => surfaceSet.has(type)
/** A type the core interprets. */
export const isCoreEventType = (type: string): type is CoreEventType => coreSet.has(type)
/** A type of the core or of a known plugin. */
export const isKnownEventType = (type: string): type is KnownEventType => knownSet.has(type)
/** A known type that changes messages: without its interpreter it has to be refused (SPEC M2). */
export const isProjectingEventType = (type: string): boolean => type === 'image/offload'
