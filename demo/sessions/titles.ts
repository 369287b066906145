/** Names of sessions. */
import type { SessionSummary } from 'palimpsest'
import { type UserMessage, wellFormedText } from 'palimpsest/core'

const MAX_TITLE = 40

/** A title made of the first words of a prompt. */
export function titleFrom(prompt: string): string {
  const words = prompt
    .slice(0, 400)
    .replace(/\[[a-z:-]+\]/g, ' ')
    .split(/\s+/)
    .filter(Boolean)
  let title = (words[0] ?? 'Untitled').slice(0, MAX_TITLE)
  const rest = words.slice(1).find(word => {
    if (title.length + word.length >= MAX_TITLE) return true
    title += ` ${word}`
    return false
  })
  return wellFormedText(rest === undefined ? title : `${title}…`)
}

/** A title made of the first of these messages that has words in it; null when none has. */
export function titleFromPrompts(prompts: readonly Pick<UserMessage, 'content'>[]): string | null {
  const texts = prompts.map(({ content }) => content.map(block => (block.type === 'text' ? block.text : '')).join(' '))
  const first = texts.find(text => text.trim() !== '')
  return first === undefined ? null : titleFrom(first)
}

type Named = Pick<SessionSummary, 'title' | 'eventCount'>

/** Nothing was said in it: opening one again leaves a single mark. */
export const isUnused = ({ title, eventCount }: Named): boolean => title === null && eventCount <= 1

export const titleOf = (session: Named): string => session.title ?? (isUnused(session) ? 'New session' : 'Untitled')
