/** Serves the built page on loopback and takes its reports. The handler of a report runs before it is answered. */
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import type { Plan, Report } from './protocol.ts'

export type Host = {
  /** The page with this plan. */
  readonly addressOf: (plan: Plan) => string
  /** Where reports go; null drops them. */
  onReport: ((run: number, report: Report) => void) | null
  readonly close: () => Promise<void>
}

const types: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' }

export async function startHost(folder: string): Promise<Host> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
    const answer = async () => {
      if (request.method === 'POST' && pathname === '/report') {
        const reports = JSON.parse(await bodyOf(request)) as Report[]
        for (const report of reports) host.onReport?.(Number(searchParams.get('run')), report)
        return response.writeHead(204).end()
      }
      const name = /^\/run\/\d+\/([\w./-]*)$/.exec(pathname)?.[1]
      if (name === undefined || name.includes('..')) return response.writeHead(404).end()
      const file = name === '' ? 'index.html' : name
      const content = await readFile(join(folder, file))
      return response.writeHead(200, { 'content-type': types[extname(file)] ?? 'text/plain' }).end(content)
    }
    // What a browser that was killed had not sent in full says nothing.
    answer().catch(() => response.writeHead(500).end())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const host: Host = {
    addressOf: plan => `${origin}/run/${plan.run}/?plan=${encodeURIComponent(JSON.stringify(plan))}`,
    onReport: null,
    close: () => {
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
  return host
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}
