/** For tests only: what invariants make of an event, whichever way it reaches the log. */
import { append, counter, type Draft, header, log, said, storedEvents, throughJson } from '../builders.ts'
import { SessionError } from '../errors.ts'
import type { SessionEvent } from '../events.ts'
import type { Invariant } from '../invariant.ts'
import { Session } from '../session.ts'

/** `session/end-seed`: where `written` closes and opens the session again. */
export const reopened: Draft = { type: 'session/end-seed', data: {} }

/** A session the drafts were appended to. */
export function written(drafts: readonly Draft[], invariants: readonly Invariant[] = []): Session {
  const now = counter()
  let session = Session.create({ id: 'test', header: { createdAt: 1 }, now, invariants })
  for (const draft of drafts) {
    if (draft !== reopened) append(session, draft)
    else session = Session.fromRestore({ header: header(), events: storedEvents(session), now, invariants })
  }
  return session
}

/** What `run` throws; null when it does not. What is not a `SessionError` is a bug and passes. */
export function refusalOf(run: () => unknown): SessionError | null {
  try {
    run()
    return null
  } catch (error) {
    if (error instanceof SessionError) return error
    throw error
  }
}

/** How a refusal reads without what admission says about the event. */
export const wordsOf = ({ code, message }: SessionError): string =>
  code === 'invariant' ? message.replace(/^.*?breaks the invariant \w+: /s, '') : `${code}: ${message}`

const seeded = (events: readonly SessionEvent[], invariants: readonly Invariant[]): Session =>
  Session.create({ id: 'test', now: counter(), invariants, seed: events })
export const restoredWith = (events: readonly SessionEvent[], invariants: readonly Invariant[]): Session =>
  Session.fromRestore({ header: header(), now: counter(), invariants, events: throughJson(events) })

/**
 * Tries `draft` after `before`: appended, seeded, restored, and with the invariant registered later. Answers `accepted` or
 * the words of the refusal; whatever else there is to say says what went wrong.
 */
export function tried(invariant: Invariant, before: readonly Draft[], draft: Draft): string {
  const drafts = [...before, draft]
  const session = written(before, [invariant])
  const keyframe = JSON.stringify(session.keyframe())
  const live = draft === reopened ? null : refusalOf(() => append(session, draft))
  if (live !== null && JSON.stringify(session.keyframe()) !== keyframe) return 'a refused append changed something'
  const next = refusalOf(() => append(session, said('next')))
  if (next !== null) return `the next append is refused: ${wordsOf(next)}`
  const open = written(drafts)
  const later = [
    refusalOf(() => seeded(log(...drafts), [invariant])),
    refusalOf(() => restoredWith(log(...drafts), [invariant])),
    refusalOf(() => open.registerInvariant(invariant)),
  ]
  const words = live === null ? 'accepted' : wordsOf(live)
  for (const error of later) {
    const others = error === null ? 'accepted' : wordsOf(error)
    if (others !== words) return `live ${words}; later ${others}`
    if (error !== null && error.index !== before.length) return `refused at index ${error.index}: ${others}`
  }
  return words
}
