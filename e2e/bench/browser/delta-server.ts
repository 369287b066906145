/** A provider that answers with so many deltas a second, however long it is asked to: OpenAI's API, as much of it as is needed. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type DeltaPlan = { readonly perSecond: number; readonly seconds: number }

export type Sent = { readonly deltas: number; readonly characters: number; readonly isWhole: boolean }

export type DeltaServer = {
  readonly baseURL: string
  /** Of the last answer so far. */
  readonly sent: () => Sent
  /** Nothing was sent yet: before another answer is asked for. */
  readonly forget: () => void
  close(): Promise<void>
}

const NOTHING: Sent = { deltas: 0, characters: 0, isWhole: false }

/** How often deltas are sent that have become due, ms. */
const TICK = 4

export async function startDeltaServer({ perSecond, seconds }: DeltaPlan): Promise<DeltaServer> {
  const words = tokensOf(perSecond * seconds)
  let sent: Sent = NOTHING
  const server = createServer((request, response) => {
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-allow-headers', '*')
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    sent = NOTHING
    const start = performance.now()
    const timer = setInterval(() => {
      const due = Math.min(words.length, Math.floor(((performance.now() - start) * perSecond) / 1000))
      const batch = words.slice(sent.deltas, due)
      const isWhole = due === words.length
      sent = { deltas: due, characters: sent.characters + batch.join('').length, isWhole }
      response.write(batch.map(content => eventOf({ content }, null)).join(''))
      if (!isWhole) return
      clearInterval(timer)
      end(response, words.length)
    }, TICK)
    response.on('close', () => clearInterval(timer))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sent: () => sent,
    forget: () => {
      sent = NOTHING
    },
    close: () => {
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}

function end(response: ServerResponse, count: number): void {
  const usage = { prompt_tokens: 20, completion_tokens: count, total_tokens: count + 20 }
  response.write(eventOf({}, 'stop'))
  response.write(`data: ${JSON.stringify({ ...facts, choices: [], usage })}\n\n`)
  response.end('data: [DONE]\n\n')
}

const facts = { id: 'deltas', object: 'chat.completion.chunk', created: 1, model: 'deltas' }
const eventOf = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ ...facts, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

/** An answer as models write them: headings, paragraphs with marks in them, lists, code. */
function tokensOf(count: number): readonly string[] {
  const tokens: string[] = []
  for (let part = 0; tokens.length < count; part += 1) {
    if (part % 6 === 0) tokens.push('## ', 'Part ', String(part), '\n\n')
    if (part % 6 === 4) tokens.push(...code(part))
    else if (part % 6 === 2) tokens.push(...list(part))
    else tokens.push(...sentence(part, 70), '\n\n')
  }
  return tokens.slice(0, count)
}

const vocabulary = 'the tide comes in at noon and every boat leaves harbour before it turns back again'.split(' ')

function sentence(seed: number, length: number): string[] {
  return Array.from({ length }, (_, at) => {
    const word = vocabulary[(at * 7 + seed * 3) % vocabulary.length] ?? ''
    const marked = at % 23 === 5 ? `**${word}**` : at % 31 === 9 ? `\`${word}\`` : word
    return at % 14 === 13 ? `${marked}. ` : `${marked} `
  })
}

const list = (seed: number): string[] => [
  ...Array.from({ length: 6 }, (_, at) => ['- ', ...sentence(seed + at, 9), '\n']).flat(),
  '\n',
]

const code = (seed: number): string[] => [
  '```ts\n',
  ...Array.from({ length: 8 }, (_, at) => ['const ', `tide${seed + at} `, '= ', `height(${at})`, '\n']).flat(),
  '```\n\n',
]
