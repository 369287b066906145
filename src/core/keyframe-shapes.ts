/** Shapes of the states a keyframe holds: what has another is no state to go on from (SPEC K3). */
import type { EventData, SessionEvent } from './events.ts'
import { isSafeNonNegativeInteger } from './ids.ts'
import { isUserMessage } from './inbox.ts'
import { checkPayload } from './shapes.ts'

/** Whether a value has a shape. */
export type Shape = (value: unknown) => boolean

export const isCount: Shape = isSafeNonNegativeInteger
export const isString: Shape = value => typeof value === 'string'
export const nullOr =
  (shape: Shape): Shape =>
  value =>
    value === null || shape(value)
export const listOf =
  (shape: Shape): Shape =>
  value =>
    Array.isArray(value) && value.every(shape)
/** Of an object: it may have other members too. */
export const membersOf =
  (members: { readonly [key: string]: Shape }): Shape =>
  value =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(members).every(([key, shape]) => shape((value as Record<string, unknown>)[key]))

/** Of the payload of an event. @throws {SessionError} `payload` when it is not. */
const payloadOf =
  (type: keyof EventData): Shape =>
  data => {
    checkPayload({ type, data } as SessionEvent)
    return true
  }

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
