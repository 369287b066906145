import type { Session } from '../core/session.ts'
import { repair } from '../core/repair.ts'
import { turnsFold } from '../core/turns.ts'

/** Closes an open turn nobody goes on with, as opening the session would have (SPEC R1–R5). */
export function closeOpenTurn(session: Session): void {
  const append = session.append.bind(session) as unknown as (...values: unknown[]) => unknown
  for (const { type, data, ...envelope } of repair(session.fold(turnsFold), session.last)) {
    const { surfaceOp, sourceEventSeqs } = envelope as { surfaceOp?: unknown; sourceEventSeqs?: unknown }
    const intent = {
      ...(surfaceOp === undefined ? {} : { surfaceOp }),
      ...(sourceEventSeqs === undefined ? {} : { sourceEventSeqs }),
    }
    append(type, data, ...(surfaceOp === undefined ? [] : [intent]))
  }
}
