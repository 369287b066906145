/** A model, as the agent sees it: a stream of neutral chunks for a request (SPEC A1). */
import type { EpochHeader, Message, RequestConfig, StreamChunk } from '../core/events.ts'

/** What is sent: frozen, built from the log and nothing else. */
export type ModelRequest = {
  readonly sessionId: string
  readonly header: EpochHeader
  /** Starts with the system message, if there is a prompt. */
  readonly messages: readonly Message[]
  /** Aborts when the turn is cancelled. The stream should end soon after; what it yields then is ignored. */
  readonly signal: AbortSignal
  /** The bytes an attachment of a message refers to, by its `attachmentId`; null when they are not here. */
  readonly readBlob: (attachmentId: string) => Promise<Uint8Array | null>
}

export interface Model {
  /** What requests are made with: logged as the request header's config. */
  readonly config: RequestConfig
  /** Size of the model's window in tokens, when known. */
  readonly contextWindow?: number
  /** The model takes the latest system message at any position as the whole prompt. */
  readonly systemPromptUpdate?: 'in-history'
  /** Its requests leave the machine: while there is no network they wait for it, and are not tried. */
  readonly usesNetwork?: boolean
  /**
   * Starts one call. Chunks come in arrival order and end with one `finish`; a failure is a `finish` of kind `error`, or
   * the iteration throws. Must not retry by itself.
   */
  stream(request: ModelRequest): AsyncIterable<StreamChunk>
}
