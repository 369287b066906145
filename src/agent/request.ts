/** What a step sends: the header and the messages, built from the log and checked against it (SPEC A3, A4). */
import type { ToolDescription } from '../core/events.ts'
import { MessageId } from '../core/ids.ts'
import { deepFreeze } from '../core/json.ts'
import { requestOf } from '../core/request.ts'
import { canonicalHeader, contextChanged, equalHeaders, planHeaderEvent, requestFold } from '../core/request-header.ts'
import type { Session } from '../core/session.ts'
import { type SystemPromptProjection, systemMessage } from '../core/system-prompt.ts'
import { wellFormedText } from '../core/well-formed.ts'
import { AgentError } from './errors.ts'
import type { Model, ModelRequest } from './model.ts'

/** What the agent remembers between the requests of one open session. */
export type RequestMemory = {
  readonly prompt: SystemPromptProjection
  /** A header has been logged since the session was opened. */
  headerLogged: boolean
}

export type StepPlace = { readonly turn: number; readonly step: number }

/** Commits the system messages that make the prompt `system` effective for the coming request. */
export function commitSystemPrompt(
  session: Session,
  system: string,
  place: StepPlace,
  situation: {
    readonly model: Model
    readonly tools: readonly ToolDescription[]
    readonly memory: RequestMemory
    readonly startsSeries: boolean
  },
  newId: () => string,
): void {
  const { model, tools, memory, startsSeries } = situation
  const { systemPromptUpdate } = model
  // A prompt without anything to see is none, and half a surrogate pair cannot be sent.
  const prompt = system.trim() === '' ? '' : wellFormedText(system)
  for (const { text, ...intent } of memory.prompt.plan({ prompt, tools, systemPromptUpdate, startsSeries })) {
    session.append('system/message', { ...place, message: systemMessage(MessageId(newId()), text) }, intent)
  }
}

/** Logs the header and context of the coming request where they are due. */
export function commitRequestHeader(
  session: Session,
  model: Model,
  tools: readonly ToolDescription[],
  memory: RequestMemory,
  startsSeries = false,
): void {
  const header = canonicalHeader({ config: model.config, tools })
  const logged = session.fold(requestFold)
  const due = planHeaderEvent(header, {
    logged: logged.header?.data.header ?? null,
    firstSinceOpen: !memory.headerLogged,
    startsSeries: startsSeries || memory.prompt.contentMoved,
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
  { signal, readBlob }: Pick<ModelRequest, 'signal' | 'readBlob'>,
): ModelRequest {
  const logged = requestOf(session)
  const header = canonicalHeader({ config: model.config, tools })
  if (logged === null || !equalHeaders(logged.header, header)) {
    throw new AgentError('request-guard', 'The request header is not the logged one', { sessionId: session.id })
  }
  // What was read from storage is not frozen yet, and a model is somebody else's code.
  for (const message of logged.messages) deepFreeze(message)
  deepFreeze(logged.header)
  const messages = Object.freeze(logged.messages)
  return Object.freeze({ sessionId: session.id, header: logged.header, messages, signal, readBlob })
}
