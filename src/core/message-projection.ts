/**
 * Message projections: log-only events that change what messages on the surface say, without changing which messages
 * are there. An interpreter says how; its answer is checked and planned like any other change (SPEC M1–M5).
 */
import { refusal, SessionError } from './errors.ts'
import type { LogOnlyEvent, Message, SessionEvent, SurfaceEvent } from './events.ts'
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
export type MessageProjection<Data = unknown> = {
  readonly type: string
  readonly version: number
  /** The payload is as its writer wrote it, unless the definition of its type checks it. */
  project(event: LogOnlyEvent<string, Data>, context: ProjectionContext): Iterable<readonly [SessionSeq, Message]>
}

/** Which interpreters there are, and which types need one. */
export type Interpreters = {
  get(type: string): MessageProjection | undefined
  needs(type: string): boolean
}

/** A value in words, such as one that was thrown. Cannot fail, whatever it is. */
export function inWords(value: unknown): string {
  try {
    return String(value instanceof Error ? value.message : value)
  } catch {
    return 'something that has no words'
  }
}

/** Why an interpreter refuses, or is refused. */
export const unfit = (why: string): SessionError => new SessionError('projection', why)

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
  const projected = new Map<SessionSeq, ProjectedMessage>()
  try {
    const answer = projection.project(event, {
      get nodes() {
        return (nodes ??= Object.freeze([...surface.nodes]))
      },
      eventAt: nodeAt,
      messageAt: seq => {
        const node = nodeAt(seq)
        return node && (surface.projected.get(seq) ?? messageOf(node))
      },
    })
    // Checked one by one: an answer without end is refused at the first that repeats.
    for (const [seq, message] of answer) {
      const at = surface.nodes.lastIndexOf(seq)
      const node = nodeAt(seq)
      if (node === undefined) throw unfit(`it answers for ${seq}, which is not on the surface`)
      if (projected.has(seq)) throw unfit(`it answers twice for ${seq}`)
      projected.set(seq, { at, seq: node.seq, message: checkedMessage(node, message) })
    }
  } catch (error) {
    throw refusal('projection', event, `was refused by its interpreter: ${inWords(error)}`, undefined, { cause: error })
  }
  return { kind: 'project', seq: event.seq, projected: [...projected.values()] }
}

/**
 * A copy of a message that is to stand for the own one of `node`.
 *
 * @throws {SessionError} when it is no lossless JSON, no message of the event's type, or has another id, role or source.
 */
export function checkedMessage(node: SurfaceEvent, message: Message): Message {
  const copy = snapshotJson(message)
  checkPayload({
    ...node,
    data: node.type === 'user/message' ? copy : { ...node.data, message: copy },
  } as SurfaceEvent)
  const { id, role, source } = messageOf(node)
  if (copy.id !== id || copy.role !== role || !equalJson(copy.source, source)) {
    throw unfit(`the message of ${node.seq} has another id, role or source`)
  }
  return copy
}

export function missingInterpreter(type: string, seq?: number): SessionError {
  const where = seq === undefined ? type : `${type} at seq ${seq}`
  const message = `${where} changes messages and has no interpreter: pass it in projections`
  return new SessionError('interpreter-missing', message, { eventType: type, seq })
}
