/** Why a file was not opened, and what can be done. */
import { type ReactElement, useEffect, useRef } from 'react'
import { errorFacts } from '../app/words.ts'
import { Visible } from '../text/visible-text.tsx'
import { clipped } from './clipped.ts'
import type { FileTask, ImportMode } from './import-queue.ts'
import { placeInWords, refusalWords } from './refusal-words.ts'

export type RefusalDialogProps = {
  readonly task: FileTask
  readonly error: unknown
  readonly retry: (mode: ImportMode) => void
  readonly dismiss: () => void
}

export function RefusalDialog({ task: { file, mode }, error, retry, dismiss }: RefusalDialogProps): ReactElement {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current
    // It is closed before it is taken away: so the focus goes back to where it was.
    if (dialog?.open === false) dialog.showModal()
  }, [])
  const { what, hint, next } = refusalWords(error, mode)
  const { code, message } = errorFacts(error)
  const { path, ...place } = placeOf(error)
  const facts = [placeInWords(place), path ?? '', code].filter(fact => fact !== '')
  return (
    <dialog
      ref={element}
      id="refusal"
      aria-labelledby="refusal-title"
      aria-describedby="refusal-what"
      onClose={({ currentTarget: { returnValue } }) => {
        if (returnValue === 'repair') retry('recoverable')
        else if (returnValue === 'again') retry(mode)
        else dismiss()
      }}
    >
      <form method="dialog">
        <div className="dialog-head">
          <h2 id="refusal-title">{mode === 'strict' ? 'Not opened' : 'Not opened, with repairs either'}</h2>
          <button className="quiet">Close</button>
        </div>
        <p className="refused-name">
          <Visible text={file.name} />
        </p>
        <div className="ending error">
          <p id="refusal-what">
            <strong>{what}</strong> {hint}
          </p>
          <p className="refusal-facts">
            {facts.map(fact => (
              <span key={fact}>
                <Visible text={fact} />
              </span>
            ))}
          </p>
          <p className="detail">
            <Visible text={clipped(message)} />
          </p>
        </div>
        <p className="about">Nothing was changed: the file is untouched, and so is everything that is stored here.</p>
        {next !== null && (
          <div className="controls">
            <button className="primary" value={next}>
              {next === 'repair' ? 'Open with repairs' : 'Try again'}
            </button>
          </div>
        )}
      </form>
    </dialog>
  )
}

type Place = { readonly line?: number; readonly seq?: number; readonly path?: string }

function placeOf(error: unknown): Place {
  if (typeof error !== 'object' || error === null) return {}
  const { line, seq, path } = error as Partial<Record<string, unknown>>
  return {
    ...(typeof line === 'number' ? { line } : {}),
    ...(typeof seq === 'number' ? { seq } : {}),
    ...(typeof path === 'string' ? { path: clipped(path) } : {}),
  }
}
