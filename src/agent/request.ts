/** What a step sends: the header and the messages, built from the log and checked against it (SPEC A3, A4). */
import type { EpochHeader, ToolDescription } from '../core/events.ts'
import { MessageId } from '../core/ids.ts'
import { equalJson, snapshotJson } from '../core/json.ts'
import { requestOf } from '../core/request.ts'
import { canonicalHeader, contextChanged, planHeaderEvent, requestFold } from '../core/request-header.ts'
import type { Session } from '../core/session.ts'
import { type SystemPromptProjection, systemMessage } from '../core/system-prompt.ts'
import { AgentError } from './errors.ts'
import type { Model, ModelRequest } from './model.ts'

/** What the agent remembers between the requests of one open session. */
export type RequestMemory = {
  readonly prompt: SystemPromptProjection
  /** A header has been logged since the session was opened. */
  headerLogged: boolean
}

export type StepPlace = { readonly turn: number; readonly step: number }

/** Commits the system messages that make `prompt` effective for the coming request. */
export function commitSystemPrompt(
  session: Session,
  prompt: string,
  place: StepPlace,
  situation: { readonly model: Model; readonly tools: readonly ToolDescription[]; readonly memory: RequestMemory },
  newId: () => string,
): void {
  const { model, tools, memory } = situation
  const { systemPromptUpdate } = model
  for (const { text, ...intent } of memory.prompt.plan({ prompt, tools, systemPromptUpdate })) {
    session.append('system/message', { ...place, message: systemMessage(MessageId(newId()), text) }, intent)
  }
}

/** Logs the header and context of the coming request where they are due. */
export function commitRequestHeader(
  session: Session,
  model: Model,
  tools: readonly ToolDescription[],
  memory: RequestMemory,
): void {
  const header = canonicalHeader({ config: model.config, tools })
  const logged = session.fold(requestFold)
  const due = planHeaderEvent(header, {
    logged: logged.header?.data.header ?? null,
    firstSinceOpen: !memory.headerLogged,
    startsSeries: memory.prompt.contentMoved,
  })
  if (due !== null) session.append('request/header', due)
  memory.headerLogged = true
  memory.prompt.requestBuilt()

  const { provider, model: modelId } = model.config
  const context = {
    provider,
    model: modelId,
    ...(model.contextWindow === undefined ? {} : { contextWindow: model.contextWindow }),
    ...(model.systemPromptUpdate === undefined ? {} : { systemPromptUpdate: model.systemPromptUpdate }),
  }
  if (contextChanged(context, logged.context)) session.append('request/context', context)
}

/**
 * The request the log stands for now, frozen.
 *
 * @throws {AgentError} `request-guard` when `model` and `tools` are not what the logged header says.
 */
export function buildRequest(
  session: Session,
  model: Model,
  tools: readonly ToolDescription[],
  signal: AbortSignal,
): ModelRequest {
  const logged = requestOf(session)
  const header: EpochHeader = snapshotJson(canonicalHeader({ config: model.config, tools }))
  if (logged === null || !equalJson(logged.header, header)) {
    throw new AgentError('request-guard', 'The request header is not the logged one', { sessionId: session.id })
  }
  return Object.freeze({
    sessionId: session.id,
    header: logged.header,
    messages: Object.freeze(logged.messages),
    signal,
  })
}
