/** Leaving a turn as it is, because its session is closed while it waits: it goes on when the session is opened again. */
import type { CancelCause } from '../core/events.ts'

/** Nothing more of the turn is to be logged. */
export class Suspended extends Error {
  override readonly name = 'Suspended'

  constructor() {
    super('The turn waits until its session is opened again')
  }
}

/** The session is being closed; everything else that stops a turn ends it. */
export const isDisposal = ({ aborted, reason }: AbortSignal): boolean =>
  aborted && (reason as CancelCause).kind === 'disposed'
