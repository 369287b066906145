/** How a turn ended, when it did not end well, with what to do next. */
import type { TranscriptTurn } from 'palimpsest/views'
import { type FC, memo, type ReactElement } from 'react'
import { endingWords } from '../app/words.ts'
import { contentText } from './content.ts'
import type { TurnActions } from './turn-actions.ts'
import { counted } from '../app/format.ts'
import { Seq, useLit } from '../app/seq.tsx'

/** A prompt this long is what makes a conversation too long. */
const LONG_PROMPT = 4_000

export type EndingRowProps = {
  readonly turn: TranscriptTurn
  /** Only the latest turn offers something to do. */
  readonly isLast: boolean
  /** It was cut off, and the agent can go on with it. */
  readonly canGoOn: boolean
  readonly actions: TurnActions
}

/** Nothing for a turn that ended well. */
export const EndingRow: FC<EndingRowProps> = memo(function EndingRow({
  turn,
  isLast,
  canGoOn,
  actions,
}: EndingRowProps): ReactElement | null {
  const { reason, endSeq } = turn
  const lit = useLit(endSeq)
  const words = reason === null ? null : endingWords(reason)
  if (words === null || reason === null) return null
  const isError = reason.kind === 'error'
  return (
    <div className={`ending ${isError ? 'error' : 'note'}`} {...lit}>
      <p className="what">
        <strong>{words.what}</strong> {words.hint} {endSeq !== null && <Seq seq={endSeq} of="Turn end" />}
      </p>
      {isError && <p className="detail">{`${reason.error.message} · ${reason.error.code}${triesOf(turn)}`}</p>}
      {isError && isLast && <Offers turn={turn} code={reason.error.code} actions={actions} />}
      {canGoOn && isLast && (
        <div className="actions">
          <button type="button" onClick={actions.goOn}>
            Continue
          </button>
          <span className="about">Goes on from where it stopped. Or send something else.</span>
        </div>
      )}
    </div>
  )
})

/** How often its last step was tried again, when it was. */
function triesOf({ items }: TranscriptTurn): string {
  let tries = 0
  for (const item of items) {
    if (item.kind === 'answer') tries = 0
    else if (item.kind === 'retry' && item.state === 'started') tries += 1
  }
  return tries === 0 ? '' : ` · tried again ${counted(tries, 'time')}`
}

type OffersProps = { readonly turn: TranscriptTurn; readonly code: string; readonly actions: TurnActions }

function Offers({ turn, code, actions }: OffersProps): ReactElement | null {
  const prompt = promptOf(turn)
  // It could not even begin: there is nothing to have again.
  if (prompt === null) return null
  if (prompt.isReplaced) return <p className="detail">The model reads a shortened version of it now.</p>
  const isTooLong = code === 'CONTEXT_WINDOW_EXCEEDED' && prompt.length > LONG_PROMPT
  return (
    <div className="actions">
      {isTooLong && (
        <button type="button" onClick={actions.shorten}>
          Let the model read a shortened version
        </button>
      )}
      <button type="button" onClick={actions.again}>
        Try again
      </button>
      <span className="about">Trying again makes a new branch; this one stays as it is.</span>
    </div>
  )
}

/** What a turn began with. */
function promptOf({ items }: TranscriptTurn): { readonly length: number; readonly isReplaced: boolean } | null {
  for (const item of items) {
    if (item.kind !== 'user') continue
    return { length: contentText(item.message.content).length, isReplaced: item.replacedBy !== null }
  }
  return null
}
