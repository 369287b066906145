/**
 * Message projections: log-only events that change what messages on the surface say, without changing which messages
 * are there. An interpreter says how; its answer is checked and planned like any other change (SPEC M1–M5).
 */
import { refusal, SessionError } from './errors.ts'
import type { Message, SessionEvent, SurfaceEvent } from './events.ts'
import type { EventLookup, ProjectedMessage, SurfaceChange } from './fold.ts'
import type { SessionSeq } from './ids.ts'
import { equalJson, snapshotJson } from './json.ts'
import { checkPayload } from './shapes.ts'

/** What an interpreter may look at: the surface as it is before the event. */
export type ProjectionContext = {
  readonly nodes: readonly SessionSeq[]
  /** The event of a node; `undefined` for a seq that is not on the surface. */
  eventAt(seq: SessionSeq): SurfaceEvent | undefined
  /** The message of a node as earlier projections left it; `undefined` for a seq that is not on the surface. */
  messageAt(seq: SessionSeq): Message | undefined
}

/**
 * The interpreter of one event type. `project` is synchronous and pure: it checks the whole decision, throws to refuse
 * it, and returns the new message of each node it changes, with id, role and source as they were. A change of what it
 * does needs a new `version`: keyframes of another one are not used.
 */
export type MessageProjection = {
  readonly type: string
  readonly version: number
  project(event: SessionEvent, context: ProjectionContext): Iterable<readonly [SessionSeq, Message]>
}

/** Which interpreters there are, and which types need one. */
export type Interpreters = {
  get(type: string): MessageProjection | undefined
  needs(type: string): boolean
}

/** What a projection is planned against. */
export type ProjectedSurface = {
  readonly nodes: readonly SessionSeq[]
  readonly projected: ReadonlyMap<SessionSeq, Message>
}

/** The message a surface event carries, whatever it contributes. */
export const messageOf = (event: SurfaceEvent): Message =>
  event.type === 'user/message' ? event.data : event.data.message

/**
 * Works out what a projecting event does. Changes nothing.
 *
 * @throws {SessionError} `projection` when the interpreter refuses, or answers with what may not stand there.
 */
export function planProjection(
  event: SessionEvent,
  projection: MessageProjection,
  surface: ProjectedSurface,
  eventAt: EventLookup,
): SurfaceChange {
  const nodeAt = (seq: SessionSeq) =>
    surface.nodes.includes(seq) ? (eventAt(seq) as SurfaceEvent | undefined) : undefined
  let nodes: readonly SessionSeq[] | null = null
  let answer: (readonly [SessionSeq, Message])[]
  try {
    answer = [
      ...projection.project(event, {
        get nodes() {
          return (nodes ??= Object.freeze([...surface.nodes]))
        },
        eventAt: nodeAt,
        messageAt: seq => {
          const node = nodeAt(seq)
          return node && (surface.projected.get(seq) ?? messageOf(node))
        },
      }),
    ]
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw refusal('projection', event, `was refused by its interpreter: ${why}`, undefined, { cause: error })
  }
  const projected = answer.map(([seq, message]): ProjectedMessage => {
    const fail = (what: string, cause?: unknown): never => {
      throw refusal('projection', event, `has an interpreter that ${what} for ${seq}`, undefined, { cause })
    }
    const at = surface.nodes.lastIndexOf(seq)
    const node = nodeAt(seq) ?? fail('answers, though it is not on the surface,')
    const own = messageOf(node)
    let copy: Message
    try {
      copy = snapshotJson(message)
      checkPayload({
        ...node,
        data: node.type === 'user/message' ? copy : { ...node.data, message: copy },
      } as SurfaceEvent)
    } catch (error) {
      return fail('gives no message of its type', error)
    }
    const { id, role, source } = own
    if (copy.id !== id || copy.role !== role || !equalJson(copy.source, source)) fail('changes id, role or source')
    return { at, seq, message: copy }
  })
  if (new Set(projected.map(({ seq }) => seq)).size < projected.length) {
    throw refusal('projection', event, 'has an interpreter that answers twice for one node')
  }
  return { kind: 'project', seq: event.seq, projected }
}

export function missingInterpreter(type: string, seq?: number): SessionError {
  const where = seq === undefined ? type : `${type} at seq ${seq}`
  const message = `${where} changes messages and has no interpreter: load the plugin it belongs to`
  return new SessionError('interpreter-missing', message, { eventType: type, seq })
}
