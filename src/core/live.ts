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

/** What the agent does inside a turn. */
export type TurnActivity =
  | { readonly kind: 'thinking'; readonly turn: number; readonly step: number }
  | { readonly kind: 'answering'; readonly turn: number; readonly step: number }
  | {
      readonly kind: 'tool'
      readonly turn: number
      readonly step: number
      readonly name: string
      readonly callId: string
      /** What the tool last said of how far it is, if it says so. */
      readonly progress?: string
    }

export type AgentStatus = { readonly kind: 'idle' } | TurnActivity
