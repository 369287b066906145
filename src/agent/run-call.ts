/**
 * One tool call: checked, recorded, allowed, run, answered (SPEC A5, A6). Each part is awaited by the scheduler in
 * `run-tools.ts`, which decides what may overlap.
 */
import { approvalsFold, isPendingApproval } from '../core/approvals.ts'
import type { FileBlock, ImageBlock, ToolCallBlock, ToolResultMessage } from '../core/events.ts'
import { SessionError } from '../core/errors.ts'
import { planInsertion, inboxFold } from '../core/inbox.ts'
import { MessageId, type SessionSeq } from '../core/ids.ts'
import { wellFormedText } from '../core/well-formed.ts'
import type { Session } from '../core/session.ts'
import { type ApprovalDesk, type ApprovalOptions, approvalReason, askApproval } from './approval.ts'
import { type Clock, sleep } from './clock.ts'
import { bounded, errorText } from './failure.ts'
import { type AgentHooks, decideCall, type PreExecuteDecision } from './hooks.ts'
import { commitSplices } from './inbox-events.ts'
import { noticeMessage } from './messages.ts'
import { orAborted } from './or-aborted.ts'
import type { StepPlace } from './request.ts'
import { isDisposal, Suspended } from './suspended.ts'
import type { Tool, ToolContext } from './tool.ts'
import { failed, type Outcome, outcomeOf } from './tool-outcome.ts'

export type RunToolsOptions = Pick<ApprovalOptions, 'approver'> & {
  readonly session: Session
  readonly tools: ReadonlyMap<string, Tool>
  readonly place: StepPlace
  readonly signal: AbortSignal
  /** Resolves when the log is stored; awaited before each body, so that an effect never outruns its record. */
  readonly flush: () => Promise<void>
  readonly newId: () => string
  readonly clock: Clock
  readonly hooks: readonly AgentHooks[]
  readonly approvals: ApprovalOptions['policy']
  readonly desk: ApprovalDesk
  readonly attach: (data: Blob | Uint8Array, name: string) => Promise<ImageBlock | FileBlock>
  /** Most calls that run at a time. */
  readonly maxParallelToolCalls: number
  /** Told when a call begins, and each time its tool says how far it is. */
  readonly onRunning: (call: ToolCallBlock, progress?: string) => void
  /** Told when a call waits for a person. */
  readonly onAsking: (call: ToolCallBlock) => void
}

/** A call whose turn it is. `input` is what its tool would get; with `refusal` it does not run. */
export type CheckedCall = {
  readonly call: ToolCallBlock
  readonly isParallel: boolean
} & ({ readonly tool: Tool; readonly input: unknown } | { readonly refusal: Outcome })

/** What the model asked for, as a call that can run, or as the reason why it cannot. */
export async function checkCall(
  call: ToolCallBlock,
  { tools, signal }: Pick<RunToolsOptions, 'tools' | 'signal'>,
): Promise<CheckedCall> {
  const refused = (refusal: Outcome) => ({ call, refusal, isParallel: false })
  const tool = tools.get(call.name)
  if (tool === undefined) {
    return refused(failed('ToolError', 'UNKNOWN_TOOL', `There is no tool named ${bounded(call.name, 80)}.`))
  }
  try {
    const checked = await orAborted(tool.check(parseArguments(call.arguments)), signal)
    if (checked === null) return refused(stoppedBefore())
    if (checked.ok) return { call, tool, input: checked.input, isParallel: tool.isParallel(checked.input) }
    const words = `The arguments do not fit the tool's schema. ${checked.reason}`
    return refused(failed('ToolError', 'INVALID_ARGUMENTS', bounded(words)))
  } catch (error) {
    return refused(failed('ToolError', 'TOOL_FAILED', errorText(error)))
  }
}

export const stoppedBefore = (): Outcome =>
  failed('AbortError', 'ABORTED_BEFORE_DISPATCH', 'The turn was stopped before this call ran.')

