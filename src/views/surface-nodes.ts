/** The surface of a session in this realm, as a view reads it. */
import type { SurfaceEvent } from '../core/events.ts'
import type { Session } from '../core/session.ts'
import type { SurfaceNode } from './source.ts'

/** Its nodes in reading order, with what each contributes and where that comes from. */
export function surfaceNodes(session: Session): SurfaceNode[] {
  const { messages } = session
  return session.surface.nodes.map((seq, position) => {
    // Events of the surface are resident.
    const event = session.eventAt(seq) as SurfaceEvent
    const replaces = event.surfaceOp === 'append' ? null : (event.sourceEventSeqs ?? [])
    return { seq, message: messages.atNode(position), replaces, projected: session.surface.isProjected(seq) }
  })
}
