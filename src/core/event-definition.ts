/** Event types of extensions: made as tokens, registered on a session, never by declaration (SPEC L6, L18). */
import { SessionError } from './errors.ts'
import type { LogOnlyEvent } from './events.ts'
import type { JsonValue } from './json.ts'
import { isKnownEventType } from './vocabulary.ts'

/** A log-only event type of an extension. Made by `defineEvent`; a session knows it once it is registered there. */
export type EventDefinition<Data = unknown> = {
  readonly type: string
  /** Readers that do not know the type may pass its events over. False unless said otherwise. */
  readonly ignorable: boolean
  /** Its events change messages: without an interpreter for it they are refused (SPEC M2). */
  readonly projects: boolean
  /** What is wrong with a payload, in words; nothing when it is fine. Asked at every admission, live or stored. */
  readonly problem?: (data: JsonValue) => string | null | undefined
  /** Only for the type checker: what `append` takes. */
  readonly Data?: Data
}

export type EventDefinitionOptions = {
  readonly ignorable?: boolean
  readonly projects?: boolean
  readonly problem?: (data: JsonValue) => string | null | undefined
}

/**
 * A new event type for `Session.append`: `defineEvent<Note>('acme/noted')`. Required by default: a reader that does not
 * know the type refuses the log rather than misread it. Payloads are lossless JSON; `problem` may ask for more.
 *
 * @throws {SessionError} `registration` for an empty type or one of the format's own.
 */
export function defineEvent<Data>(type: string, options: EventDefinitionOptions = {}): EventDefinition<Data> {
  if (type === '' || isKnownEventType(type)) {
    throw new SessionError(
      'registration',
      `'${type}' cannot be defined: it is ${type ? 'a type of the format' : 'empty'}`,
    )
  }
  const { ignorable = false, projects = false, problem } = options
  return Object.freeze({ type, ignorable, projects, ...(problem === undefined ? {} : { problem }) })
}

/** True for an event of the defined type; what it holds is as its writer wrote it, unless the definition checks it. */
export function isEventOf<Data>(
  definition: EventDefinition<Data>,
  event: { readonly type: string },
): event is LogOnlyEvent<string, Data> {
  return event.type === definition.type
}
