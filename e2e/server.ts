/** Servers of a test's own, on a free port: a provider that answers what the test says, and a plain static host. */
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'

export type Running = { readonly origin: string; readonly close: () => Promise<void> }

async function start(listener: RequestListener): Promise<Running> {
  const server: Server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}

export type ProviderRequest = { readonly authorization: string; readonly body: string }

/** A provider that answers each request with a text, in pieces. `keys`: the keys it takes; others are refused. */
export async function startProvider(
  answer: (request: ProviderRequest) => readonly string[],
  { keys }: { readonly keys?: readonly string[] } = {},
): Promise<Running & { readonly asked: readonly ProviderRequest[] }> {
  const asked: ProviderRequest[] = []
  const running = await start((request, response) => {
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-allow-headers', 'authorization, content-type')
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    void readText(request).then(body => {
      const { authorization = '' } = request.headers
      asked.push({ authorization, body })
      if (keys !== undefined && !keys.some(key => authorization === `Bearer ${key}`)) {
        response.writeHead(401, { 'content-type': 'application/json' })
        return response.end(
          JSON.stringify({ error: { message: 'Incorrect API key provided.', code: 'invalid_api_key' } }),
        )
      }
      if (request.url?.endsWith('/models') === true) {
        response.writeHead(200, { 'content-type': 'application/json' })
        return response.end(JSON.stringify({ object: 'list', data: [{ id: 'parrot', object: 'model' }] }))
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const send = (delta: object, finish: string | null = null) => {
        const choices = [{ index: 0, delta, finish_reason: finish }]
        const chunk = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'parrot', choices }
        response.write(`data: ${JSON.stringify(chunk)}\n\n`)
      }
      send({ role: 'assistant', content: '' })
      for (const content of answer({ authorization, body })) send({ content })
      send({}, 'stop')
      return response.end('data: [DONE]\n\n')
    })
  })
  return { ...running, asked }
}

async function readText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Serves the files of a folder below a path, and nothing else. `asked`: status and path of each request. */
export async function startStaticHost(
  folder: string,
  path: string,
): Promise<Running & { readonly asked: readonly string[] }> {
  const asked: string[] = []
  const running = await start((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://host')
    const file = pathname === path ? 'index.html' : pathname.startsWith(path) ? pathname.slice(path.length) : ''
    const read = file === '' || file.includes('..') ? Promise.reject(new Error(pathname)) : readFile(join(folder, file))
    read.then(
      content => {
        asked.push(`200 ${request.method} ${pathname}`)
        response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' }).end(content)
      },
      () => {
        asked.push(`404 ${request.method} ${pathname}`)
        response.writeHead(404).end()
      },
    )
  })
  return { ...running, asked }
}
