/** Which calls of the open turn wait for a person to allow them, and what was decided about the others (SPEC A23). */
import type { EventOf, SessionEvent } from './events.ts'
import type { Fold } from './fold.ts'
import type { SessionSeq } from './ids.ts'
import { fieldsOf, isText } from './invariants/payload.ts'
import type { ApprovalDecided } from './plugin-events.ts'
import { isCount, isString, listOf, membersOf, nullOr } from './value-shapes.ts'

/** A question nobody has answered. */
export type PendingApproval = {
  readonly id: string
  /** Null when it is about no call in particular. */
  readonly callId: string | null
  readonly toolName: string
  readonly reason: string | null
  /** Of the question. */
  readonly seq: SessionSeq
}

export type ApprovalOutcome = ApprovalDecided['outcome']

export type DecidedApproval = {
  readonly id: string
  readonly callId: string | null
  /** `cancelled` also when the call was answered before anybody decided. */
  readonly outcome: ApprovalOutcome
}

/** Of the open turn. Immutable: as long as nothing changes it is the same object. */
export type ApprovalsState = {
  /** In the order they were asked. */
  readonly pending: readonly PendingApproval[]
  /** In the order they were decided. */
  readonly decided: readonly DecidedApproval[]
}

const OUTCOMES: readonly unknown[] = [
  'allowed-once',
  'rejected',
  'cancelled',
  'unavailable',
] satisfies ApprovalOutcome[]
const NONE: ApprovalsState = Object.freeze({ pending: Object.freeze([]), decided: Object.freeze([]) })

export const approvalsFold: Fold<ApprovalsState> = {
  key: 'approvals',
  version: 1,
  on: ['approval/asked', 'approval/decided', 'tool/result', 'turn/start', 'turn/end'],
  initial: () => NONE,
  evolve: (state, { event }) => evolveApprovals(state, event),
  toJSON: state => state,
  fromJSON(json) {
    if (!isApprovalsState(json)) throw new TypeError('no approvals')
    return json as unknown as ApprovalsState
  },
}

/**
 * The approvals after `event`; the same object when the event is not about them. A malformed payload, a question whose id
 * is known in this turn, and a decision about nothing that waits are passed over: replay never fails.
 */
export function evolveApprovals(state: ApprovalsState, event: SessionEvent): ApprovalsState {
  const { pending, decided } = state
  switch (event.type) {
    case 'turn/start':
    case 'turn/end':
      return pending.length + decided.length === 0 ? state : NONE
    case 'approval/asked': {
      const asked = askedApproval(event)
      if (asked === null || [...pending, ...decided].some(({ id }) => id === asked.id)) return state
      return { pending: [...pending, asked], decided }
    }
    case 'approval/decided': {
      const decision = approvalDecision(event)
      return decision === null ? state : settled(state, ({ id }) => id === decision.id, decision.outcome)
    }
    case 'tool/result': {
      // A rewritten result is none of the call's.
      if (event.surfaceOp !== 'append') return state
      const { callId } = fieldsOf(fieldsOf(fieldsOf(event.data)['message'])['source'])
      return isText(callId) ? settled(state, each => each.callId === callId, 'cancelled') : state
    }
    default:
      return state
  }
}

function settled(
  state: ApprovalsState,
  isSettled: (asked: PendingApproval) => boolean,
  outcome: ApprovalOutcome,
): ApprovalsState {
  const { pending, decided } = state
  const now = pending.filter(isSettled)
  if (now.length === 0) return state
  return {
    pending: pending.filter(each => !now.includes(each)),
    decided: [...decided, ...now.map(({ id, callId }) => ({ id, callId, outcome }))],
  }
}

/** The question in an event; null when it is malformed. */
export function askedApproval({ seq, data }: EventOf<'approval/asked'>): PendingApproval | null {
  const { id, toolName, callId = null, reason = null } = fieldsOf(data)
  if (!isText(id) || !isText(toolName) || (callId !== null && !isText(callId))) return null
  if (reason !== null && typeof reason !== 'string') return null
  return { id, callId, toolName, reason: reason || null, seq }
}

/** The decision in an event; null when it is malformed. */
export function approvalDecision({
  data,
}: EventOf<'approval/decided'>): Pick<DecidedApproval, 'id' | 'outcome'> | null {
  const { id, outcome } = fieldsOf(data)
  return isText(id) && OUTCOMES.includes(outcome) ? { id, outcome: outcome as ApprovalOutcome } : null
}

/** True while a question about the call `callId` waits for an answer. */
export const isPendingApproval = ({ pending }: ApprovalsState, callId: string): boolean =>
  pending.some(each => each.callId === callId)

/** A function, so that who folds none does not bundle it. */
function isApprovalsState(value: unknown): boolean {
  const question = { id: isText, callId: nullOr(isText) }
  return membersOf({
    pending: listOf(membersOf({ ...question, toolName: isText, reason: nullOr(isString), seq: isCount })),
    decided: listOf(membersOf({ ...question, outcome: each => OUTCOMES.includes(each) })),
  })(value)
}
