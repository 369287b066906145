/** What can be wrong with a log of the format's text, before a session is made of it. */
import { type ErrorFacts, PalimpsestError } from '../core/errors.ts'
import type { StoredEvent } from './stored.ts'

export type FormatErrorCode =
  /** The log was written by a newer build; `actual` is its version. Nothing was changed (SPEC F3). */
  | 'newer-version'
  /** No migration leads from this version to the current one. */
  | 'no-route'
  /** The header's version is not a number. */
  | 'malformed-version'
  /** The first line is not the header of a session. */
  | 'foreign-header'
  /** The header of a session is malformed; `path` says where. */
  | 'header'
  /** Damage inside what was committed: a later row proves it. `line` and `seq` say where (SPEC F8). */
  | 'corrupt'
  /** The compressed file is damaged, or of a kind that cannot be read. */
  | 'compression'
  /** A line is longer than 256 MiB; `line` says which. */
  | 'too-long'
  /** What was given to be read is no source of bytes: a mistake of the caller. */
  | 'source'
  /** An event has more or other members in its envelope than its version has. */
  | 'envelope'
  /** The version does not have this event type, and it cannot be carried over (SPEC F5). */
  | 'unknown-type'
  /** The event type existed once and was withdrawn. */
  | 'withdrawn-type'
  /** A payload has more or other members than its type has; `path` says where (SPEC F5). */
  | 'payload'
  /** Chunks and the message made of them do not fit together. */
  | 'stream'
  /** A seq inside an event does not name an event that is carried over. */
  | 'reference'
  /** `surfaceOp` is not an operation of this version. */
  | 'surface-op'
  /** The event stands where the newer version cannot have it: before the first step, inside an open turn. */
  | 'order'
  /** A message's id is missing, taken, or not the one it must be. */
  | 'message-id'
  /** A tool result says of itself that it failed and that it did not. */
  | 'tool-result'
  /** Header, marker and known length of what is inherited do not agree. */
  | 'inherited-cut'
  /** A record of delivery names another session. */
  | 'delivery'
  /** A rule between events is broken (SPEC F9). */
  | 'relation'

/** A log cannot be read as it is. Nothing was changed: not the file, and nothing that is stored. */
export class FormatError extends PalimpsestError<FormatErrorCode> {
  override readonly name = 'FormatError'
}

/** A text of a file as a message shows it: keys and types may have any length. */
export const shown = (text: string, length = 80): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`

/** What is wrong with an event may name more than one thing of it. */
const LONGEST = 400

/** The refusal of one event of a log: what is wrong with it, and where. Its message is short, whatever the log holds. */
export function formatRefusal(
  code: FormatErrorCode,
  { type, seq }: Pick<StoredEvent, 'type' | 'seq'>,
  what: string,
  facts: Omit<ErrorFacts, 'seq' | 'eventType'> = {},
  options?: ErrorOptions,
): FormatError {
  const message = `${shown(type)} at seq ${seq} ${shown(what, LONGEST)}`
  return new FormatError(code, message, { ...facts, seq, eventType: type }, options)
}
