/**
 * A turn that a closed or killed session left open: whether it can be gone on with, and with which calls. Pure (SPEC A25).
 */
import { approvalsFold, type ApprovalsState, isPendingApproval } from '../core/approvals.ts'
import type { ContentBlock, Message, ToolCallBlock } from '../core/events.ts'
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
  /** Whether running a call of this tool twice does no harm. */
  readonly isIdempotent: (toolName: string) => boolean
}

/**
 * True when the open turn need not be closed by repair: a question of it waits for an answer, or what was cut off may run
 * again.
 */
export function canGoOn({ turns, approvals, policy, isIdempotent }: Continuation): boolean {
  const { openTurn, openStep, pendingCalls } = turns
  if (openTurn === null || openStep === null) return false
  const isAsked = ({ callId }: PendingCall) => isPendingApproval(approvals, callId)
  const runsAgain = (call: PendingCall) => call.callSeq !== null && policy === 'auto' && isIdempotent(call.name)
  return pendingCalls.some(call => isAsked(call) || runsAgain(call))
}

/** The open step with its unanswered calls, in the order of the answer that asked for them. */
export function openStepOf(
  { turns, approvals, policy, isIdempotent }: Continuation,
  messages: Iterable<Message>,
): OpenStep | null {
  const { openTurn, openStep, pendingCalls } = turns
  if (openTurn === null || openStep === null) return null
  const blocks = new Map<string, ToolCallBlock>()
  for (const { content } of messages) for (const block of content) if (isCall(block)) blocks.set(block.id, block)
  const calls = pendingCalls.flatMap(({ callId, name, callSeq }): CallToRun[] => {
    const call = blocks.get(callId)
    if (call === undefined) return []
    if (callSeq === null) return [{ call }]
    const isKnown = isPendingApproval(approvals, callId) || (policy === 'auto' && isIdempotent(name))
    return [{ call, recordedSeq: callSeq, ...(isKnown ? {} : { isUnknown: true }) }]
  })
  return { turn: openTurn, step: openStep, calls }
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
      return canGoOn({ turns, approvals, policy, isIdempotent })
    } catch {
      return false
    }
  }
}
