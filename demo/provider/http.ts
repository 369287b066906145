/** The embedded provider over HTTP: carries out what `respond` describes, and remembers requests for tests to look at. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type JsonResponse, listModels, refuse, respond, type StreamResponse } from './respond.ts'

export type ProviderHandlerOptions = {
  /** Runs with every body that is JSON, before it is answered. Must not throw. */
  readonly onRequest?: (body: unknown) => void
}

/** Handles a request, or calls `next` for paths that are not the provider's (404 when there is no `next`). */
export type ProviderHandler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void

type Recorded = { readonly text: string; readonly status: number }

const bodyLimit = 64 * 1024 * 1024
const recordLimit = 200
/** Requests with pictures are large; a long run must not fill the memory. */
const recordBytesLimit = 256 * 1024 * 1024

/** Creates the handler of `/v1/chat/completions`, `/v1/models` and `/__provider/requests`. */
export function createProviderHandler({ onRequest }: ProviderHandlerOptions = {}): ProviderHandler {
  const recorded: Recorded[] = []
  const attempts = new Map<string, number>()

  async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readBody(request)
    if (text === null)
      return sendJson(response, refuse(413, 'The request is too large.', 'invalid_request_error', 'request_too_large'))
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      return sendJson(
        response,
        refuse(400, 'We could not parse the JSON body of your request.', 'invalid_request_error', 'invalid_json'),
      )
    }
    onRequest?.(body)
    const attempt = attempts.get(text) ?? 0
    attempts.set(text, attempt + 1)
    const { authorization } = request.headers
    const answer = respond({ body, attempt, ...(authorization === undefined ? {} : { authorization }) })
    remember({ text, status: answer.status })
    if ('json' in answer) sendJson(response, answer)
    else sendStream(response, answer)
  }

  function remember(entry: Recorded): void {
    recorded.push(entry)
    let bytes = recorded.reduce((sum, each) => sum + each.text.length, 0)
    while (recorded.length > recordLimit || bytes > recordBytesLimit) {
      const { text = '' } = recorded.shift() ?? {}
      attempts.delete(text)
      bytes -= text.length
    }
  }

  /** `?contains=` keeps bodies with this text in their JSON, `?status=` those that were answered so. */
  function showRecorded(response: ServerResponse, query: URLSearchParams): void {
    const contains = query.get('contains') ?? ''
    const status = query.get('status')
    const shown = recorded.filter(
      each => each.text.includes(contains) && (status ?? String(each.status)) === String(each.status),
    )
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    response.end(`[${shown.map(each => each.text).join(',')}]`)
  }

  return (request, response, next) => {
    const [pathname = '', query] = (request.url ?? '').split('?', 2)
    const route = `${request.method} ${pathname}`
    if (pathname.startsWith('/v1/')) {
      allowAnyOrigin(request, response)
      if (request.method === 'OPTIONS') response.writeHead(204).end()
      else if (route === 'POST /v1/chat/completions') complete(request, response).catch(() => response.destroy())
      else if (route === 'GET /v1/models') sendJson(response, { status: 200, headers: {}, json: listModels() })
      else sendJson(response, refuse(404, `Unknown request: ${route}`, 'invalid_request_error', 'unknown_url'))
    } else if (route === 'GET /__provider/requests') showRecorded(response, new URLSearchParams(query))
    else if (route === 'DELETE /__provider/requests') {
      recorded.length = 0
      attempts.clear()
      response.writeHead(204).end()
    } else if (next) next()
    else response.writeHead(404).end()
  }
}

/** Pages of any origin may call the model, as they may call the real ones. Not so the recordings. */
function allowAnyOrigin(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*')
  response.setHeader('access-control-allow-methods', 'GET, POST, OPTIONS')
  response.setHeader(
    'access-control-allow-headers',
    request.headers['access-control-request-headers'] ?? 'authorization, content-type',
  )
  response.setHeader('access-control-expose-headers', 'retry-after')
  response.setHeader('access-control-max-age', '600')
}

/** The whole body as text, or `null` when it is over the limit; the rest of such a body is read and dropped. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= bodyLimit) chunks.push(chunk)
    else chunks.length = 0
  }
  return size > bodyLimit ? null : Buffer.concat(chunks).toString('utf8')
}

function sendJson(response: ServerResponse, answer: JsonResponse): void {
  response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
  response.end(JSON.stringify(answer.json))
}

function sendStream(response: ServerResponse, { pieces, end }: StreamResponse): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  response.flushHeaders()
  let timer: NodeJS.Timeout | undefined
  response.on('close', () => clearTimeout(timer))

  const sendFrom = (index: number): void => {
    const piece = pieces[index]
    if (piece) timer = setTimeout(() => send(piece.data, index), piece.delayMs)
    else if (end === 'done') response.end('data: [DONE]\n\n')
    else if (end === 'close') response.end()
    else response.destroy()
  }
  // The next piece waits until this one has left: a cut must not take back what was sent before it.
  const send = (data: string | object, index: number): void => {
    response.write(typeof data === 'string' ? data : `data: ${JSON.stringify(data)}\n\n`, () => {
      if (!response.destroyed) sendFrom(index + 1)
    })
  }
  sendFrom(0)
}
