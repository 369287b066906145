/** Relations between events of plugins: commands, titles, nested calls, records of delivery (SPEC F9). */
import type { EventOf } from '../core/events.ts'
import type { Fold } from '../core/fold.ts'
import { isSafeNonNegativeInteger, SessionSeq } from '../core/ids.ts'
import type { LogView } from '../core/invariant.ts'
import { expected, type Fields, fieldsOf, isText } from '../core/invariants/payload.ts'
import { openTurnProblem } from '../core/invariants/place.ts'
import { equalJson, type JsonValue } from '../core/json.ts'
import { turnsFold } from '../core/turns.ts'
import { added, entriesOf, type IdTable, idTable, tableFromJson, valueOf } from './id-table.ts'

/** An id in words, no more of it than names it. */
export const quoted = (id: string): string => JSON.stringify(id.slice(0, 40))

// ── Commands ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Seq of the `command/run` of each command. */
export const commandsFold: Fold<IdTable<SessionSeq>> = {
  key: 'commands',
  version: 1,
  on: ['command/run'],
  initial: () => idTable(),
  evolve(table, { event }) {
    const { commandId } = fieldsOf(event.data)
    return event.type === 'command/run' && isText(commandId) ? added(table, commandId, event.seq) : table
  },
  toJSON: table => entriesOf(table),
  fromJSON: json => tableFromJson(json),
}

export function commandRunProblem({ commandId }: Fields, log: LogView): string | null {
  if (!isText(commandId)) return expected('a commandId', commandId)
  const seq = valueOf(log.fold(commandsFold), commandId)
  return seq === undefined
    ? null
    : `expected a commandId no other command has, found ${quoted(commandId)} of seq ${seq}`
}

/** A command may be done more than once. What it led to is no event about commands. */
export function commandDoneProblem(
  { commandId, kind, sourceEventSeq: source }: Fields,
  event: LogPlace,
): string | null {
  const { seq, log } = event
  if (!isText(commandId) || valueOf(log.fold(commandsFold), commandId) === undefined) {
    return expected('the commandId of a command that was run', commandId)
  }
  if (source === undefined) return null
  if (kind !== 'success') return expected('no sourceEventSeq but on success', source)
  if (!isSafeNonNegativeInteger(source)) return expected('a seq as sourceEventSeq', source)
  const isCommand = source === seq || log.eventAt(SessionSeq(source))?.type.startsWith('command/') === true
  return isCommand ? expected('a sourceEventSeq of no event about commands', source) : null
}

/** Where an event stands. */
export type LogPlace = { readonly seq: SessionSeq; readonly log: LogView }

// ── Titles ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A title is made from messages of people, or set by a person and then from none. */
export function titleProblem({ messageSeqs: seqs, source }: Fields, place: LogPlace): string | null {
  if (seqs === undefined) return null
  const problem = citedProblem(seqs, place)
  if (problem !== null) return problem
  const isSet = fieldsOf(source)['kind'] === 'user'
  const isEmpty = (seqs as readonly unknown[]).length === 0
  if (isEmpty === isSet) return null
  return expected(isSet ? 'no messageSeqs for a title that a person set' : 'messageSeqs the title is made from', seqs)
}

/** Messages that are cited as what people said. */
export function citedProblem(seqs: unknown, { seq, log }: LogPlace): string | null {
  if (seqs === undefined) return null
  if (!Array.isArray(seqs)) return expected('a list of messageSeqs', seqs)
  const wrong = (seqs as readonly unknown[]).findIndex(cited => {
    if (!isSafeNonNegativeInteger(cited) || cited >= seq) return true
    const event = log.eventAt(SessionSeq(cited))
    // One that is not resident was looked at when it was written.
    return event !== undefined && !(event.type === 'user/message' && event.data.source.kind === 'user')
  })
  return wrong === -1 ? null : expected(`messageSeqs[${wrong}] to be an earlier message of a person`, seqs[wrong])
}

// ── Nested calls ────────────────────────────────────────────────────────────────────────────────────────────────────

