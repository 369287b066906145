/** For this library's own tests: the real `@ai-sdk/anthropic`, with a fetch that never leaves the realm. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { type AiSdkModelOptions, aiSdkModel } from '../agent/ai-sdk.ts'
import type { Model } from '../agent/model.ts'
import { recordingFetch, type Recorded, type Reply } from './openai-kit.ts'

export type AnthropicKit = Recorded & { readonly model: Model }

/** A model on the real provider package; `reply` says what its address answers to the n-th request. */
export function anthropicKit(
  reply: (request: number, body: unknown) => Reply,
  options: AiSdkModelOptions & { readonly apiKey?: string } = {},
): AnthropicKit {
  const { apiKey = 'key-of-the-test', ...rest } = options
  const { fetch, ...recorded } = recordingFetch(reply)
  const provider = createAnthropic({ baseURL: 'https://fake.test/v1', apiKey, fetch })
  return { model: aiSdkModel(provider('fake-claude'), rest), ...recorded }
}

/** One SSE event. */
export const anthropicEvent = (data: { readonly type: string; readonly [key: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

/** A whole streamed answer of text. */
export const anthropicAnswerOf = (text: string): readonly string[] => [
  anthropicEvent({
    type: 'message_start',
    message: {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'fake-claude', content: [] },
      ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
    },
  }),
  anthropicEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  anthropicEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  anthropicEvent({ type: 'content_block_stop', index: 0 }),
  anthropicEvent({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 2 },
  }),
  anthropicEvent({ type: 'message_stop' }),
]
