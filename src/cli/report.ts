/** What opening a file comes to, as JSON (SPEC F17). */
import type { SessionEvent } from '../core/events.ts'
import { validateLog } from '../format/validate.ts'
import { extensions, type Opening } from './open.ts'

export type Outcome = 'accepted' | 'repaired' | 'refused'

/** Something that is wrong with a log that opens all the same. */
export type ReportedFinding = {
  readonly code: string
  /** Seq in the file. */
  readonly seq?: number
  /** Seq in the opened log, of an event that the file does not have. */
  readonly opened?: number
  readonly line?: number
  readonly message: string
}

/** What `verify --json` prints. */
export type VerifyReport = {
  readonly outcome: Outcome
  /** Format version in the header, also one this build does not read; null when there is none. */
  readonly version: number | null
  /** Events of the file that were read; of a refused log those before what it was refused for. */
  readonly events: number
  /** Seq in the opened log of each event of the file, null for one that became part of another; null when refused. */
  readonly seqMap: readonly (number | null)[] | null
  /** Seqs of what the model reads, in the opened log. */
  readonly surface: readonly number[]
  /** Events that close a turn that was cut off, in order; `code` is that of a tool's error. */
  readonly closers: readonly { readonly type: string; readonly code?: string }[]
  /** What was done to make the file open; seq and line are those of the file. */
  readonly repairs: readonly { readonly code: string; readonly seq?: number; readonly line?: number }[]
  readonly refusal: {
    readonly code: string
    readonly seq?: number
    readonly line?: number
    readonly message: string
  } | null
  /** What else is wrong; it changes neither the outcome nor the exit code. */
  readonly findings: readonly ReportedFinding[]
}

export const outcomeOf = (opening: Opening): Outcome => {
  if (opening.refusal !== null) return 'refused'
  return opening.log.repairs.length > 0 || opening.closers.length > 0 ? 'repaired' : 'accepted'
}

/** How a command ends that could do what it was asked to. */
export const exitCodeOf = (opening: Opening): number => ({ accepted: 0, repaired: 1, refused: 2 })[outcomeOf(opening)]

export function reportOf(opening: Opening): VerifyReport {
  const outcome = outcomeOf(opening)
  const { version, events } = opening
  if (opening.refusal !== null) {
    const { code, seq, line, message } = opening.refusal
    const refusal = { code, ...(seq === undefined ? {} : { seq }), ...(line === undefined ? {} : { line }), message }
    return { outcome, version, events, seqMap: null, surface: [], closers: [], repairs: [], refusal, findings: [] }
  }
  const { log, session, closers, seqMap } = opening
  return {
    outcome,
    version,
    events,
    seqMap,
    surface: session.surface.nodes,
    closers: closers.map(closerOf),
    repairs: log.repairs.map(({ code, seq, line }) => ({
      code,
      ...(seq === undefined ? {} : { seq }),
      ...(line === undefined ? {} : { line }),
    })),
    refusal: null,
    findings: findingsOf(opening),
  }
}

function closerOf(event: SessionEvent): VerifyReport['closers'][number] {
  const { type } = event
  const code = type === 'tool/result' ? event.data.error?.code : undefined
  return code === undefined ? { type } : { type, code }
}

function findingsOf({ log, seqMap, lastLine }: Extract<Opening, { refusal: null }>): ReportedFinding[] {
  const { header, events, isUnterminated } = log
  const found: ReportedFinding[] = []
  const inFile = new Map<number, number>()
  seqMap.forEach((opened, seq) => {
    if (opened !== null) inFile.set(opened, seq)
  })
  for (const { code, seq, message } of validateLog({ header, events }, extensions)) {
    if (seq === undefined) {
      found.push({ code, message })
      continue
    }
    const origin = inFile.get(seq)
    const moved = origin === undefined || origin === seq ? '' : ` (seq ${origin} of the file)`
    found.push({ code, ...(origin === undefined ? { opened: seq } : { seq: origin }), message: message + moved })
  }
  if (isUnterminated) {
    const message = `Line ${lastLine} is not ended by a newline; it is whole, and was taken`
    found.push({ code: 'final-newline', line: lastLine, message })
  }
  return found
}
