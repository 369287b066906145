/**
 * Asking a person whether a call may run: question and decision are events, and only `allowed-once` lets it run
 * (SPEC A23).
 */
import { type ApprovalOutcome, approvalsFold, isPendingApproval } from '../core/approvals.ts'
import type { ToolCallBlock } from '../core/events.ts'
import type { Session } from '../core/session.ts'
import { wellFormedText } from '../core/well-formed.ts'
import { bounded } from './failure.ts'
import { orAborted } from './or-aborted.ts'
import { isDisposal, Suspended } from './suspended.ts'

/**
 * `ask`: calls of tools that say they need it are asked for. `never`: nobody is asked, and those calls are refused. With a
 * list, only the tools on it run unasked, whatever they say of themselves.
 */
export type ApprovalPolicy = 'ask' | 'never' | { readonly allow: readonly string[] }

export type { ApprovalOutcome }
/** What a person can say. */
export type ApprovalAnswer = Extract<ApprovalOutcome, 'allowed-once' | 'rejected'>

export type ApprovalQuestion = {
  readonly sessionId: string
  readonly callId: string
  readonly toolName: string
  /** The arguments, as they would reach the tool. */
  readonly input: unknown
  readonly reason: string | null
  /** Aborts when the turn is stopped: then the answer does not matter any more. */
  readonly signal: AbortSignal
}

export type ApprovalOptions = {
  readonly session: Session
  readonly policy: ApprovalPolicy
  /** Answers instead of people. What it throws, or answers besides the two, is `unavailable`. */
  readonly approver?: ((question: ApprovalQuestion) => ApprovalAnswer | Promise<ApprovalAnswer>) | undefined
  /** Where people are asked. */
  readonly desk: ApprovalDesk
  readonly signal: AbortSignal
  readonly newId: () => string
}

/** Whether a tool that `needs` it, for a reason, has to be asked for under `policy`. */
export function approvalReason(policy: ApprovalPolicy, name: string, needs: false | string): false | string {
  if (typeof policy === 'string') return needs
  return policy.allow.includes(name) ? false : needs || ''
}

type Question = {
  readonly wasAsked: boolean
  readonly commit: (outcome: ApprovalOutcome) => void
  readonly signal: AbortSignal
}

/** Where questions wait for people, of one session. */
export class ApprovalDesk {
  readonly #isOpen: () => boolean
  readonly #waiting = new Map<string, (answer: ApprovalAnswer) => void>()

  /** `isOpen`: whether anybody is there who could answer. */
  constructor(isOpen: () => boolean) {
    this.#isOpen = isOpen
  }

  /**
   * Answers a question; false when that call does not wait for one (any more). The answer is committed when this returns;
   * what keeps it from being is thrown, and the question stays.
   */
  answer(callId: string, answer: ApprovalAnswer): boolean {
    const settle = this.#waiting.get(callId)
    if (settle === undefined) return false
    settle(answer)
    this.#waiting.delete(callId)
    return true
  }

  /**
   * The answer, once `commit` has been called with it; null as soon as `signal` aborts. `unavailable` when nobody is there
   * and nobody was asked before.
   */
  async ask(callId: string, { wasAsked, commit, signal }: Question): Promise<ApprovalAnswer | 'unavailable' | null> {
    if (!wasAsked && !this.#isOpen()) return 'unavailable'
    let committed: ApprovalAnswer | null = null
    const answered = new Promise<ApprovalAnswer>(resolve => {
      this.#waiting.set(callId, answer => {
        commit(answer)
        committed = answer
        resolve(answer)
      })
    })
    try {
      // What was answered in the moment of the abort counts.
      return (await orAborted(answered, signal)) ?? committed
    } finally {
      this.#waiting.delete(callId)
    }
  }
}

/**
 * Asks whether a call may run, and logs question and answer. A question that is in the log already is asked again and not
 * logged again.
 *
 * @throws {Suspended} when the session is closed meanwhile: then the question stays open in the log.
 */
export async function askApproval(
  call: ToolCallBlock,
  input: unknown,
  reason: string,
  options: ApprovalOptions,
): Promise<ApprovalOutcome> {
  const { session, newId, signal } = options
  const { pending } = session.fold(approvalsFold)
  const asked = pending.find(each => each.callId === call.id)
  const id = asked?.id ?? newId()
  const words = bounded(wellFormedText(reason), MAX_REASON)
  if (asked === undefined) {
    session.append('approval/asked', {
      ...{ id, toolName: call.name, callId: call.id },
      ...(words === '' ? {} : { reason: words }),
    })
  }
  const commit = (outcome: ApprovalOutcome) => {
    session.append('approval/decided', { id, outcome })
  }
  const wasAsked = asked !== undefined
  const outcome = await outcomeOf(call, input, { ...options, reason: words || null, wasAsked, commit })
  if (outcome === 'cancelled' && isDisposal(signal)) throw new Suspended()
  if (isPendingApproval(session.fold(approvalsFold), call.id)) commit(outcome)
  return outcome
}

/** Longest reason that is logged, UTF-16 units. */
const MAX_REASON = 500

async function outcomeOf(
  call: ToolCallBlock,
  input: unknown,
  more: ApprovalOptions & Question & { readonly reason: string | null },
): Promise<ApprovalOutcome> {
  const { session, policy, approver, desk, signal, reason } = more
  if (policy === 'never') return 'rejected'
  if (signal.aborted) return 'cancelled'
  if (approver === undefined) return (await desk.ask(call.id, more)) ?? 'cancelled'
  try {
    const question = { sessionId: session.id, callId: call.id, toolName: call.name, input, reason, signal }
    const answer: unknown = await orAborted(Promise.resolve(approver(question)), signal)
    if (signal.aborted) return 'cancelled'
    return answer === 'allowed-once' || answer === 'rejected' ? answer : 'unavailable'
  } catch {
    // Who cannot answer has not allowed anything.
    return 'unavailable'
  }
}
