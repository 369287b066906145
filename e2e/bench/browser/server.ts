/** Serves the built page, cross-origin isolated: only then do clocks tick finely and can memory be measured. */
import { readFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'

export type Served = {
  /** Origins that serve the same; each has a storage of its own. */
  readonly origins: readonly string[]
  close(): Promise<void>
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css; charset=utf-8',
}

export async function serveFolder(folder: string, count: number): Promise<Served> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(answerFrom(folder))))
  return {
    origins: servers.map(server => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    close: async () => {
      await Promise.all(
        servers.map(server => {
          server.closeAllConnections()
          return new Promise(resolve => server.close(resolve))
        }),
      )
    },
  }
}

async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return server
}

const answerFrom =
  (folder: string): RequestListener =>
  (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://host')
    const file = pathname === '/' ? 'index.html' : pathname.slice(1)
    const read = file.includes('..') ? Promise.reject(new Error(pathname)) : readFile(join(folder, file))
    read.then(
      content => {
        response.writeHead(200, {
          'content-type': types[extname(file)] ?? 'application/octet-stream',
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-embedder-policy': 'require-corp',
          'cross-origin-resource-policy': 'same-origin',
        })
        response.end(content)
      },
      () => response.writeHead(404).end(),
    )
  }
