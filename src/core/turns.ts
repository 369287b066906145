/**
 * Which turn and step are open, and which tool calls wait for an answer: one fold, asked by the loop, by repair and by
 * every rule about turns (SPEC T1).
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
  /** Highest turn number so far; 0 before the first turn. */
  readonly lastTurn: number
  /** Number of the last step of the current or last turn; 0 before its first. */
  readonly lastStep: number
  /** Unanswered calls of the open step, in the order the model asked for them. */
  readonly pendingCalls: readonly PendingCall[]
}

const NO_CALLS: readonly PendingCall[] = Object.freeze([])

function turnsState(
  openTurn: number | null,
  openStep: number | null,
  lastTurn: number,
  lastStep: number,
  pendingCalls: readonly PendingCall[],
): TurnsState {
  return { openTurn, openStep, lastTurn, lastStep, pendingCalls }
}

function withCalls(state: TurnsState, pendingCalls: readonly PendingCall[]): TurnsState {
  return turnsState(state.openTurn, state.openStep, state.lastTurn, state.lastStep, pendingCalls)
}

/** The turn state after `event`; the same object when the event is not about turns. */
export function evolveTurns(state: TurnsState, event: SessionEvent): TurnsState {
  switch (event.type) {
    case 'turn/start': {
      const { turn } = event.data
      return turnsState(turn, null, turn, 0, NO_CALLS)
    }
    case 'turn/end':
      return turnsState(null, null, state.lastTurn, state.lastStep, NO_CALLS)
    case 'step/start':
      return turnsState(state.openTurn, event.data.step, state.lastTurn, event.data.step, state.pendingCalls)
    case 'step/end':
      return turnsState(state.openTurn, null, state.lastTurn, state.lastStep, NO_CALLS)
    case 'assistant/message': {
      let { pendingCalls } = state
      for (const block of event.data.message.content) {
        if (block.type !== 'tool-call') continue
        const call: PendingCall = { callId: block.id, name: block.name, step: event.data.step, callSeq: null }
        const known = pendingCalls.findIndex(each => each.callId === block.id)
        pendingCalls = known === -1 ? [...pendingCalls, call] : pendingCalls.with(known, call)
      }
      return pendingCalls === state.pendingCalls ? state : withCalls(state, pendingCalls)
    }
    case 'tool/call': {
      const known = state.pendingCalls.findIndex(each => each.callId === event.data.callId)
      const call = state.pendingCalls[known]
      if (call === undefined) return state
      return withCalls(state, state.pendingCalls.with(known, { ...call, callSeq: event.seq }))
    }
    case 'tool/result': {
      const { callId } = event.data.message.source
      if (event.surfaceOp !== 'append' || !state.pendingCalls.some(each => each.callId === callId)) return state
      return withCalls(
        state,
        state.pendingCalls.filter(each => each.callId !== callId),
      )
    }
    default:
      return state
  }
}

export const turnsFold: Fold<TurnsState> = {
  key: 'turns',
  version: 1,
  initial: () => turnsState(null, null, 0, 0, NO_CALLS),
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
