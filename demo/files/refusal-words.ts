/** Why a file was not opened, in words a person can act on. */
import { type FormatErrorCode, PalimpsestError, SessionError, StorageError } from 'palimpsest'
import { SESSION_FORMAT_VERSION } from 'palimpsest/core'
import { errorFacts } from '../app/words.ts'
import type { ImportMode } from './import-queue.ts'

export type RefusalWords = {
  readonly what: string
  readonly hint: string
  /** What may help now. */
  readonly next: 'repair' | 'again' | null
}

/** What is wrong with a log, by the code of its refusal. */
const faults: Readonly<Record<FormatErrorCode, string>> = {
  'newer-version': 'This log was written by a newer build.',
  'no-route': 'This build cannot read logs of that format version.',
  'malformed-version': 'The first line does not say which format version the log has.',
  'foreign-header': 'This is not the log of a session: its first line is not the header of one.',
  header: 'The first line of the log, the header of the session, is malformed.',
  corrupt: 'The log is damaged in the middle: a line cannot be read, and later ones show that more came after it.',
  compression: 'The compressed file is damaged, or of a kind that cannot be read here.',
  'too-long': 'A line of the log is longer than anything this build can hold.',
  source: 'What was given to be opened is not a file.',
  envelope: 'An event is not written the way its format version writes events.',
  'unknown-type': 'The log has an event of a kind that its format version does not have.',
  'withdrawn-type': 'The log has an event of a kind that was withdrawn.',
  payload: 'An event holds more or less than an event of its kind may.',
  stream: 'The pieces of an answer and the answer made of them do not fit together.',
  reference: 'An event refers to another one that is not in the log, or cannot be carried over.',
  'surface-op': 'An event says in an unknown way what it does to what the model reads.',
  order: 'An event stands where the current format cannot have it.',
  'message-id': 'The id of a message is missing, taken or wrong.',
  'tool-result': 'The result of a tool says both that it failed and that it did not.',
  'inherited-cut': 'The log contradicts itself about how much of it comes from another session.',
  delivery: 'A record of a delivery names another session.',
  relation: 'Events of the log contradict each other.',
}

/** Refusals that say nothing about damage: the file is none of ours, or none of ours yet. */
const foreignHints: Readonly<Record<string, string>> = {
  'newer-version': `Use a newer build to open it: this one reads format versions up to ${SESSION_FORMAT_VERSION}.`,
  'no-route': 'Open it with the build that wrote it.',
  'malformed-version': 'If it is the log of a session, use the file it was copied from.',
  'foreign-header': 'Choose the log of a session: JSON lines, as they are or compressed with gzip or zstd.',
}

const HOPELESS = 'Repairs do not help: this build cannot open it. Keep the file; another build may.'

export function refusalWords(error: unknown, mode: ImportMode): RefusalWords {
  const { code, message } = errorFacts(error)
  if (Object.hasOwn(faults, code) && !(error instanceof SessionError)) {
    const what = faults[code as FormatErrorCode]
    const foreign = foreignHints[code]
    if (foreign !== undefined) return { what, hint: foreign, next: null }
    return mode === 'strict' ? { what, hint: repairHint(code), next: 'repair' } : { what, hint: HOPELESS, next: null }
  }
  if (error instanceof SessionError) return ruleWords(error, mode)
  if (error instanceof StorageError) return storageWords(error)
  if (/^Not(?:Readable|Found)Error/.test(message)) {
    const hint = 'Perhaps it is a folder, or it was changed or moved meanwhile. Choose it again.'
    return { what: 'The browser could not read the file.', hint, next: 'again' }
  }
  if (error instanceof PalimpsestError && code !== 'internal' && code !== 'argument') {
    return { what: 'The agent’s worker is gone.', hint: 'Reload the page, then choose the file again.', next: null }
  }
  return { what: 'The file could not be opened.', hint: 'It may be worth another try.', next: 'again' }
}

function repairHint(code: string): string {
  if (code === 'corrupt') return 'Opened with repairs, it keeps all that stands before the damage.'
  if (code === 'compression') return 'Opened with repairs, it keeps what can be read.'
  return 'Repairs may open it: they carry over or leave out what is wrong, and list it.'
}

/** Admission refused it: what stands before the event that breaks a rule can be kept. */
function ruleWords({ code, seq }: SessionError, mode: string): RefusalWords {
  if (code === 'unknown-type' || code === 'interpreter-missing') {
    const hint = 'It belongs to a plugin or a newer build: open the log with that.'
    return { what: 'The log has an event of a kind that this build does not know.', hint, next: null }
  }
  const what = 'The log breaks a rule that every session keeps.'
  if (seq === undefined || mode !== 'strict') return { what, hint: HOPELESS, next: null }
  return { what, hint: 'Opened with repairs, it keeps all that stands before that.', next: 'repair' }
}

function storageWords({ code }: StorageError): RefusalWords {
  if (code === 'quota-exceeded') {
    return { what: 'The browser’s storage is full.', hint: 'Delete a session, then try again.', next: 'again' }
  }
  return { what: 'The session could not be stored.', hint: 'Try again in a moment, or reload the page.', next: 'again' }
}

/** Where something is in a file: `Line 10, seq 8`. */
export function placeInWords({ line, seq }: { readonly line?: number; readonly seq?: number }): string {
  const parts = [...(line === undefined ? [] : [`line ${line}`]), ...(seq === undefined ? [] : [`seq ${seq}`])]
  const place = parts.join(', ')
  return `${place.slice(0, 1).toUpperCase()}${place.slice(1)}`
}
