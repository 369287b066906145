/**
 * The system prompt as messages on the surface: node 0 is reserved at the first step, later prompts replace it or, where
 * the model allows, are appended (SPEC P1–P3).
 */
import type { EventOf, SessionEvent, SurfaceOp, SystemMessage, ToolDescription } from './events.ts'
import type { Fold } from './fold.ts'
import type { MessageId, SessionSeq } from './ids.ts'
import { equalTools, requestFold } from './request-header.ts'

/** The plugin name in the source of every system message this library writes. */
export const SYSTEM_PROMPT_PLUGIN = 'palimpsest/system-prompt'

/** One system message to append to the log, with its place. */
export type SystemPromptCommit = {
  readonly text: string
  readonly surfaceOp: SurfaceOp
  readonly sourceEventSeqs?: readonly SessionSeq[]
}

export type SystemPromptSituation = {
  /** The model takes the latest system message at any position as the whole prompt. */
  readonly inHistory: boolean
  readonly startsSeries: boolean
}

/** What of a session is asked. */
type SystemPromptSession = {
  readonly surface: {
    readonly length: number
    readonly contentGeneration: number
    at(position: number): SessionSeq | undefined
  }
  eventAt(seq: number): SessionEvent | undefined
  fold<State>(fold: Fold<State>): State
}

/** What is about to be requested. */
export type SystemPromptRequest = {
  /** The rendered prompt; empty for none. */
  readonly prompt: string
  readonly tools: readonly ToolDescription[]
  /** As the prepared call says it: the model takes the latest system message at any position as the whole prompt. */
  readonly systemPromptUpdate?: 'in-history' | undefined
  /** Somebody asked for a new series of messages. */
  readonly startsSeries?: boolean
}

/** Keeps the system prompt of an open session on its surface: asked before every request what has to be committed. */
export class SystemPromptProjection {
  readonly #session: SystemPromptSession
  #generation: number

  constructor(session: SystemPromptSession) {
    this.#session = session
    this.#generation = session.surface.contentGeneration
  }

  /** The surface says something else than at the last request, other than by what was appended. */
  get contentMoved(): boolean {
    return this.#session.surface.contentGeneration !== this.#generation
  }

  /** The `system/message` commits due before the request (SPEC P1–P4). */
  plan({
    prompt,
    tools,
    systemPromptUpdate,
    startsSeries = false,
  }: SystemPromptRequest): readonly SystemPromptCommit[] {
    const logged = this.#session.fold(requestFold).header?.data.header
    const toolsChanged = logged !== undefined && !equalTools(logged.tools, tools)
    return planSystemPrompt(systemNodes(this.#session), prompt, {
      inHistory: systemPromptUpdate === 'in-history',
      startsSeries: startsSeries || toolsChanged || this.contentMoved,
    })
  }

  /** A request was built: what changes from now on starts a series. */
  requestBuilt(): void {
    this.#generation = this.#session.surface.contentGeneration
  }
}

function systemNodes(session: SystemPromptSession): EventOf<'system/message'>[] {
  const nodes: EventOf<'system/message'>[] = []
  const { surface } = session
  for (let position = 0; position < surface.length; position += 1) {
    const event = session.eventAt(surface.at(position) as number)
    if (event?.type === 'system/message') nodes.push(event)
  }
  return nodes
}

/** The `system/message` commits that make `prompt` effective; none when it already is. */
export function planSystemPrompt(
  nodes: readonly EventOf<'system/message'>[],
  prompt: string,
  { inHistory, startsSeries }: SystemPromptSituation,
): readonly SystemPromptCommit[] {
  const head = nodes[0]
  if (head === undefined) return [{ text: prompt, surfaceOp: 'append' }]
  if (!inHistory || startsSeries || prompt === '') {
    const later = nodes.slice(1).filter(node => promptText(node.data.message) !== '')
    const commits = later.map(node => replacement(node.seq, ''))
    if (promptText(head.data.message) !== prompt) commits.push(replacement(head.seq, prompt))
    return commits
  }
  const latest = nodes.findLast(node => promptText(node.data.message) !== '') ?? head
  return promptText(latest.data.message) === prompt ? [] : [{ text: prompt, surfaceOp: 'append' }]
}

function replacement(seq: SessionSeq, text: string): SystemPromptCommit {
  return { text, surfaceOp: { op: 'replace', startSeq: seq, endSeq: seq }, sourceEventSeqs: [seq] }
}

/** The text of a system message; null when it has no single text: then it differs from everything. */
function promptText({ content }: SystemMessage): string | null {
  if (content.length === 0) return ''
  const [block] = content
  return content.length === 1 && block?.type === 'text' ? block.text : null
}

/** A system message holding `text`; empty text means "no prompt". */
export function systemMessage(id: MessageId, text: string): SystemMessage {
  return {
    id,
    role: 'system',
    content: text === '' ? [] : [{ type: 'text', text }],
    source: { kind: 'plugin', plugin: SYSTEM_PROMPT_PLUGIN },
  }
}
