/** Where others have a say in a turn: asked in order, at fixed points (SPEC A20). */
import type { LlmFailure, ToolCallBlock, UserMessage } from '../core/events.ts'
import type { Session } from '../core/session.ts'
import { AgentError } from './errors.ts'

/** What a hook is told about where the turn is. */
export type HookPlace = {
  readonly session: Session
  readonly turn: number
  readonly step: number
  /** Aborts when the turn is stopped; what a hook still does then is not waited for. */
  readonly signal: AbortSignal
}

/** `reject` ends the turn as `blocked`, and what it had taken is gone. What `enter` holds is what the step begins with. */
export type PreStepDecision =
  | { readonly kind: 'reject' }
  | { readonly kind: 'enter'; readonly messages: readonly UserMessage[]; readonly startsRequestSeries?: boolean }

/** Whether a call may run. A later hook can only be stricter: allow, ask, deny, in this order. */
export type PreExecuteDecision =
  | { readonly kind: 'allow' }
  | { readonly kind: 'ask'; readonly reason?: string }
  | { readonly kind: 'deny'; readonly reason: string }

type Maybe<Value> = Value | undefined | Promise<Value | undefined>

/** What a hook throws ends its turn with an error, except where it says otherwise. */
export type AgentHooks = {
  /** Before each step, and before anything of it is logged; each hook is given what the one before decided. */
  readonly preStep?: (
    place: HookPlace & { readonly messages: readonly UserMessage[]; readonly startsRequestSeries: boolean },
  ) => Maybe<PreStepDecision>
  /** Before a call whose arguments fit; it is recorded by then. What it throws denies the call. */
  readonly preExecute?: (
    place: HookPlace & { readonly call: ToolCallBlock; readonly input: unknown },
  ) => Maybe<PreExecuteDecision>
  /** After a model call failed, before the retry policy: `retry` asks again at once. */
  readonly requestError?: (place: HookPlace & { readonly failure: LlmFailure }) => Maybe<'retry'>
  /** The turn would end: who steers it now keeps it going. */
  readonly turnStopping?: (place: HookPlace) => void | Promise<void>
}

/** The decision about a step, after all hooks. */
export async function decideStep(
  hooks: readonly AgentHooks[],
  place: HookPlace,
  messages: readonly UserMessage[],
): Promise<PreStepDecision> {
  let decision: Extract<PreStepDecision, { kind: 'enter' }> = { kind: 'enter', messages }
  for (const { preStep } of hooks) {
    const { messages: entering, startsRequestSeries = false } = decision
    // Hooks are somebody else's code: what they answer is looked at.
    const next = (await preStep?.({ ...place, messages: entering, startsRequestSeries })) ?? null
    if (next === null) continue
    if (next.kind === 'reject') return next
    if ((next.kind as string) !== 'enter' || !Array.isArray(next.messages)) throw unknownAnswer('preStep')
    decision = next
  }
  return decision
}

const unknownAnswer = (hook: keyof AgentHooks) =>
  new AgentError('setup', `A ${hook} hook answered with what is none of its decisions`)

const STRICTNESS = { allow: 0, ask: 1, deny: 2 }

/** The strictest of `first` and what the hooks say. */
export async function decideCall(
  hooks: readonly AgentHooks[],
  place: HookPlace & { readonly call: ToolCallBlock; readonly input: unknown },
  first: PreExecuteDecision,
): Promise<PreExecuteDecision> {
  let decision = first
  for (const { preExecute } of hooks) {
    if (decision.kind === 'deny') break
    const next = (await preExecute?.(place)) ?? null
    if (next === null) continue
    if (!Object.hasOwn(STRICTNESS, next.kind)) throw unknownAnswer('preExecute')
    if (STRICTNESS[next.kind] > STRICTNESS[decision.kind]) decision = next
  }
  return decision
}
