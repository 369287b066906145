/** What became of a file, in words. */
import type { ImportResult, RepairCode } from 'palimpsest'
import { SESSION_FORMAT_VERSION } from 'palimpsest/core'
import { counted } from '../app/format.ts'

const outcomes: Readonly<Record<ImportResult['outcome'], string>> = {
  created: 'is a session now.',
  unchanged: 'was here already: nothing was added.',
  extended: 'goes on where the session that was here ended: the rest was added.',
}

/** The end of a sentence that begins with the file's name. */
export const outcomeWords = ({ outcome }: ImportResult): string => outcomes[outcome]

export function versionWords({ version, fileEventCount, eventCount, isUnterminated }: ImportResult): string {
  const last = isUnterminated ? ' Its last line had no newline; it was whole, and was taken.' : ''
  if (version === SESSION_FORMAT_VERSION) return `${counted(eventCount, 'event')}, format version ${version}.${last}`
  const events = `${counted(fileEventCount, 'event')} became ${counted(eventCount, 'event').replace(/ events?$/, '')}`
  return `Migrated from format version ${version} to ${SESSION_FORMAT_VERSION}: ${events}.${last}`
}

export const repairsWords = ({ repairs }: ImportResult): string =>
  repairs.length === 1
    ? 'One repair was needed to open it'
    : `${counted(repairs.length, 'repair')} were needed to open it`

const repairTitles: Readonly<Record<RepairCode, string>> = {
  'torn-tail': 'The end was torn off',
  'kept-prefix': 'What stands after the damage was left out',
  'step-boundary': 'The beginning or end of a step was put in',
  'kept-verbatim': 'An unknown event was kept as it is',
  'context-message': 'A message of the context became one of a plugin',
  'header-member': 'A part of the header was left out',
  'kept-relation': 'Events that contradict each other were kept as they are',
}

export const repairTitle = (code: RepairCode): string => repairTitles[code] ?? 'Something was repaired'

/** Sizes in the unit of the whole: `1.2 of 5.0 MB`. */
export function sizeInWords(bytes: number, size: number): string {
  if (size < 1_000) return `${bytes} of ${size} bytes`
  const [unit, per, digits] = size < 1e6 ? (['kB', 1e3, 0] as const) : (['MB', 1e6, 1] as const)
  return `${(bytes / per).toFixed(digits)} of ${(size / per).toFixed(digits)} ${unit}`
}
