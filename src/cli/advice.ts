/** What a refusal and repairs say to people, and what they can do. */
import { SessionError } from '../core/errors.ts'
import { type Opened, type Refused } from './open.ts'
import { count, inLine } from './text.ts'

/** Codes of refusals that say nothing about damage: the file is none of ours, or none of ours yet. */
const foreign = ['foreign-header', 'malformed-version', 'no-route']

/** Refusals of a log of the current version that reading on cannot help. */
const recoverable = ['corrupt', 'compression', 'header']

export function adviceFor({ refusal, version }: Refused, recover: boolean): string {
  const { code } = refusal
  // The refusal itself says the rest.
  if (code === 'newer-version') return 'Try a newer release of palimpsest.'
  if (foreign.includes(code)) return 'Is it the log of a session? Nothing was changed.'
  if (code === 'unknown-type' && version === 3) {
    return 'The event belongs to a plugin or a newer build: open the log with that. Nothing was changed.'
  }
  const isHopeless = refusal instanceof SessionError || (version === 3 && !recoverable.includes(code))
  if (recover || isHopeless) return 'This build cannot open it. Nothing was changed.'
  return 'Try --recover: it opens more, and lists what it repaired. Nothing was changed.'
}

/** Where something is in a file. */
export const placeInWords = ({ line, seq }: { readonly line?: number; readonly seq?: number }): string =>
  [line === undefined ? '' : `line ${line}`, seq === undefined ? '' : `seq ${seq}`]
    .filter(part => part !== '')
    .join(', ')

/** For the error output of a command whose result is something else. */
export function* remarks(opening: Opened | Refused, recover: boolean): Generator<string> {
  const { file, refusal } = opening
  if (refusal !== null) {
    const place = placeInWords(refusal)
    const where = `${refusal.code}${place === '' ? '' : `, ${place}`}`
    yield `palimpsest: ${inLine(`${file} is refused (${where}): ${refusal.message}`)}\n`
    yield `palimpsest: ${adviceFor(opening, recover)}\n`
    return
  }
  for (const repair of opening.log.repairs) {
    const place = placeInWords(repair)
    yield `palimpsest: repaired (${repair.code}${place === '' ? '' : `, ${place}`}): ${inLine(repair.message)}\n`
  }
  if (opening.closers.length > 0) {
    const types = opening.closers.map(({ type }) => type).join(', ')
    yield `palimpsest: a turn was cut off; opening the log closes it with ${count(opening.closers.length, 'event')}: ${types}\n`
  }
}
