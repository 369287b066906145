/** Payloads that name nodes of the surface, each once: what interpreters of such events check first. */
import type { Message } from '../events.ts'
import { isSafeNonNegativeInteger, type SessionSeq } from '../ids.ts'
import { type ProjectionContext, unfit } from '../message-projection.ts'

export type ProjectionTarget = {
  readonly seq: SessionSeq
  /** As earlier projections left it. */
  readonly message: Message
  /** The entry itself. */
  readonly target: unknown
}

/**
 * The entries of `{targets: [{seq, …}]}` with the messages they are about.
 *
 * @throws {SessionError} `projection` when there are none, one has other members than `seq` and `members`, or names what is not on the
 * surface, or what another names already.
 */
export function checkTargets(
  data: unknown,
  members: readonly string[],
  { messageAt }: Pick<ProjectionContext, 'messageAt'>,
): readonly ProjectionTarget[] {
  const { targets } = (data ?? {}) as { readonly targets?: unknown }
  if (!Array.isArray(targets) || targets.length === 0) throw unfit('targets are not a list of at least one')
  const seen = new Set<SessionSeq>()
  return targets.map((target: unknown, index) => {
    const { seq } = (target ?? {}) as { readonly seq?: SessionSeq }
    const keys = Object.keys(target ?? {})
    if (keys.length !== members.length + 1 || !['seq', ...members].every(key => keys.includes(key))) {
      throw unfit(`targets[${index}] has other members than seq, ${members.join(', ')}`)
    }
    if (!isSafeNonNegativeInteger(seq) || seen.has(seq)) throw unfit(`targets[${index}] names no seq of its own`)
    seen.add(seq)
    const message = messageAt(seq)
    if (message === undefined) throw unfit(`targets[${index}] names ${seq}, which is not on the surface`)
    return { seq, message, target }
  })
}
