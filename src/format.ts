/**
 * `palimpsest/format`: logs as files. Reads every version of the format, checks, and writes the current one. Runs in a
 * page, a worker and Node.
 */
export { PalimpsestError, SessionError } from './core/errors.ts'
export type { SessionErrorCode } from './core/errors.ts'
export { SESSION_FORMAT_VERSION } from './core/events.ts'
export type { SessionEvent, SessionHeader } from './core/events.ts'
export type { LogSource } from './files/bytes.ts'
export { locateError, newLogReader, readLog, sha256Hex } from './files/read-log.ts'
export type { ReadLogOptions, ReadProgress } from './files/read-log.ts'
export { FormatError } from './format/errors.ts'
export type { FormatErrorCode } from './format/errors.ts'
export { LogReader } from './format/log-reader.ts'
export type { ReadLog, ReadOptions } from './format/log-reader.ts'
export { transcriptMarkdown } from './format/markdown.ts'
export type { MarkdownOptions } from './format/markdown.ts'
export type { Repair, RepairCode } from './format/migration.ts'
export { redactEvent, redactHeader } from './format/redact.ts'
export type { Redactor } from './format/redact.ts'
export { validateLog } from './format/validate.ts'
export type { Finding } from './format/validate.ts'
export { eventLine, headerLine, logLines } from './format/write-log.ts'
export type { WriteOptions } from './format/write-log.ts'
