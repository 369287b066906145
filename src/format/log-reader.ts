/**
 * Reads a log line by line, of any version, into events of the current one (SPEC F2–F10). Pure: whoever has a file cuts
 * it into lines.
 */
import { SessionError } from '../core/errors.ts'
import { SESSION_FORMAT_VERSION, type SessionEvent, type SessionHeader } from '../core/events.ts'
import { Chain } from './chain.ts'
import { expandDeltaRow, isDeltaRow } from './delta-rows.ts'
import { FormatError, formatRefusal, shown } from './errors.ts'
import { checkStoredHeader, readHeader } from './header.ts'
import {
  canonicalProblem,
  checkStructure,
  envelopeProblem,
  parseRow,
  type Row,
  seqProblem,
  withSources,
} from './row.ts'
import { SourceSeqs } from './source-seqs.ts'
import type { Repair, RepairCode, Migration } from './migration.ts'
import { stepBoundaries } from './step-boundaries.ts'
import type { StoredEvent, StoredHeader } from './stored.ts'
import { brokenRelations, brokenStreams } from './validate.ts'
import { migrationsFrom } from './versions.ts'

export type ReadOptions = {
  /**
   * `strict` refuses what the format refuses; `recoverable` opens more, by repairs that it lists (SPEC F10). Default
   * `strict`.
   */
  readonly mode?: 'strict' | 'recoverable'
  /** `store` also asks of a migrated log what reading does not: that messages say what their streams did. */
  readonly purpose?: 'read' | 'store'
  /** Hex SHA-256 of a text's UTF-8: ids of generated messages are made with it. */
  readonly sha256: (text: string) => string
}

/** A log as it was read, in the current version. */
export type ReadLog = {
  /** The version of the file. */
  readonly version: number
  readonly header: SessionHeader
  /** Whole and in order; nobody else has them. Admission is up to the session they are given to. */
  readonly events: SessionEvent[]
  /** How many of them are inherited, where migration knows it. */
  readonly inheritedEventCount: number | undefined
  /** Events of the file that were read. */
  readonly eventCount: number
  /** What was done to make it open; a torn tail is the only one in `strict` mode. */
  readonly repairs: readonly Repair[]
  /** The last line had no newline, was whole, and was taken. */
  readonly isUnterminated: boolean
}

/** What is known of a file that goes on behind what was read of it: it was torn, or it is damaged there. */
export type FileDamage = { readonly what: string; readonly isTorn: boolean }

type Issue = { readonly line: number; readonly seq: number; readonly what: string; readonly found?: number | undefined }

/** Reads one log. Give it every line, then `end`. After an error it is not used again. */
export class LogReader {
  readonly #mode: 'strict' | 'recoverable'
  readonly #purpose: 'read' | 'store'
  readonly #sha256: (text: string) => string
  readonly #events: SessionEvent[] = []
  readonly #repairs = new Map<string, Repair>()
  readonly #sources = new SourceSeqs()
  /** Where the line of a seq is not just the next one; `isRow` when all seqs up to the next jump are on that line. */
  readonly #jumps: { readonly seq: number; readonly line: number; readonly isRow: boolean }[] = []
  #header: StoredHeader | null = null
  #chain: Chain | null = null
  #line = 0
  #seq = 0
  #issue: Issue | null = null
  #isProven = false
  #isUnended = false

  constructor({ mode = 'strict', purpose = 'read', sha256 }: ReadOptions) {
    this.#mode = mode
    this.#purpose = purpose
    this.#sha256 = sha256
  }

  /** Version of the file; null before its header. */
  get version(): number | null {
    return this.#header?.version ?? null
  }

  /** Whether it repairs what it can. */
  get recovers(): boolean {
    return this.#mode === 'recoverable'
  }

  /** Events of the file that were read so far. */
  get eventCount(): number {
    return this.#seq
  }

