import { PalimpsestError } from '../core/errors.ts'

export type AgentErrorCode =
  /** The message was taken back before a turn had it. */
  | 'canceled'
  /** The prompt holds nothing but white space. Nothing was logged. */
  | 'empty-prompt'
  /** The prompt holds half of a surrogate pair, which no request can carry. Nothing was logged. */
  | 'malformed-prompt'
  /** A tool is declared twice, or its schema or a limit of it makes no sense. */
  | 'tool'
  /** Something of the setup makes no sense: a limit, a prompt that is no text, what a hook answers. */
  | 'setup'
  /** The session of this agent is being closed. Nothing was logged. */
  | 'closed'
  /** The agent is doing something else, and what was asked for cannot wait. */
  | 'busy'
  /** What would be sent is not what the log says (SPEC A4). Nothing was sent. */
  | 'request-guard'
  /** The object given as a model is not one. */
  | 'model'

/** The agent could not do what was asked. What had been logged before stays. */
export class AgentError extends PalimpsestError<AgentErrorCode> {
  override readonly name = 'AgentError'
}
