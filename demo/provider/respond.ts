/**
 * The embedded provider: an OpenAI-compatible chat completion endpoint as one pure function. It has no clock and no
 * randomness; delays are part of the answer, for a transport to carry out. READ FIRST in this folder.
 */
import { validateOpenAiChat } from 'palimpsest/testing'
import {
  type ChatRequest,
  estimateTokens,
  hashHistory,
  isContinued,
  promptIndex,
  readChatRequest,
} from './chat-request.ts'
import { type Directives, type Failure, readDirectives } from './directives.ts'
import { models } from './models.ts'
import { compose } from './script.ts'
import { created, type Piece, type StreamEnd, toCompletion, toPieces } from './stream.ts'

export type EmbeddedRequest = {
  /** The parsed JSON of a chat completion request. */
  readonly body: unknown
  /** Value of the `Authorization` header. */
  readonly authorization?: string
  /** How often the transport has seen this very body before; only `[fail:once:…]` asks. */
  readonly attempt?: number
}

/** What to send: one JSON body, or a stream of pieces. */
export type EmbeddedResponse = JsonResponse | StreamResponse

export type JsonResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly json: object
}
export type StreamResponse = { readonly status: 200; readonly pieces: readonly Piece[]; readonly end: StreamEnd }

/** Answers a chat completion request. Pure: the same request gets the same answer, and it never throws. */
export function respond({ body, authorization, attempt = 0 }: EmbeddedRequest): EmbeddedResponse {
  if (authorization === 'Bearer wrong-key')
    return refuse(401, 'Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key')
  const [finding] = validateOpenAiChat(body)
  if (finding) return refuse(400, finding.message, 'invalid_request_error', finding.code, finding.path)

  const request = readChatRequest(body)
  const { model, history } = request
  const window = models.get(model)
  if (window === undefined)
    return refuse(404, `The model \`${model}\` does not exist.`, 'invalid_request_error', 'model_not_found', 'model')
  const tokens = estimateTokens(history)
  if (tokens > window) return overflow(window, tokens)

  const said = lastPrompt(request, attempt)
  const failure = said.failure && refusals[said.failure]
  return failure ? failure(window) : answer(request, said, tokens)
}

/** The body of `GET /v1/models`. */
export function listModels(): object {
  const data = [...models].map(([id, context_window]) => ({
    id,
    object: 'model',
    created,
    owned_by: 'embedded',
    context_window,
  }))
  return { object: 'list', data }
}

/** An error as OpenAI words it. */
export function refuse(
  status: number,
  message: string,
  type: string,
  code: string,
  param: string | null = null,
  headers: Readonly<Record<string, string>> = {},
): JsonResponse {
  return { status, headers, json: { error: { message, type, code, param } } }
}

const overflow = (window: number, tokens: number): EmbeddedResponse =>
  refuse(
    400,
    `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
    'invalid_request_error',
    'context_length_exceeded',
    'messages',
  )

/** Failures that come before any answer; the others break a stream that has begun. */
const refusals: Partial<Record<Failure, (window: number) => EmbeddedResponse>> = {
  'rate-limit': () =>
    refuse(429, 'Rate limit reached. Please try again in 2s.', 'requests', 'rate_limit_exceeded', null, {
      'retry-after': '2',
    }),
  server: () => refuse(500, 'The server had an error while processing your request.', 'server_error', 'server_error'),
  overflow: window => overflow(window, window + 1),
}

/** Only the last prompt directs, and only once: one that failed must not fail the one after it, or what goes on with it. */
function lastPrompt({ history }: ChatRequest, attempt: number): Directives {
  const start = promptIndex(history)
  const isLater = history.slice(start + 1).some(message => message.role === 'tool')
  const said = readDirectives(history[start]?.text ?? '', { attempt, isLater })
  return isContinued(history) ? { ...said, failure: null, pace: 'fast', isLong: false } : said
}

function answer(request: ChatRequest, said: Directives, promptTokens: number): EmbeddedResponse {
  const { history, model, includesUsage, isStream } = request
  const { pace, failure } = said
  const takenIds = new Set(history.flatMap(message => message.calls.map(call => call.id)))
  const facts = { model, seed: hashHistory(history), promptTokens, includesUsage, pace, failure, takenIds }
  const composed = compose(request, said)
  return isStream
    ? { status: 200, ...toPieces(composed, facts) }
    : { status: 200, headers: {}, json: toCompletion(composed, facts) }
}
