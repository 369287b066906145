/**
 * Live frames of a running model call (`agent/assistant-stream`). They are not logged: the event that settles the call
 * holds the same chunks. The end frame comes after that event is committed (SPEC A8).
 */
import type { StreamChunk } from '../core/events.ts'

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
