/** How full the model's window is, and with what: one stacked bar. */
import type { Sequence, SurfaceItem } from 'palimpsest/views'
import { type FC, memo, type ReactElement } from 'react'
import { tokens as inWords } from '../app/format.ts'

const parts = ['system', 'summary', 'user', 'agent', 'tool'] as const
type Part = (typeof parts)[number]

export type WindowBarProps = {
  readonly nodes: Sequence<SurfaceItem>
  /** Estimated tokens of all nodes. */
  readonly tokens: number
  /** Size of the model's window, tokens; null when it is not known. */
  readonly contextWindow: number | null
}

export const WindowBar: FC<WindowBarProps> = memo(function WindowBar({
  nodes,
  tokens,
  contextWindow,
}: WindowBarProps): ReactElement | null {
  if (nodes.length === 0) return null
  const sums = sumUp(nodes)
  const whole = Math.max(tokens, contextWindow ?? tokens, 1)
  const used = parts.filter(part => sums[part] > 0)
  const left = contextWindow === null ? null : Math.max(0, contextWindow - tokens)
  const words = used.map(part => `${part} ${inWords(sums[part])}`).join(', ')
  const about = left === null ? `${words} tokens` : `${words}; ${inWords(left)} tokens of headroom`
  let x = 0
  return (
    <figure className="window">
      <svg viewBox="0 0 1000 8" preserveAspectRatio="none" role="img" aria-label={`The model's window: ${about}`}>
        {used.map(part => {
          const width = (sums[part] / whole) * 1_000
          const start = x
          x += width
          return <rect key={part} className="part" data-part={part} x={start} width={width} height="8" />
        })}
      </svg>
      <figcaption>
        {used.map(part => (
          <span key={part} data-part={part}>
            {part} {inWords(sums[part])}
          </span>
        ))}
        {left !== null && <span className="headroom">headroom {inWords(left)}</span>}
      </figcaption>
    </figure>
  )
})

function sumUp(nodes: Sequence<SurfaceItem>): Record<Part, number> {
  const sums: Record<Part, number> = { system: 0, summary: 0, user: 0, agent: 0, tool: 0 }
  for (const node of nodes) sums[partOf(node)] += node.tokens
  return sums
}

function partOf({ message, origin }: SurfaceItem): Part {
  if (message === null || message.role === 'system') return 'system'
  if (message.source.kind === 'tool') return 'tool'
  if (message.role === 'assistant') return 'agent'
  return origin.kind === 'replaces' ? 'summary' : 'user'
}
