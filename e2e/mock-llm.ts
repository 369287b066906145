/** A mock of OpenAI's API that nobody here wrote, as a process of its own: `@copilotkit/aimock`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What it answers to a prompt that has a text in it. Of those with the same text, the first one that fits counts. */
export type Fixture = {
  readonly match: { readonly userMessage: string; readonly sequenceIndex?: number }
  readonly response: object
  /** Between the pieces of a stream, ms. */
  readonly latency?: number
  /** Characters of a piece. */
  readonly chunkSize?: number
}

export type MockRequest = {
  readonly status: number
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly isStreamed: boolean
}

export type MockLlm = {
  readonly baseURL: string
  /** The completions it was asked for, in order. */
  readonly requests: () => Promise<readonly MockRequest[]>
  readonly stop: () => Promise<void>
}

const command = fileURLToPath(new URL('../node_modules/@copilotkit/aimock/dist/cli.js', import.meta.url))

/** Starts it on a free port. It takes no key but `key`. */
export async function startMockLlm(fixtures: readonly Fixture[], key: string): Promise<MockLlm> {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-mock-llm-'))
  const file = join(folder, 'fixtures.json')
  await writeFile(file, JSON.stringify({ fixtures }))
  const child = spawn(process.execPath, [command, '--port', '0', '--fixtures', file, '--validate-on-load'], {
    env: { PATH: process.env['PATH'] ?? '', AIMOCK_API_KEYS: key },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const origin = await originOf(child)
    return { baseURL: `${origin}/v1`, requests: () => journalOf(origin, key), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Where it says that it listens. */
function originOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const onText = (text: Buffer) => {
      said += text.toString('utf8')
      const [, origin] = /listening on (http:\/\/[\d.:]+)/.exec(said) ?? []
      if (origin !== undefined) resolve(origin)
    }
    child.stdout?.on('data', onText)
    child.stderr?.on('data', onText)
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`The mock server ended: ${said}`)))
  })
}

type JournalEntry = {
  readonly path: string
  readonly body: (Pick<MockRequest, 'model' | 'messages'> & { readonly stream?: boolean }) | null
  readonly response: { readonly status: number }
}

async function journalOf(origin: string, key: string): Promise<readonly MockRequest[]> {
  const response = await fetch(`${origin}/__aimock/journal`, { headers: { authorization: `Bearer ${key}` } })
  const entries = (await response.json()) as readonly JournalEntry[]
  return entries.flatMap(({ path, body, response: { status } }) => {
    if (!path.endsWith('/chat/completions') || body === null) return []
    return [{ status, model: body.model, messages: body.messages, isStreamed: body.stream === true }]
  })
}
