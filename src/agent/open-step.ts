/**
 * A turn that a closed or killed session left open: whether it can be gone on with, and with which calls. Pure (SPEC A25).
 */
import { approvalsFold, type ApprovalsState, isPendingApproval } from '../core/approvals.ts'
import type { ContentBlock, Message, ToolCallBlock } from '../core/events.ts'
import { lastTurnFold } from '../core/last-turn.ts'
import type { PendingCall, TurnsState } from '../core/turns.ts'
import type { SessionsOptions } from '../sessions/sessions.ts'
import type { CallToRun } from './run-tools.ts'
import type { AgentSetup } from './setup.ts'
import type { OpenStep } from './turn.ts'

type KeepsTurn = NonNullable<SessionsOptions['keepsTurn']>

/** `ask`: somebody has to say so. `auto`: by itself, and calls of idempotent tools that were cut off run again. */
export type ResumePolicy = 'never' | 'ask' | 'auto'

export type Continuation = {
  readonly turns: TurnsState
  readonly approvals: ApprovalsState
  readonly policy: ResumePolicy
  /** How often in a row a turn was cut off by now. */
  readonly interruptions: number
  /** Whether running a call of this tool twice does no harm. */
  readonly isIdempotent: (toolName: string) => boolean
}

/** After so many in a row that were cut off, nothing goes on by itself. */
export const MAX_INTERRUPTIONS = 3

/**
 * True when the open turn need not be closed by repair: a question of it waits for an answer, or what was cut off may run
 * again.
 */
export function canGoOn(continuation: Continuation): boolean {
  const { openTurn, openStep, pendingCalls } = continuation.turns
  if (openTurn === null || openStep === null) return false
  return pendingCalls.some(call => isAsked(call, continuation) || runsAgain(call, continuation))
}

/** The open step with its unanswered calls, in the order of the answer that asked for them. */
export function openStepOf(continuation: Continuation, messages: Iterable<Message>): OpenStep | null {
  const { openTurn, openStep, pendingCalls } = continuation.turns
  if (openTurn === null || openStep === null) return null
  const blocks = new Map<string, ToolCallBlock>()
  for (const { content } of messages) for (const block of content) if (isCall(block)) blocks.set(block.id, block)
  const calls = pendingCalls.flatMap((pending): CallToRun[] => {
    const call = blocks.get(pending.callId)
    if (call === undefined) return []
    if (pending.callSeq === null) return [{ call }]
    const isKnown = isAsked(pending, continuation) || runsAgain(pending, continuation)
    return [{ call, recordedSeq: pending.callSeq, ...(isKnown ? {} : { isUnknown: true }) }]
  })
  return { turn: openTurn, step: openStep, calls, isRerun: pendingCalls.some(call => runsAgain(call, continuation)) }
}

const isAsked = ({ callId }: PendingCall, { approvals }: Continuation): boolean => isPendingApproval(approvals, callId)

/** It was started, nobody knows what came of it, and it may run once more. */
function runsAgain(call: PendingCall, continuation: Continuation): boolean {
  const { policy, interruptions, isIdempotent } = continuation
  if (call.callSeq === null || isAsked(call, continuation)) return false
  return policy === 'auto' && interruptions < MAX_INTERRUPTIONS && isIdempotent(call.name)
}

const isCall = (block: ContentBlock): block is ToolCallBlock => block.type === 'tool-call'

/**
 * For `Sessions`: whether a session that is being opened keeps its open turn, which its agent then goes on with. What
 * keeps the setup from being made keeps the turn from going on.
 */
export function keepsTurn(policy: ResumePolicy, setup: (sessionId: string) => AgentSetup): KeepsTurn {
  return (id, turns, fold) => {
    const approvals = fold(approvalsFold)
    const tools = () => new Map((setup(id).tools ?? []).map(tool => [tool.description.name, tool]))
    const isIdempotent = (name: string) => tools().get(name)?.isIdempotent === true
    try {
      const { interruptions } = fold(lastTurnFold)
      return canGoOn({ turns, approvals, policy, interruptions, isIdempotent })
    } catch {
      return false
    }
  }
}