/** Records that a call begins. */
export function recordCall(call: ToolCallBlock, { session, place }: RunToolsOptions): SessionSeq {
  return session.append('tool/call', {
    ...place,
    callId: call.id,
    name: call.name,
    arguments: call.arguments,
  }).seq
}

/**
 * Waits until the record of a call is stored and the call may run; answers its body, to be run now, or what came of it
 * without. @throws {Suspended} when the session is closed while a person is asked.
 */
export async function admitCall(
  checked: CheckedCall,
  startedSeq: SessionSeq,
  options: RunToolsOptions,
): Promise<Outcome | (() => Promise<Outcome>)> {
  const { call } = checked
  const { session, place, signal, hooks, onRunning } = options
  if ('refusal' in checked) return checked.refusal
  if (isSuspended(call, options)) throw new Suspended()
  onRunning(call)
  try {
    const unrecorded = await recorded(options)
    if (isSuspended(call, options)) throw new Suspended()
    if (unrecorded !== null) return unrecorded
    const { tool, input } = checked
    const reason = approvalReason(options.approvals, call.name, tool.approval(input))
    const first: PreExecuteDecision = reason === false ? { kind: 'allow' } : { kind: 'ask', reason }
    const decided = await orAborted(decideCall(hooks, { session, ...place, signal, call, input }, first), signal)
    if (isSuspended(call, options)) throw new Suspended()
    if (decided === null) return stoppedBefore()
    if (decided.kind === 'deny')
      return failed('ToolError', 'DENIED', `The call was not allowed: ${bounded(decided.reason)}`)
    // A question that is in the log has to be answered, whoever would not ask it any more.
    if (decided.kind === 'ask' || isPendingApproval(session.fold(approvalsFold), call.id)) {
      options.onAsking(call)
      const policy = options.approvals
      const outcome = await askApproval(call, input, reasonOf(decided), { ...options, policy })
      if (outcome !== 'allowed-once') return notAllowed(outcome)
      onRunning(call)
      // A decision, too, is stored before anything happens on the strength of it.
      const undecided = await recorded(options)
      if (undecided !== null) return undecided
    }
    return () => runBody(call, startedSeq, tool, input, options)
  } catch (error) {
    if (error instanceof Suspended) throw error
    // A hook failed: nobody has allowed the call.
    return failed(
      'ToolError',
      'DENIED',
      `The call did not run, because it could not be decided about: ${errorText(error)}`,
    )
  }
}

/** The session is closed before a question that is in the log could be asked again: it stays open there. */
export const isSuspended = ({ id }: ToolCallBlock, { session, signal }: RunToolsOptions): boolean =>
  isDisposal(signal) && isPendingApproval(session.fold(approvalsFold), id)

/** Null once everything so far is stored; a storage that fails keeps the effect from happening. */
async function recorded({ flush, signal }: RunToolsOptions): Promise<Outcome | null> {
  try {
    await orAborted(flush(), signal)
  } catch (error) {
    const words = `The call did not run, because it could not be recorded: ${errorText(error)}`
    return failed('StorageError', 'NOT_RECORDED', words)
  }
  return signal.aborted ? stoppedBefore() : null
}

const reasonOf = (decided: PreExecuteDecision): string => ('reason' in decided ? (decided.reason ?? '') : '')

const WORDS = {
  rejected: 'The person did not allow this call, so it did not run. Do not try it again unless asked to.',
  cancelled: 'The turn was stopped before anybody allowed this call, so it did not run.',
  unavailable: 'This call needs somebody to allow it and nobody could be asked, so it did not run.',
}

const notAllowed = (outcome: keyof typeof WORDS): Outcome =>
  failed('ApprovalError', outcome === 'cancelled' ? 'ABORTED_BEFORE_DISPATCH' : outcome.toUpperCase(), WORDS[outcome])

/** How long a body that was told to stop may take to say what came of it, ms. */
const DRAIN_MS = 50

