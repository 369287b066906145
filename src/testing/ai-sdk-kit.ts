/** For this library's own tests: AI SDK models made by hand, and the chunks our adapter makes of them. */
import type { AiSdkCallOptions, AiSdkLanguageModel } from '../agent/ai-sdk-types.ts'
import type { Model, ModelRequest } from '../agent/model.ts'
import type { EpochHeader, Message, StreamChunk } from '../core/events.ts'

export type HandMade = AiSdkLanguageModel & { readonly calls: AiSdkCallOptions[] }

/** A language model whose stream is exactly these parts; an `Error` among them breaks the stream. */
export function handMade(
  parts: readonly unknown[],
  specificationVersion: AiSdkLanguageModel['specificationVersion'] = 'v3',
): HandMade {
  const calls: AiSdkCallOptions[] = []
  return {
    specificationVersion,
    provider: 'hand.chat',
    modelId: 'made-1',
    calls,
    doStream: async options => {
      calls.push(options)
      const rest = [...parts]
      const stream = new ReadableStream<unknown>({
        pull(controller) {
          const next = rest.shift()
          if (next instanceof Error) controller.error(next)
          else if (next === undefined) controller.close()
          else controller.enqueue(next)
        },
      })
      return { stream }
    },
  }
}

/** A request for a model, as the loop would make it. */
export const requestTo = (
  model: Model,
  messages: readonly Message[] = [],
  more: {
    readonly signal?: AbortSignal
    readonly tools?: EpochHeader['tools'] & {}
    readonly readBlob?: ModelRequest['readBlob']
  } = {},
): ModelRequest => ({
  sessionId: 's',
  header: { config: model.config, ...(more.tools === undefined ? {} : { tools: more.tools }) },
  messages,
  readBlob: more.readBlob ?? (() => Promise.resolve(null)),
  signal: more.signal ?? new AbortController().signal,
})

/** All chunks of one call. */
export async function chunksOf(model: Model, request: ModelRequest = requestTo(model)): Promise<StreamChunk[]> {
  const chunks: StreamChunk[] = []
  for await (const chunk of model.stream(request)) chunks.push(chunk)
  return chunks
}
