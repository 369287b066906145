/** The payloads of plugins. Compiled by `tsc`, never run. */
import { expectTypeOf, test } from 'vitest'
import type { CompactionSummary, PluginEventData, RetryPlan } from './plugin-events.ts'

/** The list of the format. */
type Known =
  | 'agent/inbox/spliced'
  | 'agent-preset/selected'
  | `approval/${'asked' | 'decided' | 'policy'}`
  | `command/${'run' | 'done'}`
  | `compaction/${'start' | 'summary' | 'end' | 'prune'}`
  | 'image/offload'
  | `llm/${'retry' | 'retry-started'}`
  | 'model/selection'
  | 'permission/preset'
  | 'plan/mode'
  | 'sandbox/mode'
  | 'schedule/change'
  | 'goal/change'
  | `session/${'title' | 'title-llm-request'}`
  | 'session-log-deepseek/delivery-accepted'
  | `subagent/${'catalog' | 'descriptor' | 'model-selection-policy'}`
  | `team/${'member' | 'task' | 'message/queued' | 'message/delivered'}`
  | 'todo/write'
  | `tool-workflow/${'run-start' | 'run-end' | 'agent-start' | 'agent-end'}`
  | `tool/${'ptc-dispatch-start' | 'ptc-dispatch'}`
  | `hook/${'invoked' | 'result'}`
  | 'deliverables/presented'
  | `feedback/${'record' | 'message-put' | 'message-delete'}`
  | 'web/deepseek-search-llm-request'

declare const plan: RetryPlan
declare const summary: CompactionSummary

test('[F1] every known type has a payload, and no other', () => {
  expectTypeOf<keyof PluginEventData>().toEqualTypeOf<Known>()
})

test('[F1] a retry has a last one in normal mode only', () => {
  if (plan.mode === 'normal') expectTypeOf(plan.maxRetries).toEqualTypeOf<number>()
  else expectTypeOf(plan.maxRetries).toEqualTypeOf<undefined>()
})

test('[F1] the range of a compaction keeps its old names', () => {
  expectTypeOf<keyof CompactionSummary['shadowedRange']>().toEqualTypeOf<'start' | 'end'>()
  // @ts-expect-error the names of a surface operation
  void summary.shadowedRange.startSeq
})
