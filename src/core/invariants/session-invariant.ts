/** How turns, steps and tool calls follow each other (SPEC I2–I4). */
import type { EventData } from '../events.ts'
import type { Invariant } from '../invariant.ts'
import { type TurnsState, turnsFold } from '../turns.ts'
import { expected } from './payload.ts'
import { openStepProblem, openTurnProblem } from './place.ts'

/** How turns and steps follow each other; which calls wait for an answer is left out. */
export const turnInvariant: Invariant = {
  key: 'session',
  problem({ event }, log) {
    const turns = log.fold(turnsFold)
    const { openTurn, openStep, lastTurn, lastStep } = turns
    switch (event.type) {
      case 'turn/start':
        return closedProblem('turn', openTurn) ?? numberProblem('turn', lastTurn + 1, event.data.turn)
      case 'turn/end':
        return openTurnProblem(turns, event.data.turn) ?? closedProblem('step', openStep)
      case 'step/start':
        return (
          openTurnProblem(turns, event.data.turn) ??
          closedProblem('step', openStep) ??
          numberProblem('step', lastStep + 1, event.data.step)
        )
      case 'step/end':
      case 'system/message':
      case 'assistant/message':
      case 'assistant/attempt':
      case 'tool/call':
        return openStepProblem(turns, event.data)
      case 'tool/result':
        // A rewrite names the step of the result it rewrites, which may be long over.
        return event.surfaceOp === 'append' ? openStepProblem(turns, event.data) : openTurnProblem(turns, openTurn)
      case 'request/header':
      case 'request/context':
        return openTurnProblem(turns, openTurn)
      default:
        return null
    }
  },
}

export const sessionInvariant: Invariant = {
  key: 'session',
  problem(committed, log) {
    const { event } = committed
    const problem = turnInvariant.problem(committed, log)
    if (problem !== null || event.type !== 'tool/result' || event.surfaceOp !== 'append') return problem
    return answerProblem(log.fold(turnsFold), event.data)
  },
}

const closedProblem = (what: string, open: number | null): string | null =>
  open === null ? null : `expected no open ${what}, found ${what} ${open}`

const numberProblem = (what: string, next: number, found: number): string | null =>
  found === next ? null : expected(`${what} ${next}`, found)

/** Calls of earlier steps are not open any more, so an open one is of the step the result names. */
function answerProblem(turns: TurnsState, { message, error }: EventData['tool/result']): string | null {
  const { callId } = message.source
  if (error?.code === 'TOOL_NOT_STARTED' || turns.unaskedCalls.includes(callId)) return null
  const isStarted = turns.pendingCalls.some(call => call.callId === callId && call.callSeq !== null)
  return isStarted ? null : expected('the id of a call that was started and not answered', callId)
}
