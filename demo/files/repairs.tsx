/** What was done to a log to make it open, one by one. */
import type { ImportResult } from 'palimpsest'
import type { ReactElement } from 'react'
import { counted } from '../app/format.ts'
import { Visible } from '../text/visible-text.tsx'
import { clipped } from './clipped.ts'
import { placeInWords } from './refusal-words.ts'
import { repairsWords, repairTitle } from './result-words.ts'

/** So many are listed; the rest is counted. */
const LISTED = 100

export function Repairs({ result }: { readonly result: ImportResult }): ReactElement | null {
  const { repairs } = result
  if (repairs.length === 0) return null
  const rest = repairs.length - LISTED
  return (
    <details className="repairs" open>
      <summary>{repairsWords(result)}</summary>
      <ul className="plain">
        {repairs.slice(0, LISTED).map((repair, index) => (
          <li key={index}>
            <span className="repair-place">{placeInWords(repair)}</span>
            <div>
              {repairTitle(repair.code)}.
              <p className="detail">
                <Visible text={clipped(repair.message)} />
              </p>
            </div>
          </li>
        ))}
      </ul>
      {rest > 0 && <p className="about">And {counted(rest, 'more repair')}.</p>}
    </details>
  )
}
