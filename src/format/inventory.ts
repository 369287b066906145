/**
 * The closed inventory of the old formats (SPEC F6): which event types versions 0, 1 and 2 have, and which members their
 * payloads have. Nothing else is admitted, neither at the top nor in messages, usage and failures. Where the format gives
 * no more than a name, any value passes.
 */
import {
  anyMessage,
  array,
  assistantMessage,
  blocks,
  boolean,
  type Check,
  count,
  countOrNull,
  exact,
  failure,
  listOf,
  type Members,
  number,
  oneOf,
  opaque,
  record,
  string,
  text,
  toolResultMessage,
  usage,
  userMessage,
  variants,
} from './inventory-shapes.ts'
import type { StoredEvent } from './stored.ts'

export type InventoryVersion = 0 | 1 | 2

/** Why an event is not in the inventory of its version. */
export type InventoryProblem = {
  readonly code: 'unknown-type' | 'payload'
  /** The end of a sentence that begins with the event. */
  readonly what: string
  /** Where in the payload, such as `$.message.id`. */
  readonly path?: string
}

// ── Parts of payloads ───────────────────────────────────────────────────────────────────────────────────────────────

const place: Members = { turn: count, step: count }
const compaction: Members = { compactionId: text, 'sourceCommandId?': text }
const shadowed: Members = {
  shadowedRange: exact({ start: count, end: count }),
  shadowedSeqs: listOf(count),
  shadowedTokenCount: count,
}
const nestedCall: Members = { rootCallId: text, parentCallId: text, subCallId: text, name: text, arguments: opaque }
const team: Members = { version: count, teamId: text }
const hook: Members = { turn: count, point: text, handlerId: text }
const retry: Members = {
  retryId: text,
  ...place,
  provider: text,
  mode: opaque,
  policyKey: text,
  retry: count,
  delayMs: number,
  failure,
}
const answer: Members = { ...place, message: assistantMessage, 'usage?': usage, 'interrupted?': oneOf(true) }
const delivery: Members = { sessionId: text, throughSeq: count }

const bare = exact({ kind: opaque })
const cancelCause = variants(
  'kind',
  { user: bare, parent: bare, hook: exact({ kind: opaque, reason: string }), disposed: bare, legacy: bare },
  'closed',
)
const turnEnd = variants(
  'kind',
  {
    completed: bare,
    aborted: exact({ kind: opaque, reason: cancelCause }),
    blocked: bare,
    error: exact({ kind: opaque, error: failure }),
    'max-tokens': bare,
    interrupted: bare,
  },
  'open',
)

const requestHeader = exact({
  config: exact({
    provider: text,
    model: text,
    'reasoningEffort?': text,
    'temperature?': number,
    'maxTokens?': count,
    'stop?': listOf(string),
  }),
  'adapterDefaults?': exact({ 'reasoningEffort?': oneOf(true), 'maxTokens?': oneOf(true) }),
  'tools?': array,
  'system?': string,
})