async function runBody(
  call: ToolCallBlock,
  startedSeq: SessionSeq,
  tool: Tool,
  input: unknown,
  { session, signal, clock, attach, onRunning }: RunToolsOptions,
): Promise<Outcome> {
  let isRunning = true
  const abort = new AbortController()
  const stop = () => abort.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const tooLong = new Error(`The call took longer than ${tool.timeoutMs} ms`)
  const stopTimer = tool.timeoutMs === null ? null : clock.after(tool.timeoutMs, () => abort.abort(tooLong))
  const context: ToolContext = {
    sessionId: session.id,
    callId: call.id,
    idempotencyKey: `${session.id}/${startedSeq}/${call.id}`,
    signal: abort.signal,
    report: progress => {
      if (isRunning) onRunning(call, firstCodePoints(wellFormedText(progress), MAX_PROGRESS))
    },
    attach,
  }
  try {
    const body = (async () => outcomeOf(await tool.execute(input, context)))()
    const outcome = (await orAborted(body, abort.signal)) ?? (await drained(body, clock))
    return outcome ?? notFinished(abort.signal.reason === tooLong, tool)
  } catch (error) {
    if (abort.signal.aborted) return notFinished(abort.signal.reason === tooLong, tool)
    return failed('ToolError', 'TOOL_FAILED', errorText(error))
  } finally {
    isRunning = false
    stopTimer?.()
    signal.removeEventListener('abort', stop)
  }
}

/** What a body that was told to stop says soon after; null when it does not. */
async function drained(body: Promise<Outcome>, clock: Clock): Promise<Outcome | null> {
  const enough = new AbortController()
  try {
    return await Promise.race([body, sleep(clock, DRAIN_MS, enough.signal).then(() => null)])
  } finally {
    enough.abort()
  }
}

const notFinished = (isTooLong: boolean, { timeoutMs }: Tool): Outcome =>
  isTooLong
    ? failed(
        'TimeoutError',
        'TIMEOUT',
        `The call did not finish within ${timeoutMs} ms and was given up. Its outcome is unknown.`,
      )
    : failed('AbortError', 'ABORTED', 'The turn was stopped while this call ran. Its outcome is unknown.')

/** Longest progress that is shown, code points. */
const MAX_PROGRESS = 200

const firstCodePoints = (text: string, count: number): string => [...text.slice(0, 2 * count)].slice(0, count).join('')

/** Empty text stands for no arguments; text that is not JSON is passed on as it is, for the schema to refuse. */
function parseArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Answers a call, and hands on what its tool has to say besides. True when the turn is over with it. */
export function commitResult(
  call: ToolCallBlock,
  startedSeq: SessionSeq,
  outcome: Outcome,
  options: RunToolsOptions,
): boolean {
  try {
    return commit(call, startedSeq, outcome, options)
  } catch (error) {
    // The tool handed over what no log takes; the call is answered all the same.
    if (!(error instanceof SessionError)) throw error
    return commit(call, startedSeq, failed('ToolError', 'TOOL_FAILED', errorText(error)), options)
  }
}

function commit(
  call: ToolCallBlock,
  startedSeq: SessionSeq,
  { content, isError, error, concludesTurn = false, context, meta }: Outcome,
  { session, place, newId }: RunToolsOptions,
): boolean {
  const failure = isError === true ? { isError } : {}
  const message: ToolResultMessage = {
    id: MessageId(newId()),
    role: 'user',
    content: [{ type: 'tool-result', toolCallId: call.id, content, ...failure }],
    source: { kind: 'tool', callId: call.id },
  }
  session.append(
    'tool/result',
    { ...place, message, ...(error === undefined ? {} : { error }), ...(meta === undefined ? {} : { meta }) },
    { surfaceOp: 'append', sourceEventSeqs: [startedSeq] },
  )
  if (context !== undefined) {
    const said = noticeMessage(newId(), context, `From the tool ${bounded(call.name, 80)}`)
    commitSplices(session, [planInsertion(session.fold(inboxFold), 'next-step', said)])
  }
  return concludesTurn
}
