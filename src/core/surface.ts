/**
 * The surface: the ordered seqs of the events the model reads. An event's effect is planned first (pure, may refuse) and
 * applied second (cannot fail), so a refused event leaves nothing to undo (SPEC S1–S9).
 */
import { refusal } from './errors.ts'
import type { EventOf, Message, SessionEvent, SurfaceEvent, SurfaceOp } from './events.ts'
import { type ExtensionOptions, Extensions } from './extensions.ts'
import type { Committed, EventLookup, Fold, SurfaceChange } from './fold.ts'
import { isSafeNonNegativeInteger, type SessionSeq } from './ids.ts'
import { equalJson, type JsonValue } from './json.ts'
import { type Interpreters, missingInterpreter, type ProjectedSurface, planProjection } from './message-projection.ts'
import { isCoreEventType, isKnownEventType, isSurfaceEventType } from './vocabulary.ts'

/** The folded surface. Only the fold that owns it changes it; everyone else reads. */
export type SurfaceState = {
  readonly nodes: SessionSeq[]
  /** Messages that stand for the own ones of nodes, because a projection changed them. */
  readonly projected: Map<SessionSeq, Message>
  /** +1 for each replacement. */
  replaceGeneration: number
  /** +1 for each replacement and each message projection. */
  contentGeneration: number
}

/** An event of a surface type that carries its marker. */
export function isSurfaceEvent(event: SessionEvent): event is SurfaceEvent {
  return isSurfaceEventType(event.type) && (event as { surfaceOp?: unknown }).surfaceOp !== undefined
}

/** A surface event that was said, not rewritten: the material of a transcript. */
export function isAppendSurfaceEvent(event: SessionEvent): event is SurfaceEvent & { readonly surfaceOp: 'append' } {
  return isSurfaceEvent(event) && event.surfaceOp === 'append'
}

/** A surface event that stands for a range of earlier ones. */
export function isReplaceSurfaceEvent(
  event: SessionEvent,
): event is SurfaceEvent & { readonly surfaceOp: Exclude<SurfaceOp, 'append'> } {
  return isSurfaceEvent(event) && event.surfaceOp !== 'append'
}

const NO_CHANGE: SurfaceChange = Object.freeze({ kind: 'none' })

/**
 * Checks the surface fields of one event by themselves (SPEC S1–S4). `knows` tells the types of this build; unknown
 * ones that may be ignored hold what they like.
 *
 * @throws {SessionError} `surface-op`, `surface-sources`, `surface-range`.
 */
export function checkSurfaceFields(event: SessionEvent, knows: (type: string) => boolean = isKnownEventType): void {
  const { type, seq } = event
  const { surfaceOp, sourceEventSeqs, ignorable } = event as Partial<Record<string, unknown>>
  if (!isSurfaceEventType(type)) {
    if (ignorable === true && !knows(type)) return
    if (surfaceOp !== undefined || sourceEventSeqs !== undefined) {
      const field = surfaceOp !== undefined ? 'surfaceOp' : 'sourceEventSeqs'
      throw refusal('surface-op', event, `is not eligible for the surface but carries ${field}`)
    }
    return
  }
  if (surfaceOp === undefined) throw refusal('surface-op', event, 'must carry surfaceOp')
  if (surfaceOp !== 'append') checkReplaceOp(event, surfaceOp)
  if (sourceEventSeqs === undefined) return
  if (type === 'assistant/message') {
    throw refusal('surface-sources', event, 'embeds its stream and may not carry sourceEventSeqs')
  }
  checkSources(event, sourceEventSeqs, seq)
}

function checkReplaceOp(event: SessionEvent, op: unknown): void {
  if (typeof op !== 'object' || op === null || Array.isArray(op)) {
    throw refusal('surface-op', event, `has an invalid surfaceOp: expected 'append' or an object`)
  }
  const { op: name, startSeq, endSeq } = op as { op?: unknown; startSeq?: unknown; endSeq?: unknown }
  const valid =
    name === 'replace' &&
    isSafeNonNegativeInteger(startSeq) &&
    isSafeNonNegativeInteger(endSeq) &&
    Object.keys(op).length === 3
  if (!valid) {
    throw refusal(
      'surface-op',
      event,
      `has an invalid replace operation: expected exactly {op:'replace', startSeq, endSeq} with seqs, found keys ${Object.keys(op).join(', ')}`,
    )
  }
  if (startSeq >= event.seq || endSeq >= event.seq) {
    throw refusal('surface-range', event, `replaces ${startSeq}…${endSeq}, which is not earlier than itself`)
  }
}

