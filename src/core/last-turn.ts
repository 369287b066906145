/** How the last turn ended: whether there is something to go on with. */
import { defineEvent, type EventDefinition } from './event-definition.ts'
import type { SessionEvent, TurnEndReason } from './events.ts'
import type { Fold } from './fold.ts'

/** `palimpsest/turn/resumed`: calls of the open turn that were cut off run again from here. */
export const turnResumed: EventDefinition<{ readonly turn: number }> = defineEvent('palimpsest/turn/resumed', {
  ignorable: true,
})

export type LastTurn = {
  /** Null before the end of the first turn, and while one is open. */
  readonly ended: TurnEndReason['kind'] | null
  /**
   * How often in a row, up to now, a turn was cut off, and closed or gone on with: what goes on by itself stops at some.
   */
  readonly interruptions: number
}

const NO_TURN: LastTurn = Object.freeze({ ended: null, interruptions: 0 })

export const lastTurnFold: Fold<LastTurn> = {
  key: 'last-turn',
  version: 1,
  on: ['turn/start', 'turn/end', 'session/end-seed', turnResumed.type],
  initial: () => NO_TURN,
  evolve: (state, { event }) => evolveLastTurn(state, event),
  toJSON: state => state,
  fromJSON: json => json as unknown as LastTurn,
}

function evolveLastTurn(state: LastTurn, event: SessionEvent): LastTurn {
  if (event.type === 'turn/start') return { ...state, ended: null }
  if ((event.type as string) === turnResumed.type) return { ...state, interruptions: state.interruptions + 1 }
  // What another session left unfinished is that session's to finish.
  if (event.type === 'session/end-seed') return event.data.inherited === true ? NO_TURN : state
  if (event.type !== 'turn/end') return state
  const { kind } = event.data.reason
  return { ended: kind, interruptions: kind === 'interrupted' ? state.interruptions + 1 : 0 }
}
