/**
 * Rules between events that a stored log keeps beyond the invariants of a live session (SPEC F9): every call answered,
 * every call asked for, and the order of the events of plugins.
 */
import type { EventData, EventOf, ToolCallBlock } from '../core/events.ts'
import type { Fold } from '../core/fold.ts'
import type { Invariant, LogView } from '../core/invariant.ts'
import { expected, type Fields, fieldsOf } from '../core/invariants/payload.ts'
import { openStepProblem } from '../core/invariants/place.ts'
import type { JsonValue } from '../core/json.ts'
import { type PendingCall, type TurnsState, turnsFold } from '../core/turns.ts'
import {
  citedProblem,
  commandDoneProblem,
  commandRunProblem,
  commandsFold,
  deliveryProblem,
  nestedEndProblem,
  nestedFold,
  nestedStartProblem,
  type Provenance,
  quoted,
  titleProblem,
} from './plugin-relations.ts'

export type { Provenance } from './plugin-relations.ts'

// ── Calls and their answers ─────────────────────────────────────────────────────────────────────────────────────────

/**
 * Each call a message asks for, and each that was started, is answered once and before its step ends. A live session may
 * leave one open, and what is sent is healed (SPEC A3): a log that only breaks this rule can be read.
 */
export const pairInvariant: Invariant = {
  key: 'pair',
  problem({ event }, log) {
    const turns = log.fold(turnsFold)
    switch (event.type) {
      case 'step/end':
      case 'turn/end':
        return unansweredProblem(turns)
      case 'tool/result': {
        // Where it stands outside its step that is what is wrong with it.
        if (event.surfaceOp !== 'append' || openStepProblem(turns, event.data) !== null) return null
        const { callId } = event.data.message.source
        return pendingCall(turns, callId) === undefined
          ? expected('the id of a call that a message asks for and nothing has answered', callId)
          : null
      }
      default:
        return null
    }
  },
}

const pendingCall = ({ pendingCalls }: TurnsState, callId: string): PendingCall | undefined =>
  pendingCalls.find(call => call.callId === callId)

function unansweredProblem({ pendingCalls, unaskedCalls }: TurnsState): string | null {
  const open = [...pendingCalls.map(call => call.callId), ...unaskedCalls]
  const [first] = open
  if (first === undefined) return null
  const more = open.length === 1 ? '' : ` and ${open.length - 1} more`
  return `expected every call to be answered, found ${quoted(first)}${more} open`
}

const NO_BLOCKS: readonly ToolCallBlock[] = Object.freeze([])

/** The calls that messages of the open step ask for, in order, answered ones too. */
export const askedFold: Fold<readonly ToolCallBlock[]> = {
  key: 'asked-calls',
  version: 1,
  on: ['turn/start', 'turn/end', 'step/start', 'step/end', 'assistant/message'],
  initial: () => NO_BLOCKS,
  evolve(asked, { event }) {
    if (event.type !== 'assistant/message') return NO_BLOCKS
    const blocks = callsOf(event.data)
    return blocks.length === 0 ? asked : [...asked, ...blocks]
  },
  toJSON: asked => asked,
  fromJSON(json: JsonValue) {
    if (!Array.isArray(json)) throw new TypeError('no list of calls')
    return json as readonly ToolCallBlock[]
  },
}

const callsOf = ({ message }: EventData['assistant/message']): readonly ToolCallBlock[] =>
  message.content.filter(block => block.type === 'tool-call')

/** An id is asked for again only when it has been answered. */
function askingProblem(data: EventData['assistant/message'], log: LogView): string | null {
  const turns = log.fold(turnsFold)
  const seen = new Set<string>()
  for (const { id } of callsOf(data)) {
    if (seen.has(id) || pendingCall(turns, id) !== undefined) {
      return `expected each call to be asked for once, found ${quoted(id)} again`
    }
    seen.add(id)
  }
  return null
}