  /**
   * Takes the next line, without its newline; null for one whose bytes are no UTF-8.
   *
   * @throws {FormatError} with line and seq in the file.
   */
  line(text: string | null): void {
    this.#line += 1
    // JSON takes a carriage return for space; a blank line says nothing (SPEC F8).
    if (text !== null && isBlank(text)) return
    if (this.#header === null) this.#open(text)
    else this.#located(() => this.#row(text))
  }

  /**
   * The file ended; `rest` is what stands behind the last newline. A whole row there is taken, as long as it is good;
   * not when the file is known to go on, which `damage` says.
   *
   * @throws {FormatError} as `line` does, and `foreign-header` for a file without any line.
   */
  end(rest: string | null = '', damage: FileDamage | null = null): ReadLog {
    const hasRest = rest === null || !isBlank(rest)
    const before = this.#seq
    // A line that was never ended proves nothing about those before it.
    if (hasRest && damage === null && this.#issue === null) this.#takeRest(rest)
    const header = this.#header
    if (header === null) throw new FormatError('foreign-header', 'The file is empty', { line: 1 })
    if (damage !== null) this.#issue ??= { line: this.#line + 1, seq: this.#seq, what: `is not there: ${damage.what}` }
    if (this.#issue !== null) this.#cut(this.#issue, damage === null || damage.isTorn)
    const cut = header.version < 2 ? ((header['seedLength'] as number | undefined) ?? null) : null
    const inherited = this.#located(() => this.#chain?.end(cut) ?? null)
    const current = (this.#chain?.header ?? header) as unknown as SessionHeader
    if (this.#chain !== null) {
      this.#keep(brokenRelations(current, this.#events))
      if (this.#purpose === 'store') this.#keep(brokenStreams(this.#events))
    }
    return {
      version: header.version,
      header: current,
      events: this.#events,
      inheritedEventCount: inherited ?? undefined,
      eventCount: this.#seq,
      repairs: [...this.#repairs.values()],
      isUnterminated: hasRest && this.#seq > before,
    }
  }

  /**
   * Seq in the current version of each event read; null for one that became part of another, or that is not among the
   * first `length` of the log.
   */
  seqMap(length: number = this.#events.length): readonly (number | null)[] {
    const map = this.#chain?.seqMap() ?? Array.from({ length: this.#seq }, (_, seq) => seq)
    return length === this.#events.length ? map : map.map(seq => (seq === null || seq >= length ? null : seq))
  }

  /** Where an event of the current version came from: its seq and line in the file. */
  originOf(seq: number): { readonly seq: number; readonly line: number } {
    const origin = this.#chain?.originOf(seq) ?? seq
    return { seq: origin, line: this.#lineOf(origin) }
  }

  /** A last line that was never ended is taken when nothing is wrong with it; otherwise it is as if it were not there. */
  #takeRest(rest: string | null): void {
    if (this.#header === null) return this.line(rest)
    const seq = this.#seq
    this.#isUnended = true
    try {
      this.line(rest)
    } catch (error) {
      if (!(error instanceof FormatError)) throw error
      this.#seq = seq
      this.#issue = { line: this.#line, seq, what: `was never ended, and cannot be taken. ${error.message}` }
    }
  }

  #open(text: string | null): void {
    if (text === null) throw new FormatError('foreign-header', 'The first line is not UTF-8', { line: 1 })
    const mend = (member: string, is: 'surplus' | 'missing') => {
      const message =
        is === 'surplus'
          ? `The header has ${shown(member)}, which its version does not have; it was left out`
          : `The header lacks ${member}`
      this.#repairs.set(`header.${member}`, { code: 'header-member', line: this.#line, message })
    }
    const line = this.#line === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
    const header = checkStoredHeader(readHeader(line), this.recovers ? mend : undefined)
    this.#header = header
    if (header.version === SESSION_FORMAT_VERSION) return
    this.#chain = new Chain({
      header,
      migrations: this.recovers ? withBoundaries(migrationsFrom(header.version)) : migrationsFrom(header.version),
      sha256: this.#sha256,
      emit: event => this.#events.push(event as unknown as SessionEvent),
      repair: this.recovers ? repair => this.#repair(repair) : null,
    })
  }

  #row(text: string | null): void {
    const row = text === null ? 'is not UTF-8' : parseRow(text)
    if (typeof row !== 'string' && this.version === SESSION_FORMAT_VERSION) checkStructure(row)
    // Nothing is taken any more; only whether what follows was committed is looked for.
    if (this.#issue !== null) {
      if (typeof row !== 'string' && row['type'] === 'turn/end') this.#prove(this.#issue)
      return
    }
    const events = typeof row === 'string' ? row : this.#eventsOf(row)
    if (typeof events === 'string') {
      const found = typeof row === 'string' ? undefined : (row['seq'] ?? row['seq0'])
      const seq = typeof found === 'number' ? found : undefined
      this.#issue = { line: this.#line, seq: this.#seq, what: events, found: seq }
      // A turn's end was written after all before it.
      const isProof = typeof row !== 'string' && row['type'] === 'turn/end' && !this.#isUnended
      if (isProof) this.#prove(this.#issue)
      return
    }
    const isRow = events.length > 1
    if (isRow || this.#lineOf(this.#seq) !== this.#line) this.#jumps.push({ seq: this.#seq, line: this.#line, isRow })
    for (const event of events) {
      this.#seq += 1
      if (this.#chain === null) this.#events.push(event as unknown as SessionEvent)
      else this.#chain.push(event)
    }
  }

  /** The events of a row; a text when it is a bad one. @throws {FormatError} `envelope` for older versions. */
  #eventsOf(row: Row): readonly StoredEvent[] | string {
    const version = this.version as number
    const isOld = version < 2
    if (isOld && isDeltaRow(row)) return expandDeltaRow(row, this.#seq)
    const wrongSeq = seqProblem(row, this.#seq)
    if (wrongSeq !== null) return wrongSeq
    const whole = withSources(row, this.#sources, this.#seq)
    if (typeof whole === 'string') return whole
    const event = whole as unknown as StoredEvent
    const wrong = envelopeProblem(row)
    if (wrong !== null) {
      if (isOld)
        throw formatRefusal(
          'envelope',
          { type: typeof row['type'] === 'string' ? row['type'] : 'event', seq: this.#seq },
          wrong,
        )
      return wrong
    }
    if (version === SESSION_FORMAT_VERSION) {
      const problem = canonicalProblem(event)
      if (problem !== null) return `(${event.type}) ${problem}`
    }
    return [event]
  }

  /** A bad row stands in front of what was committed: the log is damaged, not torn. */
  #prove(issue: Issue): void {
    if (this.#isProven) return
    this.#isProven = true
    if (!this.recovers) throw corrupt(issue, this.#line)
    const message = `Line ${issue.line} ${issue.what}: it and all after it were left out, though a later line shows they were committed`
    this.#repairs.set('cut', { code: 'kept-prefix', line: issue.line, seq: issue.seq, message })
  }

  #cut({ line, seq, what }: Issue, isTorn: boolean): void {
    if (this.#isProven) return
    const outcome = isTorn
      ? `the log was torn there, and ends with seq ${seq - 1}`
      : 'it and all after it were left out, and the file is damaged, not torn'
    this.#repairs.set('cut', {
      code: isTorn ? 'torn-tail' : 'kept-prefix',
      line,
      seq,
      message: `Line ${line} ${what}: ${outcome}`,
    })
  }

  /** What was migrated keeps the rules between events; a log of the current version opens as its writer left it. */
  #keep(broken: Iterable<FormatError>): void {
    for (const refusal of broken) {
      const { code, message, seq: current = 0, eventType } = refusal
      const { seq, line } = this.originOf(current)
      if (this.recovers) {
        // Where steps were put in, the numbers of the others cannot follow them.
        if (eventType === 'step/start' && this.#hasBoundaries) continue
        this.#repair({ code: 'kept-relation', seq, message: `Kept as it is: ${message}` })
        continue
      }
      const moved = seq === current ? '' : ` (seq ${seq} of the file)`
      throw new FormatError(code, `Line ${line}: ${message}${moved}`, { seq, line, eventType }, { cause: refusal })
    }
  }

  get #hasBoundaries(): boolean {
    return [...this.#repairs.values()].some(({ code }) => code === 'step-boundary')
  }

  #repair({ code, seq, message }: { code: RepairCode; seq: number; message: string }): void {
    const key = `${code}.${seq}`
    if (!this.#repairs.has(key)) this.#repairs.set(key, { code, seq, line: this.#lineOf(seq), message })
  }

  #lineOf(seq: number): number {
    let low = 0
    let high = this.#jumps.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#jumps[middle]?.seq ?? 0) <= seq) low = middle + 1
      else high = middle
    }
    const { seq: from, line, isRow } = this.#jumps[low - 1] ?? { seq: 0, line: 2, isRow: false }
    return isRow ? line : line + seq - from
  }

  /** Runs `work`; an error of it says the line too. */
  #located<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof FormatError) || error.line !== undefined) throw error
      const { code, message, seq, path, eventType, expected, actual, cause } = error
      const line = seq === undefined ? this.#line : seq >= this.#seq ? this.#line : this.#lineOf(seq)
      const facts = { line, seq, path, eventType, expected, actual, sessionId: this.#header?.id }
      throw new FormatError(code, `Line ${line}: ${message}`, facts, { cause })
    }
  }
}

const BYTE_ORDER_MARK = '\ufeff'

const isBlank = (text: string): boolean => text === '' || !/[^ \t\r]/.test(text)

const withBoundaries = (migrations: readonly Migration[]): readonly Migration[] =>
  migrations.length === 0 ? migrations : [...migrations.slice(0, -1), stepBoundaries, ...migrations.slice(-1)]

function corrupt({ line, seq, what, found }: Issue, proof: number): FormatError {
  const facts = { line, seq, expected: seq, actual: found }
  const proven = proof === line ? 'it ends a turn' : `line ${proof} ends a turn`
  return new FormatError('corrupt', `Line ${line} ${what}, and ${proven}: the log is damaged, not torn`, facts)
}

/**
 * An error of the session that a log was given to, with seq and line in the file.
 */
export function locateError(error: unknown, reader: LogReader): unknown {
  if (!(error instanceof SessionError)) return error
  if (error.seq === undefined) return error.code === 'header' ? atHeader(error) : error
  const { seq, line } = reader.originOf(error.seq)
  const moved = seq === error.seq ? '' : ` (seq ${seq} of the file)`
  const { code, message, path, eventType, expected, actual, sessionId, index } = error
  const facts = { seq, line, path, eventType, expected, actual, sessionId, index }
  return new SessionError(code, `Line ${line}: ${message}${moved}`, facts, { cause: error })
}

/** What a session says of a header, with the line it stands on. */
function atHeader(error: SessionError): SessionError {
  const { code, message, sessionId, path } = error
  return new SessionError(code, `Line 1: ${message}`, { line: 1, sessionId, path }, { cause: error })
}
