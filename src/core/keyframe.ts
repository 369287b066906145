/**
 * Keyframes: everything derived at one point of the log, as JSON, so that a session opens from the events of its surface
 * and the tail. A keyframe is a shortcut and never a source: what cannot be used is refused, and the log is folded
 * (SPEC K1–K4).
 */
import { SessionError } from './errors.ts'
import type { SessionEvent, SurfaceEvent } from './events.ts'
import { type Extensions, type ExtensionsSeen, stale } from './extensions.ts'
import { type Fold, FoldSet, type FoldStates } from './fold.ts'
import { isSafeNonNegativeInteger, SessionSeq } from './ids.ts'
import { type JsonDifference, jsonDifference, type JsonValue } from './json.ts'
import { stateShapes } from './keyframe-shapes.ts'
import { checkEnvelope } from './log.ts'
import { checkedMessage, inWords } from './message-projection.ts'
import { ResidentLog } from './resident-log.ts'
import { checkPayload } from './shapes.ts'
import { checkSurfaceFields, isSurfaceEvent, surfaceFold } from './surface.ts'
import { isCount, isString, membersOf } from './value-shapes.ts'

/** All that admission and reading need of the events before `seq`. Plain JSON. */
export type Keyframe = {
  /** Of this layout. */
  readonly version: 1
  readonly sessionId: string
  /** How many events it stands for: the first one after it has this seq. */
  readonly seq: number
  /** Type and time of the last of them. */
  readonly last: LastEvent | null
  readonly extensions: ExtensionsSeen
  readonly folds: FoldStates
}

/** What is known of the last event of a log, whether it is resident or not. Time in epoch ms. */
export type LastEvent = { readonly seq: SessionSeq; readonly type: string; readonly time: number }

/** What a session is built on when it opens from a keyframe. */
export type KeyframeParts = { readonly log: ResidentLog; readonly folds: FoldSet; readonly last: LastEvent | null }

/** A keyframe with the events on its surface, in any order. */
export type KeyframeSource = { readonly keyframe: Keyframe; readonly surfaceEvents: readonly SessionEvent[] }

/**
 * Rebuilds the folds of a keyframe.
 *
 * @throws {SessionError} `keyframe` when it is of another session, layout or fold version, or does not fit its events.
 */
export function readKeyframe(
  { keyframe, surfaceEvents }: KeyframeSource,
  sessionId: string,
  folds: readonly Fold<unknown>[],
  extensions: Extensions,
): KeyframeParts {
  try {
    const { version, seq, last } = keyframe
    if (version !== 1) throw stale(`its layout is version ${String(version)}`)
    if (keyframe.sessionId !== sessionId) throw stale(`it is one of session ${keyframe.sessionId}`)
    const isPlaced = seq === 0 ? last === null : isLast(last) && last?.seq === seq - 1
    if (!isSafeNonNegativeInteger(seq) || !isPlaced) throw stale('it does not say where it is')
    extensions.restore(keyframe.extensions)
    for (const event of surfaceEvents) {
      checkEnvelope(event, event.seq, extensions.knows)
      checkPayload(event)
      checkSurfaceFields(event, extensions.knows)
    }
    const log = new ResidentLog(seq, surfaceEvents)
    const states = foldStates(keyframe, folds)
    const surface = surfaceFold.fromJSON(states[0] as JsonValue, { nodes: [], projected: new Map(), eventAt: log.at })
    const { nodes, projected } = surface
    const isOnLog = (node: SessionSeq) => {
      const event = node < seq ? log.at(node) : undefined
      return event !== undefined && event.seq === node && isSurfaceEvent(event)
    }
    // As many as events, each its own, each among them: the surface is exactly the events.
    const isExact = nodes.length === surfaceEvents.length && new Set(nodes).size === nodes.length
    if (!isExact || !nodes.every(isOnLog)) throw stale('its surface is not the one of the events')
    for (const [node, message] of projected) {
      // Nothing else is in the log so far.
      const event = log.at(node) as SurfaceEvent | undefined
      if (event === undefined) throw stale(`it has a message for ${node}, which is not on its surface`)
      checkedMessage(event, message)
    }
    const result = new FoldSet()
    folds.forEach((fold, index) => {
      const context = { nodes, projected, eventAt: log.at }
      result.register(fold, index === 0 ? surface : fold.fromJSON(states[index] as JsonValue, context))
    })
    return { log, folds: result, last }
  } catch (error) {
    // Whatever is wrong with it: folding the whole log tells more.
    if (error instanceof SessionError && (error.code === 'keyframe' || error.code === 'interpreter-missing'))
      throw error
    throw new SessionError(
      'keyframe',
      `The keyframe cannot be read: ${inWords(error)}`,
      { sessionId },
      { cause: error },
    )
  }
}

const isLast = membersOf({ seq: isCount, type: isString, time: Number.isSafeInteger })

/** The state of each fold, in their order; the first one is the surface. */
function foldStates({ folds: states }: Keyframe, folds: readonly Fold<unknown>[]): readonly JsonValue[] {
  return folds.map(({ key, version }) => {
    const stored = Object.hasOwn(states, key) ? states[key] : undefined
    if (stored?.version !== version) throw stale(`it has no ${key} of version ${version}`)
    if (stateShapes.get(key)?.(stored.state) === false) throw stale(`its ${key} is no state of that fold`)
    return stored.state
  })
}

/** What a keyframe keeps of the last event. */
export const lastEventOf = ({ seq, type, time }: LastEvent): LastEvent => ({ seq: SessionSeq(seq), type, time })

/** A keyframe with events beside it. */
type WithEvents = Keyframe & { readonly events: readonly (SessionEvent | undefined)[] }

/** The first fold in which two keyframes differ, and where; `log` stands for what is no fold. Null when they agree. */
export function keyframeDifference(expected: WithEvents, actual: WithEvents): SessionDifference | null {
  if (expected.seq !== actual.seq) return { fold: 'log', path: '$.seq', expected: expected.seq, actual: actual.seq }
  const { folds: states, ...whole } = expected
  const { folds: own, ...rest } = actual
  for (const [fold, { state }] of Object.entries(states)) {
    const difference = jsonDifference(state, own[fold]?.state)
    if (difference !== null) return { fold, ...difference }
  }
  const difference = jsonDifference(whole, rest)
  return difference && { fold: 'log', ...difference }
}

/**
 * Where a session first differs from the replay of its log: in which fold, and where in its JSON. The fold `log` stands
 * for what is no fold: the events that are resident, the last one, what extensions have seen.
 */
export type SessionDifference = JsonDifference & { readonly fold: string }