type Nested = { readonly root: string; readonly parent: string; readonly name: unknown; readonly arguments: unknown }
export type NestedState = {
  /** By their `subCallId`. */
  readonly started: IdTable<Nested>
  readonly settled: IdTable<true>
}

const nestedOf = (data: Fields): (Nested & { readonly id: string }) | null => {
  const { rootCallId: root, parentCallId: parent, subCallId: id, name } = data
  if (!isText(root) || !isText(parent) || !isText(id)) return null
  return { id, root, parent, name, arguments: data['arguments'] }
}

/** Calls that programs of code tools made. A malformed payload changes nothing. */
export const nestedFold: Fold<NestedState> = {
  key: 'nested-calls',
  version: 1,
  on: ['tool/ptc-dispatch-start', 'tool/ptc-dispatch'],
  initial: () => ({ started: idTable(), settled: idTable() }),
  evolve(state, { event }) {
    const isStart = event.type === 'tool/ptc-dispatch-start'
    if (!isStart && event.type !== 'tool/ptc-dispatch') return state
    const call = nestedOf(fieldsOf(event.data))
    if (call === null) return state
    const { id, ...nested } = call
    return isStart
      ? { ...state, started: added(state.started, id, nested) }
      : { ...state, settled: added(state.settled, id, true) }
  },
  toJSON: ({ started, settled }) => {
    return { started: entriesOf(started), settled: entriesOf(settled) } as unknown as JsonValue
  },
  fromJSON(json) {
    const { started, settled } = json as { readonly [key: string]: JsonValue }
    return { started: tableFromJson(started), settled: tableFromJson(settled) }
  },
}

/** Inside a turn, under its own id, below its root or another call of the same root. */
export function nestedStartProblem(data: Fields, log: LogView): string | null {
  const found = nestedProblem(data, log)
  if (typeof found === 'string') return found
  const { id, root, parent } = found
  const { started } = log.fold(nestedFold)
  if (valueOf(started, id) !== undefined) return `expected a subCallId no other call has, found ${quoted(id)}`
  const isBelow = parent === root || valueOf(started, parent)?.root === root
  return isBelow ? null : expected(`a parentCallId that belongs to the root ${quoted(root)}`, parent)
}

/** What settles is what was started, once. */
export function nestedEndProblem(data: Fields, log: LogView): string | null {
  const found = nestedProblem(data, log)
  if (typeof found === 'string') return found
  const { id, ...call } = found
  const { started, settled } = log.fold(nestedFold)
  const start = valueOf(started, id)
  if (start === undefined) return expected('the subCallId of a call that was started', id)
  if (valueOf(settled, id) === true) return `expected call ${quoted(id)} to settle once, found it settled`
  const wrong = (['root', 'parent', 'name', 'arguments'] as const).find(key => !equalJson(call[key], start[key]))
  if (wrong === undefined) return null
  const key = wrong === 'root' || wrong === 'parent' ? `${wrong}CallId` : wrong
  return `expected call ${quoted(id)} to settle with the ${key} it was started with, found another`
}

function nestedProblem(data: Fields, log: LogView): (Nested & { readonly id: string }) | string {
  const turns = log.fold(turnsFold)
  return openTurnProblem(turns, turns.openTurn) ?? nestedOf(data) ?? 'expected rootCallId, parentCallId and subCallId'
}

// ── Delivery ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Whose log it is. */
export type Provenance = {
  readonly sessionId: string
  /** Events before this seq are another session's. */
  readonly inheritedEventCount: number
}

/** Records of before version 2 were written by who did not say so: their version's step has looked at them. */
const FIRST_NAMING_VERSION = 2

/** What was delivered is this session's, unless it is inherited. */
export function deliveryProblem(
  { data, seq }: EventOf<'session-log-deepseek/delivery-accepted'>,
  { sessionId, inheritedEventCount }: Provenance,
): string | null {
  const { sessionId: named, sessionFormatVersion: version } = fieldsOf(data)
  if (seq < inheritedEventCount || typeof version !== 'number' || version < FIRST_NAMING_VERSION) return null
  return named === sessionId ? null : expected(`sessionId ${quoted(sessionId)}`, named)
}
