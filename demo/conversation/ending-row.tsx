/** How a turn ended, when it did not end well, with what to do next. */
import type { TranscriptTurn } from 'palimpsest/views'
import { type FC, memo, type ReactElement } from 'react'
import { endingWords } from '../app/words.ts'
import { contentText } from './content.ts'
import { Seq, useLit } from '../app/seq.tsx'

/** What a person can do about a failed turn. */
export type EndingActions = {
  readonly tryAgain: (prompt: string) => void
  /** Has the model read a shortened version of the longest message. */
  readonly shorten: () => void
}

/** A prompt this long is what makes a conversation too long. */
const LONG_PROMPT = 4_000

export type EndingRowProps = {
  readonly turn: TranscriptTurn
  /** Only the latest turn offers something to do. */
  readonly isLast: boolean
  readonly actions: EndingActions
}

/** Nothing for a turn that ended well. */
export const EndingRow: FC<EndingRowProps> = memo(function EndingRow({
  turn,
  isLast,
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
      {isError && <p className="detail">{`${reason.error.message} · ${reason.error.code}`}</p>}
      {isError && isLast && <Offers turn={turn} code={reason.error.code} actions={actions} />}
    </div>
  )
})

type OffersProps = { readonly turn: TranscriptTurn; readonly code: string; readonly actions: EndingActions }

function Offers({ turn, code, actions }: OffersProps): ReactElement | null {
  const prompt = promptOf(turn)
  if (prompt === null) return null
  if (prompt.isReplaced) return <p className="detail">The model reads a shortened version of it now.</p>
  const { text } = prompt
  return (
    <div className="actions">
      {code === 'CONTEXT_WINDOW_EXCEEDED' && text.length > LONG_PROMPT && (
        <button type="button" onClick={actions.shorten}>
          Let the model read a shortened version
        </button>
      )}
      <button type="button" onClick={() => actions.tryAgain(text)}>
        Try again
      </button>
    </div>
  )
}

/** What the person asked for in a turn. */
function promptOf({ items }: TranscriptTurn): { readonly text: string; readonly isReplaced: boolean } | null {
  for (const item of items) {
    if (item.kind !== 'user' || item.message.source.kind !== 'user') continue
    return { text: contentText(item.message.content), isReplaced: item.replacedBy !== null }
  }
  return null
}
