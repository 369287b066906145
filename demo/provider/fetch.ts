/** The embedded provider without any server: a `fetch` that carries out what `respond` describes, where it is called. */
import { createEndpoint, doneText, headersOf, wireText } from './endpoint.ts'
import type { StreamResponse } from './respond.ts'

export type EmbeddedFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Where it takes requests: an address that no network has. */
export const embeddedBaseURL = 'https://embedded.invalid/v1'

/** Creates the function; attempts are counted per function. It rejects only when the request's signal aborts. */
export function createEmbeddedFetch(): EmbeddedFetch {
  const endpoint = createEndpoint()
  return async (input, init) => {
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    signal?.throwIfAborted()
    const request = new Request(input, init)
    const answer = endpoint.answer({
      method: request.method,
      path: new URL(request.url).pathname,
      text: await request.text(),
      authorization: request.headers.get('authorization') ?? undefined,
    })
    signal?.throwIfAborted()
    const body = 'json' in answer ? JSON.stringify(answer.json) : streamOf(answer, signal)
    return new Response(body, { status: answer.status, headers: headersOf(answer) })
  }
}

/** The pieces as bytes, each after its delay. Nothing is made ahead of the reader, so a cut takes nothing back. */
function streamOf({ pieces, end }: StreamResponse, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let index = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let onAbort = (): void => {}
  const letGo = () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
  const source: UnderlyingDefaultSource<Uint8Array> = {
    start(controller) {
      onAbort = () => {
        letGo()
        controller.error(signal?.reason)
      }
      signal?.addEventListener('abort', onAbort)
    },
    pull(controller) {
      const piece = pieces[index++]
      return new Promise(resolve => {
        const send = () => {
          if (piece) controller.enqueue(encoder.encode(wireText(piece.data)))
          else {
            letGo()
            if (end === 'done') controller.enqueue(encoder.encode(doneText))
            if (end === 'cut') controller.error(new TypeError('network error'))
            else controller.close()
          }
          resolve()
        }
        timer = setTimeout(send, piece?.delayMs ?? 0)
      })
    },
    cancel: letGo,
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}
