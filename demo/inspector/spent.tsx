/** What a session has spent, from its log: it only grows. How full the window is stands with the surface. */
import { type ClientSession, type ModelUsage, useUsage } from 'palimpsest/react'
import { type ReactElement, useState } from 'react'
import { grouped, tokens } from '../app/format.ts'
import { Visible } from '../text/visible-text.tsx'
import { modelCostWords, modelName, spentWords } from './spent-words.ts'

export type SpentProps = {
  readonly session: ClientSession
  /** It began as another session did. */
  readonly isBranch: boolean
}

export function Spent({ session, isBranch }: SpentProps): ReactElement | null {
  const usage = useUsage(session)
  const [isOpen, setOpen] = useState(false)
  if (usage.calls === 0) return null
  return (
    <details id="spent" open={isOpen} onToggle={toggled => setOpen(toggled.currentTarget.open)}>
      <summary>
        <b>Spent so far</b> {spentWords(usage)}
      </summary>
      {isOpen && (
        <div className="spent-more" role="region" aria-label="Spent by model" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Calls</th>
                <th scope="col">Input</th>
                <th scope="col">Cache read</th>
                <th scope="col">Cache write</th>
                <th scope="col">Output</th>
                <th scope="col">Cost</th>
              </tr>
            </thead>
            {usage.byModel.map(own => (
              <ModelRows key={JSON.stringify([own.provider, own.model])} own={own} cost={modelCostWords(usage, own)} />
            ))}
          </table>
          <p className="about">
            As providers counted, failed calls included: it never gets less.{' '}
            {isBranch && 'What was spent before it branched off is counted, too. '}
            How full the window is now stands with the surface. The prices are invented, as an example.
          </p>
        </div>
      )}
    </details>
  )
}

function ModelRows({ own, cost }: { readonly own: ModelUsage; readonly cost: string }): ReactElement {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = own.total
  return (
    <tbody>
      <tr>
        <th scope="rowgroup" colSpan={6}>
          <Visible text={modelName(own)} />
        </th>
      </tr>
      <tr>
        <td>{grouped(own.calls)}</td>
        {[inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens].map((count, index) => (
          <td key={index} title={`${grouped(count)} tokens`}>
            {tokens(count)}
          </td>
        ))}
        <td>{cost}</td>
      </tr>
    </tbody>
  )
}
