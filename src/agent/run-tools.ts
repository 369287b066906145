/** Running the tool calls of one answer, in the order the model asked for them (SPEC A5, A6). */
import type { ContentBlock, ToolCallBlock, ToolError, ToolResultMessage } from '../core/events.ts'
import { SessionError } from '../core/errors.ts'
import { MessageId, type SessionSeq } from '../core/ids.ts'
import { jsonText, snapshotJson } from '../core/json.ts'
import { wellFormedBlock, wellFormedText } from '../core/well-formed.ts'
import type { Session } from '../core/session.ts'
import { isBlankText } from '../core/stream.ts'
import { bounded, errorText } from './failure.ts'
import { orAborted } from './or-aborted.ts'
import type { StepPlace } from './request.ts'
import type { Tool, ToolContext, ToolOutput } from './tool.ts'

export type RunToolsOptions = {
  readonly session: Session
  readonly tools: ReadonlyMap<string, Tool>
  readonly place: StepPlace
  readonly signal: AbortSignal
  /** Resolves when the log is stored; awaited before each body, so that an effect never outruns its record. */
  readonly flush: () => Promise<void>
  readonly newId: () => string
  /** Told when a call begins, and each time its tool says how far it is. */
  readonly onRunning: (call: ToolCallBlock, progress?: string) => void
}

type Outcome = { readonly content: readonly ContentBlock[]; readonly error?: ToolError }

/** Runs `calls` one after the other. After an abort the rest is answered without running. */
export async function runTools(calls: readonly ToolCallBlock[], options: RunToolsOptions): Promise<void> {
  const { session, place, signal, onRunning } = options
  for (const call of calls) {
    const started = session.append('tool/call', {
      ...place,
      callId: call.id,
      name: call.name,
      arguments: call.arguments,
    })
    let outcome: Outcome
    if (signal.aborted) {
      outcome = failed('AbortError', 'ABORTED_BEFORE_DISPATCH', 'The turn was stopped before this call ran.')
    } else {
      onRunning(call)
      outcome = await recorded(options, () => runCall(call, started.seq, options))
    }
    try {
      commitResult(call, started.seq, outcome, options)
    } catch (error) {
      // The tool handed over what no log takes; the call is answered all the same.
      if (!(error instanceof SessionError)) throw error
      commitResult(call, started.seq, failed('ToolError', 'TOOL_FAILED', errorText(error)), options)
    }
  }
}

function commitResult(
  call: ToolCallBlock,
  startedSeq: SessionSeq,
  { content, error }: Outcome,
  { session, place, newId }: RunToolsOptions,
): void {
  const message: ToolResultMessage = {
    id: MessageId(newId()),
    role: 'user',
    content: [{ type: 'tool-result', toolCallId: call.id, content, ...(error === undefined ? {} : { isError: true }) }],
    source: { kind: 'tool', callId: call.id },
  }
  session.append(
    'tool/result',
    { ...place, message, ...(error === undefined ? {} : { error }) },
    { surfaceOp: 'append', sourceEventSeqs: [startedSeq] },
  )
}

/** Runs `body` only once its record is stored; a storage that fails keeps the effect from happening. */
async function recorded({ flush, signal }: RunToolsOptions, body: () => Promise<Outcome>): Promise<Outcome> {
  try {
    await orAborted(flush(), signal)
  } catch (error) {
    return failed(
      'StorageError',
      'NOT_RECORDED',
      `The call did not run, because it could not be recorded: ${errorText(error)}`,
    )
  }
  return body()
}

async function runCall(
  call: ToolCallBlock,
  startedSeq: SessionSeq,
  { session, tools, signal, onRunning }: RunToolsOptions,
): Promise<Outcome> {
  if (signal.aborted)
    return failed('AbortError', 'ABORTED_BEFORE_DISPATCH', 'The turn was stopped before this call ran.')
  const tool = tools.get(call.name)
  if (tool === undefined)
    return failed('ToolError', 'UNKNOWN_TOOL', `There is no tool named ${bounded(call.name, 80)}.`)
  let isRunning = true
  const context: ToolContext = {
    sessionId: session.id,
    callId: call.id,
    idempotencyKey: `${session.id}/${startedSeq}/${call.id}`,
    signal,
    report: progress => {
      if (isRunning) onRunning(call, firstCodePoints(wellFormedText(progress), MAX_PROGRESS))
    },
  }
  try {
    const result = await orAborted(checkedRun(tool, call, context), signal)
    return (
      result ?? failed('AbortError', 'ABORTED', 'The turn was stopped while this call ran. Its outcome is unknown.')
    )
  } catch (error) {
    return failed('ToolError', 'TOOL_FAILED', errorText(error))
  } finally {
    isRunning = false
  }
}

/** Longest progress that is shown, code points. */
const MAX_PROGRESS = 200

const firstCodePoints = (text: string, count: number): string => [...text.slice(0, 2 * count)].slice(0, count).join('')

async function checkedRun(tool: Tool, call: ToolCallBlock, context: ToolContext): Promise<Outcome> {
  const checked = await tool.check(parseArguments(call.arguments))
  if (!checked.ok) {
    return failed(
      'ToolError',
      'INVALID_ARGUMENTS',
      bounded(`The arguments do not fit the tool's schema. ${checked.reason}`),
    )
  }
  return { content: contentOf(await tool.execute(checked.input, context)) }
}

/** Empty text stands for no arguments; text that is not JSON is passed on as it is, for the schema to refuse. */
function parseArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A tool's output as content: checked to be JSON, without empty text. */
function contentOf(output: ToolOutput): readonly ContentBlock[] {
  if (output === undefined || output === null) return []
  if (isContent(output)) {
    return snapshotJson(output.content)
      .filter(block => !isBlankText(block))
      .map(wellFormedBlock)
  }
  const text = typeof output === 'string' ? output : jsonText(snapshotJson(output))
  const block: ContentBlock = { type: 'text', text: wellFormedText(text) }
  return isBlankText(block) ? [] : [block]
}

/** Blocks, and not just any JSON that has a member of this name. */
function isContent(
  output: object | string | number | boolean,
): output is { readonly content: readonly ContentBlock[] } {
  if (typeof output !== 'object' || !('content' in output) || Object.keys(output).length !== 1) return false
  const { content } = output
  return (
    Array.isArray(content) &&
    content.every((block: unknown) => typeof block === 'object' && block !== null && 'type' in block)
  )
}

function failed(name: string, code: string, text: string): Outcome {
  return { content: [{ type: 'text', text }], error: { name, code } }
}
