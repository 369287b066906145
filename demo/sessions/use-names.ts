/**
 * Names for sessions that have none yet. Their agent names them once a turn ended well; until then the page calls them
 * what they will be called, as far as it has seen what was said first.
 */
import type { SessionSummary } from 'palimpsest'
import type { SessionEvent, UserMessage } from 'palimpsest/core'
import type { ClientSession } from 'palimpsest/react'
import { useCallback, useEffect, useRef, useState } from 'react'
import { tellChange } from '../app/channel.ts'
import { titleFrom, titleFromPrompts } from './titles.ts'

export type Names = {
  /** The same with a name, where one is known. */
  readonly named: <Each extends Pick<SessionSummary, 'id' | 'title'>>(session: Each) => Each
  /** Somebody said this in a session. */
  readonly learn: (id: string, text: string) => void
}

/** Events at the beginning of a log that are looked at for a prompt. */
const BEGINNING = 64

/** `isUnnamed`: the session on the page is listed, and has no name. */
export function useNames(session: ClientSession | null, isUnnamed: boolean): Names {
  const [names, setNames] = useState<ReadonlyMap<string, string>>(() => new Map())
  const add = useCallback((id: string, name: string) => {
    setNames(before => (before.has(id) ? before : new Map(before).set(id, name)))
  }, [])
  useEffect(() => {
    if (session === null || !isUnnamed) return
    const { id } = session
    const look = (events: readonly SessionEvent[]) => {
      const name = titleFromPrompts(events.flatMap(promptsOf))
      if (name !== null) add(id, name)
    }
    const unsubscribe = session.subscribe(update => {
      if (update.kind === 'committed') look(update.entries.map(({ event }) => event))
    })
    void beginningOf(session).then(look, () => undefined) // without a name it is listed as untitled
    return unsubscribe
  }, [session, isUnnamed, add])
  const named = useCallback<Names['named']>(
    each => {
      const name = each.title === null ? names.get(each.id) : undefined
      return name === undefined ? each : { ...each, title: name }
    },
    [names],
  )
  const learn = useCallback(
    (id: string, text: string) => {
      if (text.trim() !== '') add(id, titleFrom(text))
    },
    [add],
  )
  return { named, learn }
}

async function beginningOf(session: ClientSession): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const event of session.readEvents({ to: Math.min(session.length, BEGINNING) })) events.push(event)
  return events
}

const promptsOf = (event: SessionEvent): readonly UserMessage[] =>
  event.type === 'user/message' && event.data.source.kind === 'user' ? [event.data] : []

/** Tells other tabs of names that were given without anybody's doing. */
export function useTellNames(sessions: readonly SessionSummary[] | null): void {
  const unnamed = useRef<ReadonlySet<string>>(new Set())
  useEffect(() => {
    if (sessions === null) return
    if (sessions.some(({ id, title }) => title !== null && unnamed.current.has(id))) tellChange('sessions')
    unnamed.current = new Set(sessions.flatMap(({ id, title }) => (title === null ? [id] : [])))
  }, [sessions])
}
