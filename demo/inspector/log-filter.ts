/** Which events of the log are shown. */
import type { SessionEvent } from 'palimpsest/core'

export type LogFilter = {
  readonly key: string
  readonly label: string
  readonly admits: (event: SessionEvent) => boolean
}

const startsWith =
  (...prefixes: readonly string[]) =>
  ({ type }: SessionEvent): boolean =>
    prefixes.some(prefix => type.startsWith(prefix))

/** The groups people look for. */
export const groups: readonly LogFilter[] = [
  { key: 'all', label: 'All events', admits: () => true },
  {
    key: 'messages',
    label: 'Messages',
    admits: startsWith('user/', 'assistant/', 'system/', 'tool/result'),
  },
  { key: 'tools', label: 'Tools', admits: startsWith('tool/') },
  { key: 'turns', label: 'Turns and steps', admits: startsWith('turn/', 'step/') },
  { key: 'requests', label: 'Requests', admits: startsWith('request/', 'llm/') },
  {
    key: 'rewrites',
    label: 'Rewrites of the surface',
    admits: event => 'surfaceOp' in event && event.surfaceOp !== 'append',
  },
]

/** The filter named `key`: a group, or one type. */
export function filterOf(key: string): LogFilter {
  return groups.find(each => each.key === key) ?? { key, label: key, admits: event => event.type === key }
}