function checkSources(event: SessionEvent, sources: unknown, seq: number): void {
  if (!Array.isArray(sources)) throw refusal('surface-sources', event, 'has sourceEventSeqs that is not an array')
  if (sources.length === 0) throw refusal('surface-sources', event, 'has empty sourceEventSeqs; leave it out instead')
  // Mostly they ascend, and then none can be there twice.
  let last = -1
  let seen: Set<number> | null = null
  for (let index = 0; index < sources.length; index += 1) {
    const source: unknown = sources[index]
    if (!isSafeNonNegativeInteger(source)) {
      throw refusal('surface-sources', event, `has sourceEventSeqs[${index}] that is not a seq`)
    }
    if (seen === null && source <= last) seen = new Set(sources.slice(0, index) as number[])
    if (seen?.has(source) === true) throw refusal('surface-sources', event, `cites ${source} twice`)
    if (source >= seq) throw refusal('surface-sources', event, `cites ${source}, which is not earlier than itself`)
    seen?.add(source)
    last = source
  }
}

/**
 * Works out what `event` does to `surface`, or refuses it. Changes neither. The event's own fields must have passed
 * `checkSurfaceFields`; `eventAt` must know the events on the surface.
 *
 * @throws {SessionError} `surface-range`, `surface-coverage`, `tool-result-rewrite`, `system-head` (SPEC S5–S8);
 * `interpreter-missing`, `projection` (SPEC M2, M4).
 */
export function planSurfaceChange(
  surface: ProjectedSurface,
  event: SessionEvent,
  eventAt: EventLookup,
  interpreters: Interpreters = new Extensions({}),
): SurfaceChange {
  const { type, seq } = event
  const op = (event as { surfaceOp?: unknown }).surfaceOp
  if (op === 'append' && isSurfaceEventType(type)) return { kind: 'append', seq }
  if (!isCoreEventType(type)) {
    const interpreter = interpreters.get(type)
    if (interpreter !== undefined) {
      const change = planProjection(event, interpreter, surface, eventAt)
      if (interpreters.get(type) === interpreter) return change
      throw refusal('projection', event, 'has an interpreter that was removed while it was asked')
    }
    if (interpreters.needs(type)) throw missingInterpreter(type, seq)
    return NO_CHANGE
  }
  if (op === undefined || !isSurfaceEvent(event) || event.surfaceOp === 'append') return NO_CHANGE

  const { startSeq, endSeq } = event.surfaceOp
  const from = surface.nodes.indexOf(startSeq)
  if (from === -1) throw refusal('surface-range', event, `replaces from ${startSeq}, which is not on the surface`)
  // Behind the start first, where it should be: a long surface is not gone through twice.
  let to = surface.nodes.indexOf(endSeq, from)
  if (to === -1) to = surface.nodes.indexOf(endSeq)
  if (to === -1) throw refusal('surface-range', event, `replaces to ${endSeq}, which is not on the surface`)
  if (from > to)
    throw refusal('surface-range', event, `replaces ${startSeq}…${endSeq}, whose start comes after its end`)

  const shadowed = surface.nodes.slice(from, to + 1)
  checkCoverage(event, shadowed)
  if (event.type === 'tool/result') checkToolResultRewrite(event, shadowed, eventAt)
  checkSystemHead(event, from, shadowed, eventAt)
  return { kind: 'replace', seq, from, to }
}

function checkCoverage(event: SurfaceEvent, shadowed: readonly SessionSeq[]): void {
  const sources = new Set(event.sourceEventSeqs)
  const missing = shadowed.filter(seq => !sources.has(seq))
  if (missing.length > 0) {
    throw refusal('surface-coverage', event, `shadows ${listed(missing)} without citing it in sourceEventSeqs`)
  }
}

function checkToolResultRewrite(
  event: EventOf<'tool/result'>,
  shadowed: readonly SessionSeq[],
  eventAt: EventLookup,
): void {
  const target = shadowed.length === 1 ? eventAt(shadowed[0] as SessionSeq) : undefined
  if (target?.type !== 'tool/result') {
    throw refusal('tool-result-rewrite', event, `must replace exactly one tool/result, not ${listed(shadowed)}`)
  }
  if (!equalJson(withoutContent(event), withoutContent(target))) {
    throw refusal('tool-result-rewrite', event, `may change only the content of ${target.seq}`)
  }
}

/** The payload with the one part a rewrite may change taken out. */
function withoutContent({ data }: EventOf<'tool/result'>): unknown {
  const [block] = data.message.content
  return { ...data, message: { ...data.message, content: [{ ...block, content: [] }] } }
}

