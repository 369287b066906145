/** A session of the core as a source of views: in memory, without a worker, an agent or storage. */
import { SessionError } from '../core/errors.ts'
import type { SessionEvent } from '../core/events.ts'
import type { Session } from '../core/session.ts'
import type { SessionSource, SessionStatus } from './source.ts'
import { surfaceNodes } from './surface-nodes.ts'
import { evolveUsage, usageFold } from './usage.ts'

const STATUS: SessionStatus = Object.freeze({
  agent: Object.freeze({ kind: 'idle' }),
  storage: Object.freeze({ kind: 'memory', state: 'idle', unsaved: 0, lastError: null }),
})

/** `session` as a source: idle, saved, in memory. A listener may not append to it while it is told of an append. */
export function localSource(session: Session): SessionSource {
  let usage = usageFold.initial()
  let counted = 0
  const eventAt = (seq: number): SessionEvent => {
    const event = session.eventAt(seq)
    if (event !== undefined) return event
    throw new SessionError('not-resident', `Event ${seq} of session ${session.id} is not in memory`, { seq })
  }
  return {
    id: session.id,
    get length() {
      return session.length
    },
    frames: [],
    status: STATUS,
    get usage() {
      for (; counted < session.length; counted += 1) usage = evolveUsage(usage, eventAt(counted))
      return usage
    },
    async *readEvents({ from, to }) {
      for (let seq = from; seq < Math.min(to, session.length); seq += 1) yield eventAt(seq)
    },
    readSurface: async () => ({ length: session.length, nodes: surfaceNodes(session) }),
    subscribe: listener => session.subscribe(entry => listener({ kind: 'committed', entries: [entry] })),
  }
}
