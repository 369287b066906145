/**
 * For this library's own tests: a real HTTP server on this machine that answers in pieces of a test's choosing. The test
 * hands in `node:http`: nothing here but tests needs Node.
 */

/** The part of `node:http` that is used. */
export type Http = { createServer(listener: (incoming: Incoming, response: Outgoing) => void): Server }
type Incoming = AsyncIterable<Uint8Array> & {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: { readonly [name: string]: string | string[] | undefined }
}
type Outgoing = {
  readonly writableFinished: boolean
  readonly socket: { setNoDelay(isOn: boolean): unknown } | null
  writeHead(status: number, headers: Record<string, string>): unknown
  flushHeaders(): void
  write(piece: Uint8Array | string, done?: (error: Error | null | undefined) => void): unknown
  end(): unknown
  destroy(error: Error): unknown
  on(event: 'close', listener: () => void): unknown
}
type Server = {
  listen(port: number, host: string, done: () => void): unknown
  address(): string | { readonly port: number } | null
  close(done: (error?: Error) => void): unknown
  closeAllConnections(): void
}

export type HttpAnswer = {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Each is written on its own, and has left before the next one is. */
  readonly pieces?: Iterable<Uint8Array | string>
  /** After its pieces the answer stays open, with a piece now and then where one is given. */
  readonly thenHangs?: { readonly every: number; readonly piece: string } | true
}

export type HttpRequest = {
  readonly method: string
  readonly url: string
  readonly headers: Incoming['headers']
  /** Parsed; null when there is none. */
  readonly body: unknown
  /** Resolves with true when the client went away before the answer was complete, with false otherwise. */
  readonly abandoned: Promise<boolean>
}

export type HttpKit = {
  /** Without a slash at its end. */
  readonly origin: string
  /** The requests so far, in order. */
  readonly requests: readonly HttpRequest[]
  readonly close: () => Promise<void>
}

/** Serves on 127.0.0.1, at a port that is free; `answer` says what the n-th request gets. */
export async function httpKit(
  http: Http,
  answer: (count: number, request: HttpRequest) => HttpAnswer,
): Promise<HttpKit> {
  const requests: HttpRequest[] = []
  const handle = async (incoming: Incoming, response: Outgoing): Promise<void> => {
    response.socket?.setNoDelay(true)
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of incoming) text += decoder.decode(chunk, { stream: true })
    const request: HttpRequest = {
      method: incoming.method ?? '',
      url: incoming.url ?? '',
      headers: incoming.headers,
      body: text === '' ? null : (JSON.parse(text) as unknown),
      abandoned: new Promise(resolve => response.on('close', () => resolve(!response.writableFinished))),
    }
    requests.push(request)
    await send(response, answer(requests.length - 1, request))
  }
  const server = http.createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve, reject) => {
        server.close(error => (error === undefined ? resolve() : reject(error)))
        server.closeAllConnections()
      }),
  }
}

async function send(response: Outgoing, { status = 200, headers, pieces = [], thenHangs }: HttpAnswer) {
  response.writeHead(status, { 'content-type': 'text/event-stream', ...headers })
  response.flushHeaders()
  for (const piece of pieces) await written(response, piece)
  if (thenHangs === undefined) response.end()
  else if (thenHangs !== true) {
    const { every, piece } = thenHangs
    const timer = setInterval(() => response.write(piece), every)
    response.on('close', () => clearInterval(timer))
  }
}

const written = (response: Outgoing, piece: Uint8Array | string): Promise<void> =>
  new Promise((resolve, reject) => {
    // One round of the loop between two pieces: they are read apart.
    response.write(piece, error => (error ? reject(error) : setImmediate(resolve)))
  })

/** `bytes` cut at these offsets. */
export function cutAt(bytes: Uint8Array, offsets: readonly number[]): readonly Uint8Array[] {
  const ends = [...offsets, bytes.length]
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end)).filter(piece => piece.length > 0)
}
