/**
 * Which turn and step are open, and which tool calls wait for an answer: one fold, asked by the loop, by repair, by forks
 * and by every rule about turns (SPEC T1).
 */
import type { SessionEvent } from './events.ts'
import type { Fold } from './fold.ts'
import type { CallId, SessionSeq } from './ids.ts'

/** A tool call the model asked for and nothing has answered yet. */
export type PendingCall = {
  readonly callId: CallId
  readonly name: string
  readonly step: number
  /** Seq of its `tool/call`; null while it has not been started. */
  readonly callSeq: SessionSeq | null
}

export type TurnsState = {
  /** Number of the open turn, or null between turns. */
  readonly openTurn: number | null
  readonly openStep: number | null
  /** Number of the latest turn; 0 before the first one. */
  readonly lastTurn: number
  /** Number of the last step of the current or last turn; 0 before its first. */
  readonly lastStep: number
  /** Unanswered calls of the open step, in the order the model asked for them. */
  readonly pendingCalls: readonly PendingCall[]
  /** Unanswered calls of the open step that were started though no message asks for them. */
  readonly unaskedCalls: readonly CallId[]
}

const NO_CALLS: readonly PendingCall[] = Object.freeze([])
const NO_IDS: readonly CallId[] = Object.freeze([])

function turnsState(
  openTurn: number | null,
  openStep: number | null,
  lastTurn: number,
  lastStep: number,
  pendingCalls: readonly PendingCall[] = NO_CALLS,
  unaskedCalls: readonly CallId[] = NO_IDS,
): TurnsState {
  return { openTurn, openStep, lastTurn, lastStep, pendingCalls, unaskedCalls }
}

/** The same turn and step with other calls. */
function withCalls(
  state: TurnsState,
  pendingCalls: readonly PendingCall[],
  unaskedCalls = state.unaskedCalls,
): TurnsState {
  return turnsState(state.openTurn, state.openStep, state.lastTurn, state.lastStep, pendingCalls, unaskedCalls)
}

/** The turn state after `event`; the same object when the event is not about turns. */
export function evolveTurns(state: TurnsState, event: SessionEvent): TurnsState {
  const { openTurn, lastTurn, lastStep, pendingCalls, unaskedCalls } = state
  switch (event.type) {
    case 'turn/start':
      return turnsState(event.data.turn, null, event.data.turn, 0)
    case 'turn/end':
      return turnsState(null, null, lastTurn, lastStep)
    case 'step/start':
      return turnsState(openTurn, event.data.step, lastTurn, event.data.step, pendingCalls, unaskedCalls)
    case 'step/end':
      return turnsState(openTurn, null, lastTurn, lastStep)
    case 'assistant/message': {
      let calls = pendingCalls
      for (const block of event.data.message.content) {
        if (block.type !== 'tool-call') continue
        const known = positionOf(calls, block.id)
        // Asked for again it stays started: nobody may be told that it did not run.
        const callSeq = calls[known]?.callSeq ?? null
        const call: PendingCall = { callId: block.id, name: block.name, step: event.data.step, callSeq }
        calls = known === -1 ? [...calls, call] : calls.with(known, call)
      }
      return calls === pendingCalls ? state : withCalls(state, calls)
    }
    case 'tool/call': {
      const { callId } = event.data
      const known = positionOf(pendingCalls, callId)
      const call = pendingCalls[known]
      if (call !== undefined) return withCalls(state, pendingCalls.with(known, { ...call, callSeq: event.seq }))
      return unaskedCalls.includes(callId) ? state : withCalls(state, pendingCalls, [...unaskedCalls, callId])
    }
    case 'tool/result': {
      const { callId } = event.data.message.source
      if (event.surfaceOp !== 'append') return state
      const isOpen = positionOf(pendingCalls, callId) !== -1 || unaskedCalls.includes(callId)
      if (!isOpen) return state
      return withCalls(
        state,
        pendingCalls.filter(call => call.callId !== callId),
        unaskedCalls.length === 0 ? unaskedCalls : unaskedCalls.filter(id => id !== callId),
      )
    }
    default:
      return state
  }
}

/** A loop, which is cheaper than a function for each call: every answer and every call of every log comes by here. */
function positionOf(calls: readonly PendingCall[], callId: CallId): number {
  for (let index = 0; index < calls.length; index += 1) if (calls[index]?.callId === callId) return index
  return -1
}

export const turnsFold: Fold<TurnsState> = {
  key: 'turns',
  version: 1,
  on: ['turn/start', 'turn/end', 'step/start', 'step/end', 'assistant/message', 'tool/call', 'tool/result'],
  initial: () => turnsState(null, null, 0, 0),
  evolve: (state, { event }) => evolveTurns(state, event),
  toJSON: state => state,
  fromJSON: json => json as unknown as TurnsState,
}

/** The turn state of a whole log. */
export function foldTurns(events: Iterable<SessionEvent>): TurnsState {
  let state = turnsFold.initial()
  for (const event of events) state = evolveTurns(state, event)
  return state
}
