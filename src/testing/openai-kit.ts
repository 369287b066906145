/** For this library's own tests: the real `@ai-sdk/openai-compatible`, with a fetch that never leaves the realm. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { type AiSdkModelOptions, aiSdkModel } from '../agent/ai-sdk.ts'
import type { Model } from '../agent/model.ts'

/** What the fake address answers to one request: bytes of a stream in given pieces, or a whole response. */
export type Reply = readonly string[] | readonly Uint8Array[] | Response | Error

export type Recorded = {
  /** The bodies that were sent, parsed. */
  readonly bodies: unknown[]
  readonly headers: Headers[]
  readonly signals: (AbortSignal | null | undefined)[]
}

export type OpenAiKit = Recorded & { readonly model: Model }

/** A model on the real provider package; `reply` says what its address answers to the n-th request. */
export function openAiKit(
  reply: (request: number, body: unknown) => Reply,
  options: AiSdkModelOptions & { readonly apiKey?: string } = {},
): OpenAiKit {
  const { apiKey = 'key-of-the-test', ...rest } = options
  const { fetch, ...recorded } = recordingFetch(reply)
  const provider = createOpenAICompatible({
    name: 'fake',
    baseURL: 'https://fake.test/v1',
    apiKey,
    includeUsage: true,
    fetch,
  })
  return { model: aiSdkModel(provider.chatModel('fake-1'), rest), ...recorded }
}

/** A fetch that answers with `reply`, and what it was asked. */
export function recordingFetch(
  reply: (request: number, body: unknown) => Reply,
): Recorded & { readonly fetch: typeof fetch } {
  const bodies: unknown[] = []
  const headers: Headers[] = []
  const signals: Recorded['signals'] = []
  return {
    ...{ bodies, headers, signals },
    fetch: async (_address, init) => {
      const body: unknown = JSON.parse(init?.body as string)
      bodies.push(body)
      headers.push(new Headers(init?.headers))
      signals.push(init?.signal)
      const answer = reply(bodies.length - 1, body)
      if (answer instanceof Error) throw answer
      return answer instanceof Response ? answer : streamed(answer)
    },
  }
}

/** A response whose body arrives in these pieces. */
function streamed(pieces: readonly (string | Uint8Array)[]): Response {
  const encoder = new TextEncoder()
  const rest = [...pieces]
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = rest.shift()
      if (next === undefined) controller.close()
      else controller.enqueue(typeof next === 'string' ? encoder.encode(next) : next)
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** One SSE event holding a delta of the first choice. */
export const delta = (content: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'fake-1',
    choices: [{ index: 0, delta: content, finish_reason: finish }],
  })}\n\n`

/** A whole streamed answer of text. */
export const answerOf = (text: string): readonly string[] => [
  delta({ role: 'assistant', content: text }),
  delta({}, 'stop'),
  'data: [DONE]\n\n',
]
