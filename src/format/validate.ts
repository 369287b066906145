/**
 * Whether a log of the current version keeps every rule of the format (SPEC F9): all findings for whoever checks a log,
 * and the first broken relation for whoever opens a migrated one.
 */
import { SessionError } from '../core/errors.ts'
import type { SessionEvent, SessionHeader } from '../core/events.ts'
import { type ExtensionOptions, Extensions } from '../core/extensions.ts'
import { isSafeNonNegativeInteger, SessionSeq } from '../core/ids.ts'
import type { Invariant } from '../core/invariant.ts'
import { compactionInvariant } from '../core/invariants/compaction-invariant.ts'
import { turnInvariant } from '../core/invariants/session-invariant.ts'
import { checkEnvelope } from '../core/log.ts'
import { inWords } from '../core/message-projection.ts'
import { checkedCut } from '../core/seed.ts'
import { checkHeader } from '../core/shapes.ts'
import { streamMismatch } from '../core/stream-grammar.ts'
import { expandStream } from '../core/stream-records.ts'
import { type FormatError, formatRefusal } from './errors.ts'
import { LogWalk, NO_CHANGE, type Problem } from './log-walk.ts'
import { pairInvariant, type Provenance, relationInvariant } from './relations.ts'
import { quickRetryInvariant } from './retry-relation.ts'

/** Something that is wrong with a log. */
export type Finding = {
  /** The code of a `SessionError`, the key of an invariant, `inherited-cut`, or `unreadable` for what is no JSON. */
  readonly code: string
  readonly seq?: number
  readonly message: string
}

/**
 * Everything that is wrong with a log of the current version, in the order of its events: at most one finding for each
 * code and seq, and none for a log that the format takes in full. An event whose envelope or payload is broken counts
 * for nothing else; one that may not stand on the surface as it says leaves that as it was. Never throws for a log.
 *
 * @throws {SessionError} `registration` for options that a session would refuse.
 */
export function validateLog(
  { header, events }: { readonly header: SessionHeader; readonly events: readonly SessionEvent[] },
  options: ExtensionOptions = {},
): readonly Finding[] {
  const extensions = new Extensions(options)
  const findings = new Findings()
  const inherited = markedCut(events)
  findings.attempt(undefined, () => checkHeader(header))
  if (typeof memberOf(header, 'isSeeded') === 'boolean') {
    const check = () => checkedCut(header, { endSeed: inherited, inherited }, undefined, 'header')
    findings.attempt(inherited ?? undefined, check, 'inherited-cut')
  }
  const walk = new LogWalk(extensions, [
    turnInvariant,
    compactionInvariantOf(events),
    quickRetryInvariant,
    exactStreamInvariant,
    pairInvariant,
    relationInvariant(provenanceOf(header, inherited)),
  ])

  for (const value of events as readonly unknown[]) {
    const { due } = walk
    const refused = findings.attempt(due, () => checkEnvelope(value, due, extensions.knows))
    const seq = seqOf(value)
    // After a gap the log goes on; a seq that was there already is another log's.
    if (refused !== null && !(refused === 'seq' && seq !== null && seq > due)) {
      if (seq === null || seq >= due) walk.passOver(due + 1)
      continue
    }
    const event = value as SessionEvent
    let surfaceChange = NO_CHANGE
    const unfit = findings.attempt(event.seq, () => {
      surfaceChange = walk.plan(event)
    })
    if (unfit === 'payload' || unfit === 'unreadable') {
      walk.passOver(event.seq + 1)
      continue
    }
    const committed = { event, surfaceChange }
    for (const problem of walk.problems(committed)) {
      findings.add(problem.key, event.seq, `${event.type} at seq ${event.seq} ${inWordsOf(problem)}`)
    }
    findings.attempt(event.seq, () => walk.commit(committed))
  }
  return findings.list
}

/**
 * The relations between its events that a migrated log breaks, one for each event, as far as a session does not refuse it
 * by itself. Calls that are not answered, and answers that nothing asks for, do not count: what is sent is healed
 * (SPEC A3).
 */
