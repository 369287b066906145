/** What a person can do about a turn, its prompt, its calls and its end. */
import type { ApprovalAnswer } from 'palimpsest'

export type TurnActions = {
  /** Says whether a call may run. Resolves once that is in the transcript. */
  readonly approve: (callId: string, answer: ApprovalAnswer) => Promise<void>
  /** Says the prompt at `seq` otherwise, in a branch, and goes there. */
  readonly edit: (seq: number, text: string) => Promise<void>
  /** Has the last turn again, in a branch, and goes there. What goes wrong is said. */
  readonly again: () => void
  /** Goes on from the end of a turn, in a branch. What goes wrong is said. */
  readonly fork: (endSeq: number) => void
  /** Goes on where the last turn was cut off. */
  readonly goOn: () => void
  /** Has the model read a shortened version of the longest message. */
  readonly shorten: () => void
}
