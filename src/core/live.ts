/**
 * What a running agent tells besides the log: frames of the answer that is arriving (`agent/assistant-stream`), and what
 * it is doing. None of it is logged: the event that settles a call holds the same chunks, and the end frame comes after
 * that event is committed (SPEC A8).
 */
import type { StreamChunk } from './events.ts'

export type AssistantStreamFrame =
  | {
      readonly kind: 'start'
      readonly attemptId: string
      /** Id the message will have if the call settles as one. */
      readonly messageId: string
      /** Counts the attempts of this session since it was opened. */
      readonly revision: number
      readonly turn: number
      readonly step: number
    }
  | {
      readonly kind: 'chunk'
      readonly attemptId: string
      readonly revision: number
      /** Position of the chunk in the call, from 0. */
      readonly index: number
      /** Epoch ms of its arrival. */
      readonly time: number
      readonly chunk: StreamChunk
    }
  | {
      readonly kind: 'end'
      readonly attemptId: string
      readonly revision: number
      readonly outcome:
        | {
            readonly kind: 'committed'
            readonly eventType: 'assistant/message' | 'assistant/attempt'
            readonly seq: number
          }
        | { readonly kind: 'abandoned' }
    }

type TurnPlace = { readonly turn: number; readonly step: number }

/** What the agent does inside a turn. */
export type TurnActivity =
  | ({ readonly kind: 'thinking' } & TurnPlace)
  | ({ readonly kind: 'answering' } & TurnPlace)
  | ({
      readonly kind: 'tool'
      readonly name: string
      readonly callId: string
      /** What the tool last said of how far it is, if it says so. */
      readonly progress?: string
    } & TurnPlace)
  /** A call waits for a person to say whether it may run. */
  | ({ readonly kind: 'approval'; readonly name: string; readonly callId: string } & TurnPlace)
  /** The last model call failed; the next one comes at `until`, epoch ms. `maxRetries` is null when there is no last one. */
  | ({
      readonly kind: 'retrying'
      readonly retry: number
      readonly maxRetries: number | null
      readonly until: number
      /** Of the failure. */
      readonly code: string
    } & TurnPlace)

export type AgentStatus =
  /** `interrupted`: the last turn was cut off, and `resume` continues it. */
  | { readonly kind: 'idle'; readonly interrupted?: true }
  /** There is no network. Inside a turn its next request waits for it; without one, what is queued does. */
  | { readonly kind: 'offline'; readonly turn: number | null; readonly step: number | null }
  /** Something is done to the session between turns, such as a compaction; what is sent meanwhile waits. */
  | { readonly kind: 'maintenance' }
  | TurnActivity