// ── Payloads ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What all three versions have. */
const payloads: { readonly [type: string]: Members | Check } = {
  'agent-preset/selected': { agentPreset: string },
  'agent/inbox/spliced': {
    target: oneOf('next-turn', 'next-step'),
    start: count,
    inserted: listOf(userMessage),
    'removedCount?': count,
    'outcome?': oneOf('canceled'),
  },
  'approval/asked': { id: text, toolName: text, 'callId?': text, 'reason?': string },
  'approval/decided': { id: text, outcome: oneOf('allowed-once', 'rejected', 'cancelled', 'unavailable') },
  'approval/policy': { policy: oneOf('ask', 'never'), 'source?': oneOf('delegation') },
  'command/run': { commandId: text, name: text, source: opaque, 'args?': opaque },
  'command/done': {
    commandId: text,
    kind: oneOf('success', 'error'),
    'text?': string,
    'sourceEventSeq?': count,
  },
  'compaction/start': { ...compaction, turn: countOrNull },
  'compaction/end': { ...compaction, turn: countOrNull, 'error?': string },
  'compaction/prune': shadowed,
  'compaction/summary': {
    ...compaction,
    summary: blocks,
    ...shadowed,
    provider: text,
    model: text,
    'maxTokens?': count,
    'usage?': usage,
    'rawOutput?': blocks,
    'llmStreamCall?': opaque,
  },
  'feedback/record': { text: string },
  'goal/change': {
    kind: text,
    version: count,
    operation: text,
    'goal?': opaque,
    'roundsStarted?': count,
    'createdAt?': opaque,
    'updatedAt?': opaque,
    'cleared?': opaque,
    'clearedAt?': opaque,
  },
  'hook/invoked': { ...hook, dialect: text, 'matcher?': opaque },
  'hook/result': { ...hook, decision: opaque, durationMs: number, 'exitCode?': number, 'stderrSummary?': string },
  'llm/retry': variants('mode', { normal: exact({ ...retry, maxRetries: count }), always: exact(retry) }, 'closed'),
  'llm/retry-started': { retryId: text, ...place, retry: count },
  'model/selection': { provider: text, model: text, 'reasoningEffort?': text },
  'permission/preset': { preset: text },
  'plan/mode': { active: boolean },
  'request/context': { provider: text, model: text, 'contextWindow?': count },
  'request/header': {
    header: requestHeader,
    reason: oneOf('initial', 'resume', 'change', 'series'),
    'startsSeries?': oneOf(true),
  },
  'sandbox/mode': { mode: text, 'source?': opaque },
  'schedule/change': { version: count, operation: text, 'schedule?': opaque, 'id?': text, 'acceptedAt?': opaque },
  'session/title': { title: string, messageSeqs: listOf(count), source: opaque },
  'session/title-llm-request': {
    titleProvider: text,
    messageSeqs: listOf(count),
    route: opaque,
    system: opaque,
    messages: listOf(anyMessage),
    maxTokens: count,
  },
  'step/start': place,
  'step/end': place,
  'subagent/descriptor': {
    mode: text,
    version: count,
    provider: text,
    'label?': string,
    'agentProvider?': string,
    'agentModel?': string,
    'agentReasoningEffort?': string,
    'persona?': opaque,
    'toolFilter?': opaque,
  },
  'subagent/model-selection-policy': { allowedModels: array },
  'team/member': { ...team, member: opaque },
  'team/message/queued': { ...team, message: opaque },
  'team/message/delivered': { ...team, messageId: text, targetId: text },
  'team/task': { ...team, task: opaque },
  'todo/write': { todos: array },
  'tool-workflow/run-start': { runId: text, name: text },
  'tool-workflow/run-end': { runId: text, stopReason: opaque },
  'tool-workflow/agent-start': { runId: text, seq: count, label: string, childId: text, 'phase?': opaque },
  'tool-workflow/agent-end': { runId: text, seq: count, outcome: opaque },
  'tool/call': { ...place, callId: text, name: string, arguments: string },
  'tool/code-dispatch-start': nestedCall,
  'tool/code-dispatch': { ...nestedCall, isError: boolean, content: blocks },
  'tool/result': {
    ...place,
    message: toolResultMessage,
    'error?': exact({ name: string, code: string }),
    'meta?': opaque,
  },
  'turn/start': { turn: count },
  'turn/end': { turn: count, reason: turnEnd },
  'user/message': userMessage,
  'web/deepseek-search-llm-request': { endpoint: string, apiVersion: opaque, body: opaque },
}

/** What differs between the versions. */
const beforeStreams: typeof payloads = {
  'assistant/chunk': { ...place, chunk: record },
  'assistant/message': answer,
  'session/end-seed': {},
}
const versioned = { ...delivery, 'sessionFormatVersion?': count }
const inventories: readonly [Inventory, Inventory, Inventory] = [
  inventory({ ...beforeStreams, 'session-log-deepseek/delivery-accepted': delivery }),
  inventory({ ...beforeStreams, 'session-log-deepseek/delivery-accepted': versioned }),
  inventory({
    'assistant/attempt': { ...place, stream: array },
    'assistant/message': { ...answer, stream: array },
    'session/end-seed': { 'inherited?': oneOf(true) },
    'session-log-deepseek/delivery-accepted': versioned,
    // Version 2 never wrote these, but its logs may be carried on with them.
    'feedback/message-put': { sessionId: text, item: opaque },
    'feedback/message-delete': { sessionId: text, messageId: text },
  }),
]

type Inventory = ReadonlyMap<string, Check>

function inventory(own: typeof payloads): Inventory {
  const entries = Object.entries({ ...payloads, ...own })
  return new Map(entries.map(([type, payload]) => [type, typeof payload === 'function' ? payload : exact(payload)]))
}

/** Whether the version has the event type. */
export const isInventoryType = (type: string, version: InventoryVersion): boolean => inventories[version].has(type)

/** Why an event is none of its version, or null when it is one. */
export function inventoryProblem(
  { type, data }: Pick<StoredEvent, 'type' | 'data'>,
  version: InventoryVersion,
): InventoryProblem | null {
  const check = inventories[version].get(type)
  if (check === undefined) return { code: 'unknown-type', what: `is of a type that format ${version} does not have` }
  const problem = check(data)
  if (problem === null) return null
  const path = `$${problem[0]}`
  return { code: 'payload', what: `should have ${problem[1]} at ${path}`, path }
}
