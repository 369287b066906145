/** The end of a turn: a quiet line with what can be done from here. Its room is there before, so that nothing moves. */
import type { TranscriptTurn } from 'palimpsest/views'
import { type FC, memo, type ReactElement } from 'react'
import type { TurnActions } from './turn-actions.ts'

export type TurnEndProps = {
  readonly turn: TranscriptTurn
  readonly isLast: boolean
  readonly actions: TurnActions
}

export const TurnEnd: FC<TurnEndProps> = memo(function TurnEnd({ turn, isLast, actions }: TurnEndProps): ReactElement {
  const { endSeq, reason } = turn
  // A turn that failed says so in its own row, and offers it there.
  const canRepeat = isLast && reason !== null && reason.kind !== 'error'
  return (
    <div className={isLast ? 'turn-end latest' : 'turn-end'}>
      {endSeq !== null && (
        <>
          {canRepeat && (
            <button
              type="button"
              className="quiet small"
              title="Has this turn again, in a new branch; this one stays as it is"
              onClick={actions.again}
            >
              Try again
            </button>
          )}
          <button
            type="button"
            className="quiet small"
            title="Goes on from here in a new branch; this one stays as it is"
            aria-label={`Fork from here, after turn ${turn.turn}`}
            onClick={() => actions.fork(endSeq)}
          >
            Fork from here
          </button>
        </>
      )}
    </div>
  )
})