function checkSystemHead(
  event: SurfaceEvent,
  from: number,
  shadowed: readonly SessionSeq[],
  eventAt: EventLookup,
): void {
  if (from !== 0 || eventAt(shadowed[0] as SessionSeq)?.type !== 'system/message') return
  if (event.type === 'system/message' && shadowed.length === 1) return
  throw refusal(
    'system-head',
    event,
    `would swallow the system head ${shadowed[0]}; only a system/message over exactly it may replace it`,
  )
}

/** Carries out a planned change on a surface the caller owns. Cannot fail. */
export function applySurfaceChange(surface: SurfaceState, change: SurfaceChange): void {
  switch (change.kind) {
    case 'append':
      surface.nodes.push(change.seq)
      return
    case 'replace': {
      const shadowed = surface.nodes.splice(change.from, change.to - change.from + 1, change.seq)
      if (surface.projected.size > 0) for (const seq of shadowed) surface.projected.delete(seq)
      surface.replaceGeneration += 1
      surface.contentGeneration += 1
      return
    }
    case 'project':
      for (const { seq, message } of change.projected) surface.projected.set(seq, message)
      surface.contentGeneration += 1
  }
}

/** An empty surface. */
export const newSurface = (): SurfaceState => ({
  nodes: [],
  projected: new Map(),
  replaceGeneration: 0,
  contentGeneration: 0,
})

/** The surface as a fold. Its state is updated in place: compare generations and length, not references. */
export const surfaceFold: Fold<SurfaceState> = {
  key: 'surface',
  version: 1,
  on: 'surface',
  initial: newSurface,
  evolve(state, { surfaceChange }: Committed) {
    applySurfaceChange(state, surfaceChange)
    return state
  },
  toJSON: ({ nodes, projected, replaceGeneration, contentGeneration }) => ({
    nodes: [...nodes],
    projected: [...projected] as unknown as JsonValue,
    replaceGeneration,
    contentGeneration,
  }),
  fromJSON(json) {
    const { nodes, projected, replaceGeneration, contentGeneration } = json as unknown as Omit<
      SurfaceState,
      'projected'
    > & { readonly projected: readonly (readonly [SessionSeq, Message])[] }
    return { nodes: [...nodes], projected: new Map(projected), replaceGeneration, contentGeneration }
  },
}

/** One replacement found by `foldSurface`, with the seqs it shadowed in surface order. */
export type SurfaceReplacement = {
  readonly seq: SessionSeq
  readonly startSeq: SessionSeq
  readonly endSeq: SessionSeq
  readonly shadowedSeqs: readonly SessionSeq[]
}

export type FoldedSurface = SurfaceState & { readonly replacements: readonly SurfaceReplacement[] }

export type FoldSurfaceOptions = ExtensionOptions & {
  /** The surface before the first event; empty unless said otherwise. Not changed. */
  readonly start?: Readonly<SurfaceState>
  /** Finds earlier events that are still on `start`. */
  readonly eventAt?: EventLookup
}

/**
 * Replays `events` (consecutive, from any seq) and returns the surface they leave, with the history of replacements.
 * Nothing of it is shared with anybody.
 *
 * @throws {SessionError} as `checkSurfaceFields` and `planSurfaceChange` do, and `seq` for a gap.
 */
export function foldSurface(
  events: readonly SessionEvent[],
  { start = newSurface(), eventAt = () => undefined, ...known }: FoldSurfaceOptions = {},
): FoldedSurface {
  const state: SurfaceState = { ...start, nodes: [...start.nodes], projected: new Map(start.projected) }
  const replacements: SurfaceReplacement[] = []
  const base = events[0]?.seq ?? 0
  const lookup: EventLookup = seq => (seq >= base ? events[seq - base] : eventAt(seq))
  const extensions = new Extensions(known)
  events.forEach((event, index) => {
    if (event.seq !== base + index) throw refusal('seq', event, `expected seq ${base + index}`)
    checkSurfaceFields(event, extensions.knows)
    const change = planSurfaceChange(state, event, lookup, extensions)
    if (change.kind === 'replace') {
      const shadowedSeqs = state.nodes.slice(change.from, change.to + 1)
      const [startSeq, endSeq] = [shadowedSeqs[0], shadowedSeqs.at(-1)] as [SessionSeq, SessionSeq]
      replacements.push({ seq: event.seq, startSeq, endSeq, shadowedSeqs })
    }
    applySurfaceChange(state, change)
  })
  return { ...state, replacements }
}

const listed = (seqs: readonly number[]): string =>
  seqs.length <= 8 ? seqs.join(', ') : `${seqs.slice(0, 8).join(', ')} and ${seqs.length - 8} more`
