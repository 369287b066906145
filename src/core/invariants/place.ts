/** Whether an event names the turn and step that are open. */
import type { TurnsState } from '../turns.ts'
import { expected } from './payload.ts'

export function openTurnProblem({ openTurn }: TurnsState, turn: unknown): string | null {
  if (openTurn === null) return 'expected an open turn, found none'
  return turn === openTurn ? null : expected(`turn ${openTurn}`, turn)
}

export function openStepProblem(
  turns: TurnsState,
  { turn, step }: { readonly turn?: unknown; readonly step?: unknown },
): string | null {
  const problem = openTurnProblem(turns, turn)
  if (problem !== null) return problem
  if (turns.openStep === null) return 'expected an open step, found none'
  return step === turns.openStep ? null : expected(`step ${turns.openStep}`, step)
}
