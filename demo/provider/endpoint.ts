/** The embedded provider as an endpoint: what its two transports, HTTP and the in-worker fetch, have in common. */
import { hashText } from './chat-request.ts'
import { type EmbeddedResponse, listModels, refuse, respond } from './respond.ts'

export type EndpointRequest = {
  readonly method: string
  readonly path: string
  /** The body as text; `null` when it was over the limit and not kept. */
  readonly text: string | null
  /** Value of the `Authorization` header. */
  readonly authorization?: string | undefined
}

/** A chat completion request that was JSON, and the status of its answer. */
export type Exchange = { readonly text: string; readonly body: unknown; readonly status: number }

export type Endpoint = {
  /** Answers any request; what is not the provider's gets its 404. */
  readonly answer: (request: EndpointRequest) => EmbeddedResponse
  /** From now on every request is a first attempt again. */
  readonly forgetAttempts: () => void
}

const attemptsLimit = 1_000
const invalid = 'invalid_request_error'

/** Creates the endpoint. `onExchange` runs before an answer is handed out and must not throw. */
export function createEndpoint(onExchange: (exchange: Exchange) => void = () => {}): Endpoint {
  const attempts = new Map<string, number>()

  /** How often this body came before. Only `[fail:once:…]` asks, so only such bodies are counted. */
  function countAttempt(text: string): number {
    if (!text.includes('[fail:once:')) return 0
    const key = `${text.length}:${hashText(text)}`
    const attempt = attempts.get(key) ?? 0
    attempts.set(key, attempt + 1)
    const [oldest] = attempts.keys()
    if (attempts.size > attemptsLimit && oldest !== undefined) attempts.delete(oldest)
    return attempt
  }

  function complete(text: string | null, authorization: string | undefined): EmbeddedResponse {
    if (text === null) return refuse(413, 'The request is too large.', invalid, 'request_too_large')
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      return refuse(400, 'We could not parse the JSON body of your request.', invalid, 'invalid_json')
    }
    const attempt = countAttempt(text)
    const answer = respond({ body, attempt, ...(authorization === undefined ? {} : { authorization }) })
    onExchange({ text, body, status: answer.status })
    return answer
  }

  return {
    answer({ method, path, text, authorization }) {
      const route = `${method} ${path}`
      if (route === 'POST /v1/chat/completions') return complete(text, authorization)
      if (route === 'GET /v1/models') return { status: 200, headers: {}, json: listModels() }
      return refuse(404, `Unknown request: ${route}`, invalid, 'unknown_url')
    },
    forgetAttempts: () => attempts.clear(),
  }
}

/** Headers of an answer's body. */
export const headersOf = (answer: EmbeddedResponse): Readonly<Record<string, string>> =>
  'json' in answer
    ? { 'content-type': 'application/json', ...answer.headers }
    : {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
      }

/** A piece of a stream as it goes over the wire. */
export const wireText = (data: string | object): string =>
  typeof data === 'string' ? data : `data: ${JSON.stringify(data)}\n\n`

/** The last event of a stream that ends well. */
export const doneText = 'data: [DONE]\n\n'