export function* brokenRelations(
  header: SessionHeader,
  events: readonly SessionEvent[],
): Generator<FormatError, undefined> {
  const walk = new LogWalk(new Extensions({}), [
    turnInvariant,
    compactionInvariantOf(events),
    quickRetryInvariant,
    relationInvariant(provenanceOf(header, markedCut(events))),
  ])
  for (const event of events) {
    let surfaceChange = NO_CHANGE
    try {
      surfaceChange = walk.plan(event)
    } catch (error) {
      if (!(error instanceof SessionError)) throw error
      // Only who opens the log has its interpreters.
      if (error.code !== 'interpreter-missing') return
    }
    const committed = { event, surfaceChange }
    const [first] = walk.problems(committed)
    if (first !== undefined) yield formatRefusal('relation', event, inWordsOf(first))
    walk.commit(committed)
  }
}

/**
 * `compactionInvariant` for a log that is there as a whole: one knows of a compaction whose process died, since an
 * end-seed comes before its end, that turns may begin and end over it.
 */
function compactionInvariantOf(events: readonly unknown[]): Invariant {
  const orphaned = new Set<number>()
  let since: number[] | null = null
  for (const event of events) {
    const type = memberOf(event, 'type')
    if (type === 'compaction/start') since ??= []
    else if (type === 'compaction/end') since = null
    else if (type === 'session/end-seed') {
      for (const seq of since ?? []) orphaned.add(seq)
      since = null
    } else if (type === 'turn/start' || type === 'turn/end') since?.push(seqOf(event) ?? -1)
  }
  return {
    ...compactionInvariant,
    problem: (committed, log) =>
      orphaned.has(committed.event.seq) ? null : compactionInvariant.problem(committed, log),
  }
}

/** Streams that can be read, and messages that say what theirs did; one that never finished counts as one that stopped. */
const exactStreamInvariant: Invariant = {
  key: 'stream',
  problem({ event }) {
    if (event.type !== 'assistant/message' && event.type !== 'assistant/attempt') return null
    try {
      expandStream(event.data.stream)
    } catch (error) {
      if (!(error instanceof SessionError)) throw error
      return error.message
    }
    return event.type === 'assistant/message' ? streamMismatch(event.data, { exact: true }) : null
  },
}

/**
 * The messages of a migrated log that do not say what their streams did: reading does not ask, but what is stored anew
 * has to (spec 8.4).
 */
export function* brokenStreams(events: readonly SessionEvent[]): Generator<FormatError, undefined> {
  for (const event of events) {
    if (event.type !== 'assistant/message' || event.data.stream.length === 0) continue
    const problem = streamMismatch(event.data, { exact: true })
    if (problem !== null) yield formatRefusal('stream', event, `does not say what its stream did: ${problem}`)
  }
}

class Findings {
  readonly list: Finding[] = []
  readonly #known = new Set<string>()

  add(code: string, seq: number | undefined, message: string): void {
    const key = `${code} ${seq}`
    if (this.#known.has(key)) return
    this.#known.add(key)
    this.list.push({ code, ...(seq === undefined ? {} : { seq }), message })
  }

  /** Runs `check` and makes what it throws a finding; answers its code, which is `code` for all typed ones if given. */
  attempt(seq: number | undefined, check: () => unknown, code?: string): string | null {
    try {
      check()
      return null
    } catch (error) {
      const typed = error instanceof SessionError ? error : null
      const where = seq === undefined ? 'The header' : `The event at seq ${seq}`
      const found = typed === null ? 'unreadable' : (code ?? typed.code)
      this.add(found, typed?.seq ?? seq, typed?.message ?? `${where} cannot be read: ${inWords(error)}`)
      return found
    }
  }
}

const inWordsOf = ({ key, problem }: Problem): string => `breaks the invariant ${key}: ${problem}`

function provenanceOf(header: unknown, inherited: SessionSeq | null): Provenance {
  const id = memberOf(header, 'id')
  return { sessionId: typeof id === 'string' ? id : '', inheritedEventCount: inherited ?? 0 }
}

/** Where the last mark says that what is inherited ends. */
function markedCut(events: readonly unknown[]): SessionSeq | null {
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index]
    if (memberOf(event, 'type') !== 'session/end-seed' || memberOf(memberOf(event, 'data'), 'inherited') !== true)
      continue
    const seq = seqOf(event)
    if (seq !== null) return SessionSeq(seq)
  }
  return null
}

function seqOf(event: unknown): number | null {
  const seq = memberOf(event, 'seq')
  return isSafeNonNegativeInteger(seq) ? seq : null
}

/** A member of what may be anything. */
function memberOf(value: unknown, name: string): unknown {
  try {
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined
  } catch {
    return undefined
  }
}
