/** From a log that was read to a session of it: the same admission as for everything else. */
import { SessionError, type SessionErrorCode } from '../core/errors.ts'
import { Session } from '../core/session.ts'
import type { SessionOptions } from '../core/session-options.ts'
import { locateError, type LogReader, type ReadLog } from '../format/log-reader.ts'

export type AdmitOptions = SessionOptions & {
  /** Close a turn that was cut off. */
  readonly repair?: boolean
  readonly readOnly?: boolean
}

export type AdmittedLog = {
  /** What was read, less what was refused. */
  readonly log: ReadLog
  readonly session: Session
}

/**
 * A session of a log. An event that is refused refuses the log; in `recoverable` mode what stands before it is kept, and
 * that is listed (SPEC F10).
 *
 * @throws {SessionError} with seq and line in the file.
 */
export function admitLog(log: ReadLog, reader: LogReader, options: AdmitOptions): AdmittedLog {
  try {
    return { log, session: restored(log, options) }
  } catch (error) {
    const located = locateError(error, reader)
    if (!(located instanceof SessionError) || !reader.recovers || located.index === undefined) throw located
    // Then it is the program that lacks something: nothing is wrong with the log.
    if (LACKING.has(located.code)) throw located
    const { index, seq, line, message } = located
    const place = { ...(seq === undefined ? {} : { seq }), ...(line === undefined ? {} : { line }) }
    const kept = { code: 'kept-prefix' as const, ...place, message: `It and all after it were left out. ${message}` }
    const prefix = { ...log, events: log.events.slice(0, index), repairs: [...log.repairs, kept] }
    try {
      return { log: prefix, session: restored(prefix, options) }
    } catch {
      // Not even what stands before it is a log: then the first refusal says why.
      throw located
    }
  }
}

const LACKING: ReadonlySet<SessionErrorCode> = new Set(['unknown-type', 'interpreter-missing', 'invariant'])

function restored({ header, events, inheritedEventCount }: ReadLog, options: AdmitOptions): Session {
  const known = inheritedEventCount === undefined ? {} : { inheritedEventCount }
  return Session.fromRestore({ ...options, ...known, header, events })
}
