/** How much this browser stores, whether it promised to keep it, and a warning when there is little room left. */
import type { Palimpsest, StorageState } from 'palimpsest'
import { type ReactElement, useEffect, useState } from 'react'
import { errorFacts, promiseWords, storageWords } from '../app/words.ts'

export type StorageLineProps = {
  readonly palimpsest: Pick<Palimpsest, 'storage' | 'persist'>
  /** What is stored may have changed when this did. */
  readonly changed: unknown
}

export function StorageLine({ palimpsest, changed }: StorageLineProps): ReactElement | null {
  const [state, setState] = useState<StorageState | null>(null)
  const [said, setSaid] = useState('')
  const [asked, setAsked] = useState(0)
  useEffect(() => {
    let isGone = false
    // What the browser does not want to say is not shown.
    palimpsest.storage().then(
      next => {
        if (!isGone) setState(next)
      },
      () => undefined,
    )
    return () => {
      isGone = true
    }
  }, [palimpsest, changed, asked])

  const words = state === null ? null : storageWords(state)
  if (state === null || words === null) return null
  const ask = () => {
    palimpsest.persist().then(
      isPersisted => {
        setSaid(promiseWords(isPersisted))
        setAsked(before => before + 1)
      },
      (error: unknown) => setSaid(`The browser did not promise it: ${errorFacts(error).message}`),
    )
  }
  return (
    <div id="storage" className="storage" role="group" aria-label="Storage" tabIndex={-1}>
      <p>{words.stored}</p>
      <p role="status" className="trouble">
        {words.warning}
      </p>
      {!state.isPersisted && state.usage !== 0 && (
        <button type="button" onClick={ask}>
          Ask the browser to keep it
        </button>
      )}
      <p role="status">{said}</p>
    </div>
  )
}