/** What is started is what a message of the step asks for. */
function startedProblem(data: EventData['tool/call'], log: LogView): string | null {
  const turns = log.fold(turnsFold)
  if (openStepProblem(turns, data) !== null) return null
  const { callId } = data
  const call = pendingCall(turns, callId)
  if (call === undefined) return expected('the id of a call that a message of this step asks for', callId)
  if (call.callSeq !== null)
    return `expected call ${quoted(callId)} to be started once, found it at seq ${call.callSeq}`
  const asked = log.fold(askedFold).findLast(block => block.id === callId)
  const wrong = asked && (['name', 'arguments'] as const).find(key => asked[key] !== data[key])
  return wrong === undefined ? null : `expected the ${wrong} that the message asks for, found another`
}

/** Of a call that was not started nobody knows more than repair does. */
function unstartedProblem({ data, sourceEventSeqs }: EventOf<'tool/result'>, log: LogView): string | null {
  const { message, error } = data
  const { callId } = message.source
  const call = pendingCall(log.fold(turnsFold), callId)
  if (call === undefined || call.callSeq !== null) return null
  const [{ content, isError }] = message.content
  const isRepair =
    error?.name === 'ToolNotStartedError' &&
    error.code === 'TOOL_NOT_STARTED' &&
    sourceEventSeqs === undefined &&
    isRepairId(message.id, callId) &&
    isError === true &&
    content.length === 1 &&
    content[0]?.type === 'text'
  if (isRepair) return null
  return `expected call ${quoted(callId)}, which was not started, to be answered as repair does, found another result`
}

/** `interrupted-tool-result-<call>-<number>` */
function isRepairId(id: string, callId: string): boolean {
  const prefix = `interrupted-tool-result-${callId}-`
  return id.startsWith(prefix) && /^(0|[1-9]\d*)$/.test(id.slice(prefix.length))
}

// ── The system head ─────────────────────────────────────────────────────────────────────────────────────────────────

/** A prompt stands on the surface only as its head, or where there is one. */
function systemProblem(log: LogView): string | null {
  const [head] = log.nodes
  if (head === undefined || isSystemNode(head, log)) return null
  return `expected the surface to be empty or to begin with a system/message, found ${log.eventAt(head)?.type ?? 'none'} at seq ${head}`
}

const isSystemNode = (seq: LogView['nodes'][number], log: LogView): boolean =>
  log.eventAt(seq)?.type === 'system/message'

/** What is taken off the surface is not its head. */
function headProblem({ shadowedSeqs }: Fields, log: LogView): string | null {
  const [head] = log.nodes
  if (head === undefined || !Array.isArray(shadowedSeqs) || !shadowedSeqs.includes(head)) return null
  return isSystemNode(head, log) ? `expected shadowedSeqs without the system head, found ${head}` : null
}

// ── All of them ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** The rules a stored log of one session keeps, besides its calls being answered. */
export function relationInvariant(provenance: Provenance): Invariant {
  return {
    key: 'relation',
    folds: [askedFold, commandsFold, nestedFold],
    problem({ event }, log) {
      const { seq } = event
      switch (event.type) {
        case 'system/message':
          return systemProblem(log)
        case 'assistant/message':
          return askingProblem(event.data, log)
        case 'tool/call':
          return startedProblem(event.data, log)
        case 'tool/result':
          return event.surfaceOp === 'append' ? unstartedProblem(event, log) : null
        case 'compaction/summary':
        case 'compaction/prune':
          return headProblem(fieldsOf(event.data), log)
        case 'command/run':
          return commandRunProblem(fieldsOf(event.data), log)
        case 'command/done':
          return commandDoneProblem(fieldsOf(event.data), { seq, log })
        case 'session/title':
          return titleProblem(fieldsOf(event.data), { seq, log })
        case 'session/title-llm-request':
          return citedProblem(fieldsOf(event.data)['messageSeqs'], { seq, log })
        case 'tool/ptc-dispatch-start':
          return nestedStartProblem(fieldsOf(event.data), log)
        case 'tool/ptc-dispatch':
          return nestedEndProblem(fieldsOf(event.data), log)
        case 'session-log-deepseek/delivery-accepted':
          return deliveryProblem(event, provenance)
        default:
          return null
      }
    },
  }
}
