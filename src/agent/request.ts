/** What a step sends: the header and the messages, built from the log and checked against it (SPEC A3, A4). */
import type { EpochHeader, EventOf, ToolDescription } from '../core/events.ts'
import { MessageId } from '../core/ids.ts'
import { equalJson, snapshotJson } from '../core/json.ts'
import { canonicalHeader, contextChanged, planHeaderEvent, requestFold } from '../core/request-header.ts'
import { requestMessages } from '../core/request-messages.ts'
import type { Session } from '../core/session.ts'
import { planSystemPrompt, systemMessage } from '../core/system-prompt.ts'
import { AgentError } from './errors.ts'
import type { Model, ModelRequest } from './model.ts'

/** What the agent remembers between the requests of one open session. */
export type RequestMemory = {
  /** A header has been logged since the session was opened. */
  headerLogged: boolean
  /** Surface content generation at the last request, or at opening. */
  contentGeneration: number
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
  const logged = session.fold(requestFold).header?.data.header
  const toolsChanged = logged !== undefined && !equalJson(logged.tools ?? [], tools)
  const commits = planSystemPrompt(systemNodes(session), prompt, {
    inHistory: model.systemPromptUpdate === 'in-history',
    startsSeries: toolsChanged || session.surface.contentGeneration !== memory.contentGeneration,
  })
  for (const { text, surfaceOp, sourceEventSeqs } of commits) {
    session.append(
      'system/message',
      { ...place, message: systemMessage(MessageId(newId()), text) },
      sourceEventSeqs === undefined ? { surfaceOp } : { surfaceOp, sourceEventSeqs },
    )
  }
}

function systemNodes(session: Session): EventOf<'system/message'>[] {
  const nodes: EventOf<'system/message'>[] = []
  for (let position = 0; position < session.surface.length; position += 1) {
    const event = session.eventAt(session.surface.at(position) as number)
    if (event?.type === 'system/message') nodes.push(event)
  }
  return nodes
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
    startsSeries: session.surface.contentGeneration !== memory.contentGeneration,
  })
  if (due !== null) session.append('request/header', due)
  memory.headerLogged = true
  memory.contentGeneration = session.surface.contentGeneration

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
  const logged = session.fold(requestFold).header?.data.header
  const header: EpochHeader = snapshotJson(canonicalHeader({ config: model.config, tools }))
  if (logged === undefined || !equalJson(logged, header)) {
    throw new AgentError('request-guard', 'The request header is not the logged one', { sessionId: session.id })
  }
  const messages = Object.freeze(requestMessages(session.messages).messages)
  return Object.freeze({ sessionId: session.id, header: logged, messages, signal })
}
