/** Shapes of the states a keyframe holds: what has another is no state to go on from (SPEC K3). */
import type { EventData } from './events.ts'
import { isUserMessage } from './inbox.ts'
import { isPayload } from './shapes.ts'
import { isCount, isString, listOf, membersOf, nullOr, type Shape } from './value-shapes.ts'

const payloadOf =
  (type: keyof EventData): Shape =>
  data =>
    isPayload(type, data)

/** What the states of a session's own folds look like, by key. Entries of `projected` are checked with the events they are about. */
export const stateShapes: ReadonlyMap<string, Shape> = new Map(
  Object.entries({
    surface: membersOf({
      nodes: listOf(isCount),
      projected: listOf(Array.isArray),
      replaceGeneration: isCount,
      contentGeneration: isCount,
    }),
    turns: membersOf({
      openTurn: nullOr(isCount),
      openStep: nullOr(isCount),
      lastTurn: isCount,
      lastStep: isCount,
      pendingCalls: listOf(membersOf({ callId: isString, name: isString, step: isCount, callSeq: nullOr(isCount) })),
      unaskedCalls: listOf(isString),
    }),
    request: membersOf({
      header: nullOr(membersOf({ seq: isCount, data: payloadOf('request/header') })),
      context: nullOr(payloadOf('request/context')),
    }),
    seed: membersOf({ endSeed: nullOr(isCount), inherited: nullOr(isCount) }),
    inbox: membersOf({
      nextTurn: listOf(isUserMessage),
      nextStep: listOf(isUserMessage),
      claimed: listOf(membersOf({ target: isString, message: isUserMessage })),
    }),
  }),
)
