/** The embedded provider over HTTP: carries out what `respond` describes, and remembers requests for tests to look at. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createEndpoint, doneText, headersOf, wireText } from './endpoint.ts'
import type { EmbeddedResponse, StreamResponse } from './respond.ts'

export type ProviderHandlerOptions = {
  /** Runs with every body that is JSON, before its answer is sent. Must not throw. */
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
  const endpoint = createEndpoint(({ text, body, status }) => {
    onRequest?.(body)
    remember({ text, status })
  })

  async function answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const text = await readBody(request)
    const { method = '', headers } = request
    send(response, endpoint.answer({ method, path, text, authorization: headers.authorization }))
  }

  function remember(entry: Recorded): void {
    recorded.push(entry)
    let bytes = recorded.reduce((sum, each) => sum + each.text.length, 0)
    while (recorded.length > recordLimit || bytes > recordBytesLimit) {
      const { text = '' } = recorded.shift() ?? {}
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
      else answer(request, response, pathname).catch(() => response.destroy())
    } else if (route === 'GET /__provider/requests') showRecorded(response, new URLSearchParams(query))
    else if (route === 'DELETE /__provider/requests') {
      recorded.length = 0
      endpoint.forgetAttempts()
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

function send(response: ServerResponse, answer: EmbeddedResponse): void {
  response.writeHead(answer.status, headersOf(answer))
  if ('json' in answer) response.end(JSON.stringify(answer.json))
  else sendStream(response, answer)
}

function sendStream(response: ServerResponse, { pieces, end }: StreamResponse): void {
  response.flushHeaders()
  let timer: NodeJS.Timeout | undefined
  response.on('close', () => clearTimeout(timer))

  const sendFrom = (index: number): void => {
    const piece = pieces[index]
    if (piece) timer = setTimeout(() => sendPiece(piece.data, index), piece.delayMs)
    else if (end === 'done') response.end(doneText)
    else if (end === 'close') response.end()
    else response.destroy()
  }
  // The next piece waits until this one has left: a cut must not take back what was sent before it.
  const sendPiece = (data: string | object, index: number): void => {
    response.write(wireText(data), () => {
      if (!response.destroyed) sendFrom(index + 1)
    })
  }
  sendFrom(0)
}
