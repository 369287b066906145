/** The request a log stands for: rebuilt from the header and the surface, and from nothing else (SPEC H5). */
import type { EpochHeader, EventData, Message } from './events.ts'
import type { Fold } from './fold.ts'
import { requestFold } from './request-header.ts'
import { type RequestChange, requestMessages } from './request-messages.ts'

export type LoggedRequest = {
  readonly header: EpochHeader
  /** What was known of the model's window; null when it was never logged. */
  readonly context: EventData['request/context'] | null
  /** The messages that are sent. */
  readonly messages: readonly Message[]
  /** Where they differ from those of the surface; empty for logs this library wrote. */
  readonly changes: readonly RequestChange[]
}

/** What of a session is asked. */
type LogRead = { fold<State>(fold: Fold<State>): State; readonly messages: Iterable<Message> }

/** The request for what a session holds now; null before its first header. */
export function requestOf(session: LogRead): LoggedRequest | null {
  const { header, context } = session.fold(requestFold)
  return header === null ? null : { header: header.data.header, context, ...requestMessages(session.messages) }
}
